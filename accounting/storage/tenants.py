"""Who may ask? Tenants, their API keys, and the scope a key reaches."""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
import string
import zoneinfo
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Engine, func, insert, literal_column, select, update
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.exc import IntegrityError

from accounting.errors import Conflict, InvalidInput, NotFound, Unauthenticated
from accounting.storage import audit
from accounting.storage.engine import reaching, transaction
from accounting.storage.tables import api_keys, tenants
from accounting.storage.tables import cost_basis_rules as rules
from accounting.tenant import TenantContext

SCOPES = ("ingest", "viewer", "analyst", "admin")
_REACH = {
    "ingest": {"ingest"},
    "viewer": {"viewer"},
    "analyst": {"viewer", "analyst"},
    "admin": set(SCOPES),
}
_ALPHABET = string.ascii_letters + string.digits
_ID_LENGTH = 8
_SECRET_LENGTH = 40
_TENANT = re.compile(r"[a-z][a-z0-9]{1,30}")
_CURRENCY = re.compile(r"[A-Z]{3}")
_KEY = re.compile(rf"tc_([a-z][a-z0-9]{{1,30}})_([A-Za-z0-9]{{{_SECRET_LENGTH}}})")
_REFUSED = "the API key is missing, malformed, unknown or revoked"
# Compared with where no key was found, so that an unknown key costs the same work as a wrong one.
_NO_HASH = hashlib.sha256(b"no such key").digest()

# [[provider, surface, basis], ...] of the tenant that the enclosing query is about; few rows, so one query fetches all.
_RULES = (
    select(func.jsonb_agg(func.jsonb_build_array(rules.c.provider, rules.c.surface, rules.c.basis)))
    .where(rules.c.tenant == tenants.c.tenant)
    .correlate(tenants)
    .scalar_subquery()
    .label("cost_basis")
)
_POOLS = literal_column(
    """
    (SELECT jsonb_agg(DISTINCT pool_id) FROM (
      SELECT DISTINCT ON (pool_id, effective_from) pool_id, state FROM pools WHERE pools.tenant = tenants.tenant
      ORDER BY pool_id, effective_from, recorded_at DESC, record_id DESC) newest
    WHERE state = 'stated')
    """,
    JSONB,
).label("pools")


@dataclass(frozen=True)
class Tenant:
    """One tenant as stored.

    Attributes:
        tenant: slug, part of every key.
        reporting_tz: IANA zone of the reporting day.
        billing_currency: ISO 4217 code.
        raw_usage_days, identity_days: days kept by `retention.apply_retention`; None keeps for ever.
    """

    tenant: str
    display_name: str
    reporting_tz: str
    billing_currency: str
    raw_usage_days: int | None
    identity_days: int | None


@dataclass(frozen=True)
class KeyInfo:
    """What can be shown of a key: everything but the secret. `revoked_at` is None while it is good."""

    key_id: str
    scope: str
    label: str
    created_at: datetime
    revoked_at: datetime | None


@dataclass(frozen=True)
class Principal:
    """The holder of a good key, with what its tenant's events need."""

    tenant: str
    scope: str
    key_id: str
    context: TenantContext

    @property
    def actor(self) -> str:
        """Who stands in the log for what this key does."""
        return f"key:{self.key_id}"

    def reaches(self, needed: str) -> bool:
        """Whether this key's scope includes `needed`."""
        return needed in _REACH[self.scope]


def create_tenant(
    owner_engine: Engine, tenant: str, display_name: str, reporting_tz: str = "UTC", billing_currency: str = "USD"
) -> None:
    """Makes a tenant. Raises InvalidInput for a value that can't be used, Conflict where the slug is taken."""
    if not _TENANT.fullmatch(tenant):
        raise InvalidInput("tenant", tenant, "must be 2 to 31 lower-case letters and digits, a letter first")
    if not display_name.strip():
        raise InvalidInput("display_name", display_name, "must not be empty")
    if reporting_tz not in zoneinfo.available_timezones():
        raise InvalidInput("reporting_tz", reporting_tz, "is no IANA time zone")
    if not _CURRENCY.fullmatch(billing_currency):
        raise InvalidInput("billing_currency", billing_currency, "must be an ISO 4217 code of three capital letters")
    row = {
        "tenant": tenant,
        "display_name": display_name,
        "reporting_tz": reporting_tz,
        "billing_currency": billing_currency,
    }
    try:
        with transaction(owner_engine, tenant) as connection:
            connection.execute(insert(tenants).values(row))
    except IntegrityError as error:
        raise Conflict(f"tenant={tenant!r}: exists already") from error


def get_tenant(engine: Engine, tenant: str) -> Tenant:
    """One tenant, by either login. Raises NotFound."""
    columns = [tenants.c[name] for name in Tenant.__dataclass_fields__]
    with transaction(engine, tenant) as connection:
        row = connection.execute(select(*columns).where(tenants.c.tenant == tenant)).one_or_none()
    if row is None:
        raise NotFound(f"tenant={tenant!r}: does not exist")
    return Tenant(**row._mapping)


def context(engine: Engine, tenant: str) -> TenantContext:
    """What the pipeline and the reports need to know of a tenant. Raises NotFound."""
    query = select(tenants.c.reporting_tz, tenants.c.billing_currency, _RULES, _POOLS).where(tenants.c.tenant == tenant)
    with transaction(engine, tenant) as connection:
        row = connection.execute(query).one_or_none()
    if row is None:
        raise NotFound(f"tenant={tenant!r}: does not exist")
    return _context(tenant, row.reporting_tz, row.billing_currency, row.cost_basis, row.pools)


def _context(
    tenant: str, zone: str, currency: str, cost_basis: list[tuple[str, str, str]] | None, pool_ids: list[str] | None
) -> TenantContext:
    by_basis = {
        basis: frozenset((provider, surface) for provider, surface, its in cost_basis or () if its == basis)
        for basis in ("reported", "price_list")
    }
    named = frozenset(pool_ids or ())
    return TenantContext(tenant, zone, currency, by_basis["reported"], by_basis["price_list"], named)


def list_tenants(owner_engine: Engine) -> list[Tenant]:
    """All tenants, by slug; only the owner's login can."""
    columns = [tenants.c[name] for name in Tenant.__dataclass_fields__]
    with reaching(), owner_engine.connect() as connection:
        rows = connection.execute(select(*columns).order_by(tenants.c.tenant)).all()
    return [Tenant(**row._mapping) for row in rows]


def create_key(owner_engine: Engine, tenant: str, scope: str, label: str = "", actor: str = "operator") -> str:
    """Makes a key and returns it: the only time it can be seen. The log says that `actor` did. Raises InvalidInput, NotFound."""
    if scope not in SCOPES:
        raise InvalidInput("scope", scope, f"must be one of {', '.join(SCOPES)}")
    get_tenant(owner_engine, tenant)
    secret = "".join(secrets.choice(_ALPHABET) for _ in range(_SECRET_LENGTH))
    row = {
        "tenant": tenant,
        "key_id": secret[:_ID_LENGTH],
        "scope": scope,
        "secret_hash": _hash(secret),
        "label": label,
    }
    with transaction(owner_engine, tenant) as connection:
        moment = audit.begin(connection)
        connection.execute(insert(api_keys).values(row))
        audit.note(connection, tenant, moment, actor, "key.create", secret[:_ID_LENGTH], after={"scope": scope})
    return f"tc_{tenant}_{secret}"


def revoke_key(owner_engine: Engine, tenant: str, key_id: str, actor: str = "operator") -> None:
    """Ends a key at once; ending it again changes nothing and is no act in the log. Raises NotFound."""
    own = (api_keys.c.tenant == tenant) & (api_keys.c.key_id == key_id)
    good = own & api_keys.c.revoked_at.is_(None)
    ended = update(api_keys).where(good).values(revoked_at=func.now()).returning(api_keys.c.scope)
    with transaction(owner_engine, tenant) as connection:
        if connection.execute(select(api_keys.c.key_id).where(own)).one_or_none() is None:
            raise NotFound(f"key_id={key_id!r}: tenant {tenant!r} has no such key")
        moment = audit.begin(connection)
        scope = connection.execute(ended).scalar_one_or_none()
        if scope is not None:
            audit.note(connection, tenant, moment, actor, "key.revoke", key_id, before={"scope": scope})


def list_keys(engine: Engine, tenant: str) -> list[KeyInfo]:
    """A tenant's keys, oldest first."""
    columns = [api_keys.c[name] for name in KeyInfo.__dataclass_fields__]
    query = select(*columns).where(api_keys.c.tenant == tenant).order_by(api_keys.c.created_at, api_keys.c.key_id)
    with transaction(engine, tenant) as connection:
        return [KeyInfo(**row._mapping) for row in connection.execute(query)]


def authenticate(app_engine: Engine, key: str) -> Principal:
    """The principal of a key.

    Raises Unauthenticated, always with the same text: an unknown tenant, an unknown key, a wrong secret and a revoked
    key take one query and one constant-time comparison each, so that neither text nor time tells them apart.
    """
    parts = _KEY.fullmatch(key)
    if parts is None:
        raise Unauthenticated(_REFUSED)
    tenant, secret = parts.groups()
    query = (
        select(
            api_keys.c.scope,
            api_keys.c.secret_hash,
            api_keys.c.revoked_at,
            tenants.c.reporting_tz,
            tenants.c.billing_currency,
            _RULES,
            _POOLS,
        )
        .join(tenants, tenants.c.tenant == api_keys.c.tenant)
        .where(api_keys.c.tenant == tenant, api_keys.c.key_id == secret[:_ID_LENGTH])
    )
    with transaction(app_engine, tenant) as connection:
        row = connection.execute(query).one_or_none()
    same = hmac.compare_digest(_hash(secret), _NO_HASH if row is None else row.secret_hash)
    if row is None or not same or row.revoked_at is not None:
        raise Unauthenticated(_REFUSED)
    known = _context(tenant, row.reporting_tz, row.billing_currency, row.cost_basis, row.pools)
    return Principal(tenant, row.scope, secret[:_ID_LENGTH], known)


def _hash(secret: str) -> bytes:
    """A fast hash is enough for 32 random characters: there is nothing to guess that a slow one would protect."""
    return hashlib.sha256(secret.encode()).digest()
