"""Costs of a pool by any dimensions: lines of requests, and the hour's own lines, which name no event."""

from __future__ import annotations

from decimal import Decimal
from itertools import combinations

import pytest

from accounting.reports import ReportQuery, run
from accounting.reports.explore import DIMENSIONS
from tests.accounting.ledger.pool_world import PoolWorld
from tests.conftest import Database
from tests.golden.test_worked_hour_in_the_ledger import A, B, C

pytestmark = pytest.mark.storage


@pytest.fixture(scope="module")
def world(database: Database) -> PoolWorld:
    made = PoolWorld.make(database)
    made.send(A, B, C)
    made.bill("2.49", "01T10", "01T11")
    made.settle()
    return made


@pytest.mark.parametrize("names", list(combinations(DIMENSIONS, 2)), ids=",".join)
def test_two_billed_hours_are_4_98_by_any_two_dimensions(
    database: Database, world: PoolWorld, names: tuple[str, str]
) -> None:
    query = ReportQuery.parse("2026-10-01", "2026-10-02", "UTC", group_by=names)
    report = run(database.app, world.tenant, "explore", query)
    assert [node.row["effective_cost"] for node in report.outline] == [Decimal("4.98")]
    assert sum(node.row["effective_cost"] or 0 for node in report.outline[0].children) == Decimal("4.98")
