"""Which tenant and scope has a person who signed in at an identity provider?"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Engine, delete, func, select, text
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.exc import IntegrityError

from accounting.errors import Conflict, InvalidInput, NotFound, Unauthenticated
from accounting.storage import audit
from accounting.storage.engine import reaching, transaction
from accounting.storage.tables import logins
from accounting.storage.tenants import SCOPES, Principal, context

LOGIN_SCOPES = tuple(scope for scope in SCOPES if scope != "ingest")
LONGEST = 512
_SET_SUBJECT = text(
    "SELECT set_config('tokencogs.issuer', :issuer, true), set_config('tokencogs.subject', :subject, true)"
)


@dataclass(frozen=True)
class Login:
    """A person's right. Attributes: issuer, subject: `iss` and `sub` of the provider's tokens; label: who that is."""

    issuer: str
    subject: str
    scope: str
    label: str
    created_at: datetime


def grant(
    engine: Engine, tenant: str, issuer: str, subject: str, scope: str, label: str = "", actor: str = "operator"
) -> None:
    """Gives a subject a scope, or another one than it had; `actor` is who does it, for the log of acts.

    Raises InvalidInput, and Conflict where the subject is another tenant's already.
    """
    if scope not in LOGIN_SCOPES:
        raise InvalidInput("scope", scope, f"must be one of {', '.join(LOGIN_SCOPES)}")
    for name, value in (("issuer", issuer), ("subject", subject)):
        if not 0 < len(value) <= LONGEST or "\x00" in value:
            raise InvalidInput(name, value, f"must be 1 to {LONGEST} characters")
    made = insert(logins).values(tenant=tenant, issuer=issuer, subject=subject, scope=scope, label=label)
    changed = made.on_conflict_do_update(
        index_elements=["tenant", "issuer", "subject"], set_={"scope": scope, "label": label}
    )
    own = (logins.c.tenant == tenant) & (logins.c.issuer == issuer) & (logins.c.subject == subject)
    try:
        with transaction(engine, tenant) as connection:
            moment = audit.begin(connection)
            known = connection.execute(select(logins.c.scope).where(own)).scalar_one_or_none()
            connection.execute(changed)
            before = None if known is None else {"scope": known}
            audit.note(connection, tenant, moment, actor, "login.grant", subject, before, {"scope": scope})
    except IntegrityError as error:
        raise Conflict(f"subject={subject!r}: signs in to another tenant already") from error


def revoke(engine: Engine, tenant: str, issuer: str, subject: str, actor: str = "operator") -> None:
    """Takes the right away at once; `actor` is who does it. Raises NotFound."""
    own = (logins.c.tenant == tenant) & (logins.c.issuer == issuer) & (logins.c.subject == subject)
    with transaction(engine, tenant) as connection:
        moment = audit.begin(connection)
        scope = connection.execute(delete(logins).where(own).returning(logins.c.scope)).scalar_one_or_none()
        if scope is None:
            raise NotFound(f"subject={subject!r}: tenant {tenant!r} has no such login")
        audit.note(connection, tenant, moment, actor, "login.revoke", subject, before={"scope": scope})


def list_logins(engine: Engine, tenant: str) -> list[Login]:
    """A tenant's logins, oldest first."""
    columns = [logins.c[name] for name in Login.__dataclass_fields__]
    query = select(*columns).where(logins.c.tenant == tenant).order_by(logins.c.created_at, logins.c.subject)
    with transaction(engine, tenant) as connection:
        return [Login(**row._mapping) for row in connection.execute(query)]


def authenticate_subject(app_engine: Engine, issuer: str, subject: str) -> Principal:
    """The principal of a subject whose token was checked; `key_id` is `login:` and a hash of it. Raises Unauthenticated."""
    query = select(logins.c.tenant, logins.c.scope, func.left(func.md5(logins.c.issuer + " " + logins.c.subject), 8))
    with reaching(), app_engine.begin() as connection:
        connection.execute(_SET_SUBJECT, {"issuer": issuer, "subject": subject})
        row = connection.execute(query.where(logins.c.issuer == issuer, logins.c.subject == subject)).one_or_none()
    if row is None:
        raise Unauthenticated(
            "nobody has given this person access; an administrator does, with `tokencogs login grant`"
        )
    tenant, scope, digest = row
    return Principal(tenant, scope, f"login:{digest}", context(app_engine, tenant))
