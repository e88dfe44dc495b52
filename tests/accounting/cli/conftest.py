"""How do tests call commands on a real database?"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import count

import pytest
from click.testing import CliRunner, Result

from accounting.cli import main
from tests.conftest import Database

Run = Callable[..., Result]
_NUMBERS: Iterator[int] = count(1)


def runner(database: Database, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs the command on a database; arguments are its words."""
    for name, value in database.env.items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("TOKENCOGS_TENANT", raising=False)

    def run(*words: str, stdin: str | None = None) -> Result:
        return CliRunner().invoke(main, list(words), input=stdin, prog_name="tokencogs")

    return run


@pytest.fixture
def tokencogs(database: Database, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs the command on the module's database, where other tests have tenants too."""
    return runner(database, monkeypatch)


@pytest.fixture
def tenant(tokencogs: Run, monkeypatch: pytest.MonkeyPatch) -> str:
    """A tenant of this test alone, which TOKENCOGS_TENANT names."""
    name = f"acme{next(_NUMBERS)}"
    assert tokencogs("tenant", "create", name).exit_code == 0
    monkeypatch.setenv("TOKENCOGS_TENANT", name)
    return name
