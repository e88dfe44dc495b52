"""While a whole period is read, no table is compared row by row with another; afterwards the planner is free again."""

from __future__ import annotations

import pytest
from sqlalchemy import Connection, text

from accounting.storage.engine import read_only, scanning
from tests.conftest import Database

pytestmark = pytest.mark.storage

_JOINED = text(
    "EXPLAIN SELECT count(*) FROM (SELECT DISTINCT ON (event_id) * FROM usage_events ORDER BY event_id, revision) one "
    "JOIN (SELECT event_id, count(*) FROM usage_events GROUP BY 1) two USING (event_id) WHERE one.purpose = 'production'"
)


def _plan(connection: Connection) -> str:
    return "\n".join(connection.execute(_JOINED).scalars())


def test_events_are_joined_by_hash_or_merge_while_they_are_scanned(database: Database) -> None:
    with read_only(database.app, "nobody") as connection:
        with scanning(connection):
            assert "Nested Loop" not in _plan(connection)
        assert connection.execute(text("SHOW enable_nestloop")).scalar_one() == "on"
