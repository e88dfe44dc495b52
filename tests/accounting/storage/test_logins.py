"""Does a proven subject see its own login and no other, before any tenant is known?"""

from __future__ import annotations

import pytest
from sqlalchemy import text

from accounting.errors import Conflict, InvalidInput, NotFound, Unauthenticated
from accounting.storage.logins import authenticate_subject, grant, list_logins, revoke
from accounting.storage.tenants import create_tenant
from tests.conftest import Database

pytestmark = pytest.mark.storage
ISSUER = "https://accounts.example.com"


@pytest.fixture(scope="module", autouse=True)
def tenants(database: Database) -> None:
    for name in ("acme", "globex"):
        create_tenant(database.owner, name, name, reporting_tz="Asia/Kolkata")
    grant(database.app, "acme", ISSUER, "ada", "viewer", "Ada")
    grant(database.app, "globex", ISSUER, "gus", "admin")


def test_a_subject_has_its_tenant_scope_and_settings(database: Database) -> None:
    ada = authenticate_subject(database.app, ISSUER, "ada")
    assert (ada.tenant, ada.scope, ada.context.reporting_tz) == ("acme", "viewer", "Asia/Kolkata")
    assert ada.key_id.startswith("login:")


@pytest.mark.parametrize(("issuer", "subject"), [(ISSUER, "eve"), ("https://other.example.com", "ada"), (ISSUER, "")])
def test_whom_nobody_let_in_is_nobody(database: Database, issuer: str, subject: str) -> None:
    with pytest.raises(Unauthenticated):
        authenticate_subject(database.app, issuer, subject)


def test_another_scope_takes_the_place_of_the_first(database: Database) -> None:
    grant(database.app, "acme", ISSUER, "max", "viewer")
    grant(database.app, "acme", ISSUER, "max", "admin", "Max")
    [own] = [one for one in list_logins(database.app, "acme") if one.subject == "max"]
    assert (own.scope, own.label) == ("admin", "Max")
    revoke(database.app, "acme", ISSUER, "max")
    with pytest.raises(Unauthenticated):
        authenticate_subject(database.app, ISSUER, "max")


def test_a_subject_belongs_to_one_tenant(database: Database) -> None:
    with pytest.raises(Conflict, match="signs in to another tenant"):
        grant(database.app, "acme", ISSUER, "gus", "viewer")
    with pytest.raises(NotFound):
        revoke(database.app, "acme", ISSUER, "gus")
    assert [one.subject for one in list_logins(database.app, "acme")] == ["ada"]


@pytest.mark.parametrize(
    ("subject", "scope", "field"),
    [("s", "ingest", "scope"), ("", "viewer", "subject"), ("s" * 513, "viewer", "subject")],
)
def test_what_can_not_be_granted_is_named(database: Database, subject: str, scope: str, field: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        grant(database.app, "acme", ISSUER, subject, scope)
    assert caught.value.field == field


def test_a_proven_subject_can_not_change_what_it_may(database: Database) -> None:
    with database.app.begin() as connection:
        connection.execute(
            text("SELECT set_config('tokencogs.issuer', :issuer, true), set_config('tokencogs.subject', 'ada', true)"),
            {"issuer": ISSUER},
        )
        assert connection.execute(text("SELECT subject FROM logins")).scalars().all() == ["ada"]
        assert connection.execute(text("UPDATE logins SET scope = 'admin'")).rowcount == 0
        assert connection.execute(text("DELETE FROM logins")).rowcount == 0
