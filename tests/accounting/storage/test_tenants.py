"""Tenants and keys: who is let in, with what scope, and what a refusal tells."""

from __future__ import annotations

import hashlib
import re

import pytest
from sqlalchemy import text

from accounting.errors import Conflict, InvalidInput, NotFound, Unauthenticated
from accounting.storage import audit, tenants
from accounting.storage.engine import transaction
from accounting.tenant import TenantContext
from tests.conftest import Database

pytestmark = pytest.mark.storage

UNKNOWN = "tc_acme_" + "x" * 40


@pytest.fixture(scope="module", autouse=True)
def _two_tenants(database: Database) -> None:
    tenants.create_tenant(database.owner, "acme", "Acme Ltd", "Asia/Kolkata", "EUR")
    tenants.create_tenant(database.owner, "zeta", "Zeta Inc")


def test_context_is_what_the_tenant_was_made_with(database: Database) -> None:
    assert tenants.context(database.app, "acme") == TenantContext("acme", "Asia/Kolkata", "EUR", pools=frozenset())


def test_defaults_are_utc_and_usd(database: Database) -> None:
    assert tenants.context(database.app, "zeta") == TenantContext("zeta", "UTC", "USD", pools=frozenset())


def test_context_of_an_unknown_tenant_is_not_found(database: Database) -> None:
    with pytest.raises(NotFound, match="nobody"):
        tenants.context(database.app, "nobody")


def test_a_slug_can_be_taken_once(database: Database) -> None:
    with pytest.raises(Conflict, match="acme"):
        tenants.create_tenant(database.owner, "acme", "Another")


@pytest.mark.parametrize(
    ("values", "field"),
    [
        (("Acme", "A"), "tenant"),
        (("a", "A"), "tenant"),
        (("a_b", "A"), "tenant"),
        (("a" * 32, "A"), "tenant"),
        (("good1", " "), "display_name"),
        (("good1", "A", "Mars/Olympus"), "reporting_tz"),
        (("good1", "A", "UTC", "usd"), "billing_currency"),
    ],
)
def test_a_bad_value_is_refused_by_its_field(database: Database, values: tuple[str, ...], field: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        tenants.create_tenant(database.owner, *values)
    assert refused.value.field == field


def test_the_owner_lists_all_tenants_and_row_security_stays_forced(database: Database) -> None:
    assert [row.tenant for row in tenants.list_tenants(database.owner)] == ["acme", "zeta"]
    with database.owner.connect() as connection:
        forced = connection.execute(text("SELECT relforcerowsecurity FROM pg_class WHERE oid = 'tenants'::regclass"))
        assert forced.scalar_one() is True


def test_a_key_says_its_tenant_and_has_a_secret_of_forty_characters(database: Database) -> None:
    key = tenants.create_key(database.owner, "acme", "ingest")
    assert re.fullmatch(r"tc_acme_[A-Za-z0-9]{40}", key)


def test_a_key_authenticates_as_its_tenant_and_scope(database: Database) -> None:
    key = tenants.create_key(database.owner, "acme", "analyst")
    principal = tenants.authenticate(database.app, key)
    assert (principal.tenant, principal.scope) == ("acme", "analyst")
    assert principal.key_id == key[8:16]
    assert principal.context == TenantContext("acme", "Asia/Kolkata", "EUR", pools=frozenset())


def test_only_a_hash_of_the_secret_is_stored(database: Database) -> None:
    key = tenants.create_key(database.owner, "acme", "viewer")
    secret = key.removeprefix("tc_acme_")
    with transaction(database.owner, "acme") as connection:
        row = connection.execute(text("SELECT * FROM api_keys WHERE key_id = :id"), {"id": secret[:8]}).mappings().one()
    assert bytes(row["secret_hash"]) == hashlib.sha256(secret.encode()).digest()
    assert secret not in str(dict(row))


def test_every_refusal_has_the_same_text(database: Database) -> None:
    good = tenants.create_key(database.owner, "acme", "viewer")
    revoked = tenants.create_key(database.owner, "acme", "viewer")
    tenants.revoke_key(database.owner, "acme", revoked[8:16])
    wrong_secret = good[:-1] + ("a" if good[-1] != "a" else "b")
    other_tenant = good.replace("tc_acme_", "tc_zeta_")
    no_tenant = good.replace("tc_acme_", "tc_nobody_")
    texts = set()
    for key in ("", "nonsense", UNKNOWN, wrong_secret, other_tenant, no_tenant, revoked, good + "x", f" {good}"):
        with pytest.raises(Unauthenticated) as refused:
            tenants.authenticate(database.app, key)
        texts.add(str(refused.value))
    assert texts == {"the API key is missing, malformed, unknown or revoked"}


def test_every_well_formed_key_costs_one_comparison(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    good = tenants.create_key(database.owner, "acme", "viewer")
    revoked = tenants.create_key(database.owner, "acme", "viewer")
    tenants.revoke_key(database.owner, "acme", revoked[8:16])
    compared: list[tuple[int, int]] = []
    real = tenants.hmac.compare_digest

    def counting(left: bytes, right: bytes) -> bool:
        compared.append((len(left), len(right)))
        return real(left, right)

    monkeypatch.setattr(tenants.hmac, "compare_digest", counting)
    tenants.authenticate(database.app, good)
    for key in (UNKNOWN, good.replace("tc_acme_", "tc_nobody_"), revoked):
        with pytest.raises(Unauthenticated):
            tenants.authenticate(database.app, key)
    assert compared == [(32, 32)] * 4


def test_a_revoked_key_is_listed_with_its_time_and_others_stay_good(database: Database) -> None:
    tenants.create_tenant(database.owner, "keys1", "Keys")
    first = tenants.create_key(database.owner, "keys1", "ingest", "collector")
    second = tenants.create_key(database.owner, "keys1", "admin", "console")
    tenants.revoke_key(database.owner, "keys1", first[9:17])
    listed = tenants.list_keys(database.owner, "keys1")
    assert [(key.key_id, key.scope, key.label, key.revoked_at is None) for key in listed] == [
        (first[9:17], "ingest", "collector", False),
        (second[9:17], "admin", "console", True),
    ]
    assert tenants.authenticate(database.app, second).scope == "admin"


def test_revoking_again_keeps_the_first_time(database: Database) -> None:
    tenants.create_tenant(database.owner, "keys2", "Keys")
    key = tenants.create_key(database.owner, "keys2", "ingest")
    tenants.revoke_key(database.owner, "keys2", key[9:17])
    first = tenants.list_keys(database.owner, "keys2")[0].revoked_at
    tenants.revoke_key(database.owner, "keys2", key[9:17])
    assert tenants.list_keys(database.owner, "keys2")[0].revoked_at == first


def test_making_and_ending_a_key_stand_in_the_log_once_each_without_the_secret(database: Database) -> None:
    tenants.create_tenant(database.owner, "keys3", "Keys")
    key = tenants.create_key(database.owner, "keys3", "viewer", "sheet", "key:boss")
    tenants.revoke_key(database.owner, "keys3", key[9:17], "ann")
    tenants.revoke_key(database.owner, "keys3", key[9:17], "bob")
    acts = audit.listed(database.app, tenants.context(database.app, "keys3"), subject=key[9:17])
    assert [(act["actor"], act["for"], act["action"], act["before"], act["after"]) for act in acts] == [
        ("ann", "keys3", "key.revoke", {"scope": "viewer"}, None),
        ("key:boss", "keys3", "key.create", None, {"scope": "viewer"}),
    ]
    assert key[17:] not in str(acts)


def test_a_key_of_another_tenant_can_not_be_revoked(database: Database) -> None:
    key = tenants.create_key(database.owner, "acme", "viewer")
    with pytest.raises(NotFound, match="zeta"):
        tenants.revoke_key(database.owner, "zeta", key[8:16])
    assert tenants.authenticate(database.app, key).tenant == "acme"


def test_a_key_needs_a_known_scope_and_tenant(database: Database) -> None:
    with pytest.raises(InvalidInput, match="root"):
        tenants.create_key(database.owner, "acme", "root")
    with pytest.raises(NotFound, match="nobody"):
        tenants.create_key(database.owner, "nobody", "viewer")


@pytest.mark.parametrize(
    ("scope", "reached"),
    [
        ("ingest", {"ingest"}),
        ("viewer", {"viewer"}),
        ("analyst", {"viewer", "analyst"}),
        ("admin", {"ingest", "viewer", "analyst", "admin"}),
    ],
)
def test_what_a_scope_reaches(scope: str, reached: set[str]) -> None:
    principal = tenants.Principal("acme", scope, "12345678", TenantContext("acme", "UTC", "USD"))
    assert {needed for needed in tenants.SCOPES if principal.reaches(needed)} == reached
