"""While a whole period is read, no table is compared row by row with another; afterwards the planner is free again."""

from __future__ import annotations

import pytest
from sqlalchemy import Connection, text

from accounting.storage.engine import read_only, scanning
from tests.conftest import Database

pytestmark = pytest.mark.storage

_JOINED = text(
    "EXPLAIN SELECT FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.relname = 'usage_events'"
)
"""One row is expected on the left: with a free hand the planner looks each of them up on the right."""


def _looped(connection: Connection) -> bool:
    return any("Nested Loop" in line for line in connection.execute(_JOINED).scalars())


def test_tables_are_joined_by_hash_or_merge_while_they_are_scanned(database: Database) -> None:
    with read_only(database.app, "nobody") as connection:
        free = _looped(connection)
        with scanning(connection):
            scanned = _looped(connection)
        assert (free, scanned, _looped(connection)) == (True, False, True)
