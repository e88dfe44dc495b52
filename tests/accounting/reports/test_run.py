"""Is every report found by its name, and no other?"""

from __future__ import annotations

import pytest
from sqlalchemy import create_engine

from accounting.errors import InvalidInput, NotFound
from accounting.reports import REPORTS, ReportKind, ReportQuery, run
from accounting.tenant import TenantContext


@pytest.mark.parametrize(
    ("name", "group_by"),
    [
        ("cost-of-revenue", ("month", "day", "seller", "model", "purpose", "category")),
        ("margin", ("user", "account", "plan", "feature", "model", "cohort")),
        ("plan-profitability", ()),
        ("user-margin", ()),
    ],
)
def test_the_registry_has_a_report_with_its_groupings(name: str, group_by: tuple[str, ...]) -> None:
    assert REPORTS[name].group_by == group_by


def test_an_unknown_name_is_not_found() -> None:
    engine = create_engine("postgresql+psycopg://nobody@127.0.0.1:1/none")
    with pytest.raises(NotFound, match=r"report='profit'.*cost-of-revenue, .*user-margin"):
        run(engine, TenantContext("t1", "UTC", "USD"), "profit", ReportQuery.parse("2026-01-01", "2026-02-01", "UTC"))


def test_a_report_that_converts_nothing_refuses_a_currency_instead_of_leaving_it_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    engine = create_engine("postgresql+psycopg://nobody@127.0.0.1:1/none")
    plain = ReportKind("plain", "Says nothing in another currency", (), REPORTS["workload"].function)
    monkeypatch.setitem(REPORTS, "plain", plain)
    query = ReportQuery.parse("2026-01-01", "2026-02-01", "UTC", currency="EUR")
    with pytest.raises(InvalidInput, match=r"currency='EUR': plain has a block.*margin, .*workload"):
        run(engine, TenantContext("t1", "UTC", "USD"), "plain", query)
