"""Which reports are there, and how is one run?"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from sqlalchemy import Engine

from accounting.errors import NotFound
from accounting.reports import cost_of_revenue, margin, plan_profitability, user_margin
from accounting.reports.base import Column, Footer, Node, Report
from accounting.reports.query import ReportQuery
from accounting.tenant import TenantContext

__all__ = ["REPORTS", "Column", "Footer", "Node", "Report", "ReportKind", "ReportQuery", "run"]


@dataclass(frozen=True)
class ReportKind:
    """Attributes: name: in URLs and on the command line; description: one sentence; group_by: names it allows; function."""

    name: str
    description: str
    group_by: tuple[str, ...]
    function: Callable[[Engine, TenantContext, ReportQuery], Report]


REPORTS = {
    kind.name: kind
    for kind in (
        ReportKind(
            cost_of_revenue.NAME, cost_of_revenue.DESCRIPTION, cost_of_revenue.GROUP_BY, cost_of_revenue.cost_of_revenue
        ),
        ReportKind(margin.NAME, margin.DESCRIPTION, margin.GROUP_BY, margin.margin),
        ReportKind(
            plan_profitability.NAME,
            plan_profitability.DESCRIPTION,
            plan_profitability.GROUP_BY,
            plan_profitability.plan_profitability,
        ),
        ReportKind(user_margin.NAME, user_margin.DESCRIPTION, user_margin.GROUP_BY, user_margin.user_margin),
    )
}
"""Every report by name."""


def run(engine: Engine, context: TenantContext, name: str, query: ReportQuery) -> Report:
    """Runs a report for a tenant. Raises NotFound for an unknown name, InvalidInput for what it can't be asked."""
    kind = REPORTS.get(name)
    if kind is None:
        raise NotFound(f"report={name!r}: no such report; there are {', '.join(sorted(REPORTS))}")
    return kind.function(engine, context, query)
