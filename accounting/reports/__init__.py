"""Which reports are there, and how is one run?"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from sqlalchemy import Engine

from accounting.errors import InvalidInput, NotFound
from accounting.reports import (
    cost_of_revenue,
    explore,
    make_or_buy,
    margin,
    margin_bridge,
    overview,
    plan_profitability,
    pool_bill,
    pool_diagnosis,
    quality,
    unit_costs,
    user_margin,
    workload,
)
from accounting.reports.base import Column, Footer, Node, Report
from accounting.reports.query import ReportQuery
from accounting.tenant import TenantContext

__all__ = ["REPORTS", "Column", "Footer", "Node", "Report", "ReportKind", "ReportQuery", "run"]


@dataclass(frozen=True)
class ReportKind:
    """One report.

    Attributes:
        name: in URLs and on the command line. description: one sentence. group_by: names it allows.
        converts: whether it can be asked for in one currency. filters: names it takes filters of.
    """

    name: str
    description: str
    group_by: tuple[str, ...]
    function: Callable[[Engine, TenantContext, ReportQuery], Report]
    converts: bool = False
    filters: tuple[str, ...] = ()


REPORTS = {
    kind.name: kind
    for kind in (
        ReportKind(
            cost_of_revenue.NAME,
            cost_of_revenue.DESCRIPTION,
            cost_of_revenue.GROUP_BY,
            cost_of_revenue.cost_of_revenue,
            converts=True,
        ),
        ReportKind(margin.NAME, margin.DESCRIPTION, margin.GROUP_BY, margin.margin, converts=True),
        ReportKind(
            explore.NAME,
            explore.DESCRIPTION,
            explore.GROUP_BY,
            explore.explore,
            converts=True,
            filters=explore.FILTERS,
        ),
        ReportKind(quality.NAME, quality.DESCRIPTION, quality.GROUP_BY, quality.quality),
        ReportKind(overview.NAME, overview.DESCRIPTION, overview.GROUP_BY, overview.overview, converts=True),
        ReportKind(
            margin_bridge.NAME,
            margin_bridge.DESCRIPTION,
            margin_bridge.GROUP_BY,
            margin_bridge.margin_bridge,
            converts=True,
        ),
        ReportKind(
            plan_profitability.NAME,
            plan_profitability.DESCRIPTION,
            plan_profitability.GROUP_BY,
            plan_profitability.plan_profitability,
            converts=True,
        ),
        ReportKind(
            unit_costs.NAME,
            unit_costs.DESCRIPTION,
            unit_costs.GROUP_BY,
            unit_costs.unit_costs,
            filters=unit_costs.FILTERS,
        ),
        ReportKind(
            make_or_buy.NAME,
            make_or_buy.DESCRIPTION,
            make_or_buy.GROUP_BY,
            make_or_buy.make_or_buy_report,
            filters=make_or_buy.FILTERS,
        ),
        ReportKind(
            pool_bill.NAME,
            pool_bill.DESCRIPTION,
            pool_bill.GROUP_BY,
            pool_bill.pool_bill,
            filters=pool_bill.FILTERS,
        ),
        ReportKind(
            pool_diagnosis.NAME,
            pool_diagnosis.DESCRIPTION,
            pool_diagnosis.GROUP_BY,
            pool_diagnosis.pool_diagnosis,
            filters=pool_diagnosis.FILTERS,
        ),
        ReportKind(workload.NAME, workload.DESCRIPTION, workload.GROUP_BY, workload.workload, converts=True),
        ReportKind(
            user_margin.NAME, user_margin.DESCRIPTION, user_margin.GROUP_BY, user_margin.user_margin, converts=True
        ),
    )
}
"""Every report by name."""


def run(engine: Engine, context: TenantContext, name: str, query: ReportQuery) -> Report:
    """Runs a report for a tenant. Raises NotFound for an unknown name, InvalidInput for what it can't be asked."""
    kind = REPORTS.get(name)
    if kind is None:
        raise NotFound(f"report={name!r}: no such report; there are {', '.join(sorted(REPORTS))}")
    if query.currency is not None and not kind.converts:
        able = ", ".join(sorted(name for name, one in REPORTS.items() if one.converts))
        raise InvalidInput("currency", query.currency, f"{name} has a block a billing currency; converted are {able}")
    query.check_filters(kind.filters)
    return kind.function(engine, context, query)
