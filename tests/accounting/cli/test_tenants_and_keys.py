"""Can an operator make tenants and keys from the command line, and does a command know whose data it means?"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from accounting.errors import Unauthenticated
from accounting.storage.tenants import authenticate
from tests.accounting.cli.conftest import Run, runner
from tests.conftest import Database, Server

pytestmark = [pytest.mark.storage, pytest.mark.one_server]


def test_a_tenant_is_made_and_listed(tokencogs: Run) -> None:
    made = tokencogs(
        "tenant", "create", "eu", "--display-name", "Acme Ltd", "--reporting-tz", "Europe/Berlin", "--currency", "EUR"
    )
    assert (made.exit_code, made.stdout) == (
        0,
        "tenant eu made; next: tokencogs key create --tenant eu --scope ingest\n",
    )
    assert "eu\tAcme Ltd\tEurope/Berlin\tEUR\n" in tokencogs("tenant", "list").stdout


def test_a_name_that_is_taken_is_one_line_and_exit_code_1(tokencogs: Run, tenant: str) -> None:
    again = tokencogs("tenant", "create", tenant)
    assert (again.exit_code, again.stderr) == (1, f"Error: tenant='{tenant}': exists already\n")


def test_a_name_that_can_not_be_used_is_exit_code_2(tokencogs: Run) -> None:
    result = tokencogs("tenant", "create", "Acme")
    assert result.exit_code == 2
    assert result.stderr.startswith("Error: tenant='Acme': ")
    assert result.stderr.count("\n") == 1


def test_a_key_is_printed_once_works_and_is_revoked(tokencogs: Run, tenant: str, database: Database) -> None:
    key = tokencogs("key", "create", "--tenant", tenant, "--scope", "ingest", "--label", "loader").stdout.strip()
    assert authenticate(database.app, key).scope == "ingest"
    listed = tokencogs("key", "list").stdout
    key_id = listed.split("\t")[0]
    assert listed.split("\t")[1] == "ingest"
    assert listed.split("\t")[3:] == ["good", "loader\n"]
    assert key not in listed
    assert tokencogs("key", "revoke", key_id).stdout == f"key {key_id} revoked\n"
    assert "\trevoked 2" in tokencogs("key", "list").stdout
    with pytest.raises(Unauthenticated):
        authenticate(database.app, key)


@pytest.mark.parametrize("words", [("tenant", "create", "first"), ("tenant", "list"), ("check",)])
def test_a_database_without_schema_is_one_line_that_says_what_to_run(
    server: Server, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    name = "postgres"
    bare = Database(name, server.url(name, "tokencogs_owner"), server.url(name, "tokencogs"), server.url(name, name))
    result = runner(bare, monkeypatch)(*words)
    assert (result.exit_code, result.stderr.count("\n")) == (1, 1), result.output
    assert "run `tokencogs db upgrade`" in result.stderr


def test_a_tenant_not_named_is_the_only_one_there_is(
    make_database: Callable[[], Database], monkeypatch: pytest.MonkeyPatch
) -> None:
    tokencogs = runner(make_database(), monkeypatch)
    none = tokencogs("key", "list")
    assert none.exit_code == 2
    assert "there is no tenant yet; make one with `tokencogs tenant create NAME`" in none.stderr
    tokencogs("tenant", "create", "acme")
    assert tokencogs("key", "create", "--scope", "viewer").stdout.startswith("tc_acme_")
    tokencogs("tenant", "create", "zeta")
    several = tokencogs("key", "list")
    assert (several.exit_code, several.stderr) == (2, "Error: --tenant=None: say which of acme, zeta\n")


def test_the_environment_names_the_tenant(tokencogs: Run, tenant: str) -> None:
    tokencogs("tenant", "create", "other")
    assert tokencogs("key", "create", "--scope", "viewer").stdout.startswith(f"tc_{tenant}_")


def test_without_the_owners_login_the_tenant_must_be_named(tokencogs: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TOKENCOGS_OWNER_URL")
    result = tokencogs("check")
    assert result.exit_code == 2
    assert result.stderr == "Error: --tenant is needed: without TOKENCOGS_OWNER_URL the tenants can't be listed\n"


def test_a_database_that_is_not_there_is_one_line_and_exit_code_1(
    tokencogs: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DATABASE_URL", "postgresql://nobody@127.0.0.1:1/none")
    result = tokencogs("check", "--tenant", "acme")
    assert result.exit_code == 1
    assert result.stderr.startswith("Error: the database can't be reached")
    assert result.stderr.count("\n") == 1
