"""Which plans make money, which of their users lose it, and which cap would stop that?

Statement: a plan's revenue, cost and margin. Sections: what a plan's subscribers look like, who loses money, the curve of heavy users,
break-even use, caps, the free tier, cohorts, and how sure the estimates are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from decimal import Decimal
from fractions import Fraction
from typing import Any

from sqlalchemy import Engine

from accounting.reports.base import Column, Node, Row
from accounting.reports.cohort_data import read_members, to_acquire
from accounting.reports.cohorts import cohort_section
from accounting.reports.coverage import coverage, set_apart
from accounting.reports.exact import ZERO, percent, total
from accounting.reports.figures import read_figures
from accounting.reports.margin_row import COSTS, MONEY, MarginSums
from accounting.reports.period_days import period_days
from accounting.reports.plan_data import PlanData, plan_data
from accounting.reports.plan_recurring import by_currency, in_currency
from accounting.reports.plan_sections import plan_sections
from accounting.reports.query import ReportQuery
from accounting.reports.ratios import rounded_to
from accounting.reports.sections import Section, SectionedReport
from accounting.reports.statement_lines import read_policy
from accounting.reports.subscribers import Subscriber, losing
from accounting.revenue.plans import running
from accounting.revenue.recurring_on import recurring_on
from accounting.storage.engine import read_only
from accounting.tenant import TenantContext

NAME = "plan-profitability"
DESCRIPTION = "What each plan earns and who on it loses money; break-even use, caps, heavy users, free tier, cohorts"
GROUP_BY: tuple[str, ...] = ()
_MRR = "monthly_recurring"
COLUMNS = (
    Column("row", "text", table=False),
    Column("billing_currency", "text"),
    Column("plan", "text"),
    Column("subscribers", "count"),
    Column("paying_subscribers", "count"),
    Column("average_subscribers", "number"),
    Column("monthly_recurring", "money", table=False),
    *MONEY,
    Column("loss_making", "count"),
    Column("loss_making_pct", "percent"),
    Column("net_revenue_per_subscriber", "number", table=False),
    Column("cost_per_subscriber", "number", table=False),
)


def plan_profitability(engine: Engine, context: TenantContext, query: ReportQuery) -> SectionedReport:
    """Plan profit and loss of a period, by margin ascending, with sections (plan_sections.py, cohorts.py).

    `limit`: at most so many loss-making users are listed a plan. What is no plan's stands on lines of its own: unmatched_revenue,
    unmatched_usage, idle, not_user_facing; totals as in the report `margin`. Revenue of an account alone stays on the plan, whatever the
    tenant's rule, as its users' costs are on none. monthly_recurring: what plans bring a month at list price, as subscriptions stand on the
    last day. Raises InvalidInput in another zone than the tenant's.
    """
    query.check_group_by(GROUP_BY)
    first, until = period_days(query, context)
    with read_only(engine, context.tenant) as connection:
        subscriptions = running(connection, context, first, until)
        members = read_members(connection, context, first, until)
        last = until - timedelta(days=1)
        recurring = recurring_on(connection, context, subscriptions, last)
        more = to_acquire(members, context) | {"monthly_recurring": by_currency(recurring, last)}
        policy = read_policy(connection)
        starts = [first, *(day for day in policy.starts if first < day < until)]
        figures = read_figures(
            connection, context, query, first, until, subscriptions, changes=starts[1:], reach=False, more=more
        )
        waiting = set_apart(connection, context, query.since, query.until)
        cohorts = cohort_section(connection, context, query, members, first, until, figures.converter)

    def on_statement(row: Any) -> bool:
        return policy.line(row.purpose, starts[row.period]) == "cost_of_revenue"

    outline: list[Node] = []
    totals: dict[str, Row] = {}
    sections: list[Section] = []
    for currency in figures.currencies(context):
        costs, earned = figures.of(currency)
        sold = [one for one in subscriptions if query.currency is not None or one.billing_currency == currency]
        data = plan_data(costs, earned, sold, first, until, on_statement)
        nodes = _outline(
            data, currency, (until - first).days, in_currency(recurring, currency, last, figures.converter)
        )
        outline += nodes
        totals[currency] = nodes[0].row
        sections += plan_sections(data, costs, currency, query.limit)
    return SectionedReport(
        NAME,
        query,
        COLUMNS,
        tuple(outline),
        coverage(figures.costs, waiting),
        figures.footer(totals),
        figures.conversions(),
        sections=(*sections, cohorts),
    )


def _outline(data: PlanData, currency: str, days: int, recurring: Mapping[str, Decimal | None]) -> list[Node]:
    rows = [
        _row("detail", currency, plan, sums, data.subscribers.get(plan, []), days) | {_MRR: recurring.get(plan, ZERO)}
        for plan, sums in data.sums.items()
    ]
    mrr = None if None in recurring.values() else total(amount for amount in recurring.values() if amount)
    rows.sort(key=lambda row: (row["gross_margin"] is None, row["gross_margin"] or ZERO, row["plan"]))
    facing, every = MarginSums(), MarginSums()
    for sums in data.sums.values():
        facing.merge(sums)
    for kind in ("unmatched_revenue", "unmatched_usage", "idle"):
        if kind in data.apart:
            rows.append(_row(kind, currency, None, data.apart[kind], [], days))
            facing.merge(data.apart[kind])
    everyone = [one for members in data.subscribers.values() for one in members]
    every.merge(facing)
    inner = _row("total_free_tier_in", currency, None, facing, everyone, days) | {_MRR: mrr}
    children = [Node(inner, tuple(Node(row) for row in rows))]
    if "not_user_facing" in data.apart:
        every.merge(data.apart["not_user_facing"])
        children.append(Node(_row("not_user_facing", currency, None, data.apart["not_user_facing"], [], days)))
    out, by_policy = (
        _row(kind, currency, None, kept, everyone, days) | {_MRR: mrr}
        for kind, kept in (("total_free_tier_out", facing.free_tier_out()), ("total_by_policy", every.by_policy()))
    )
    whole = _row("total", currency, None, every, everyone, days) | {_MRR: mrr}
    return [Node(whole, tuple(children)), Node(out), Node(by_policy)]


def _row(
    kind: str,
    currency: str,
    plan: str | None,
    sums: MarginSums,
    members: Sequence[Subscriber],
    days: int,
) -> Row:
    money = sums.row()
    lost = len(losing(members))
    cost = total(money[name] for name in COSTS) if sums.known else None
    return {
        "row": kind,
        "billing_currency": currency,
        "plan": plan,
        "subscribers": len(members),
        "paying_subscribers": sum(one.net > 0 for one in members),
        _MRR: ZERO,
        "average_subscribers": rounded_to(Fraction(sum(one.days for one in members), days)),
        **money,
        "loss_making": lost,
        "loss_making_pct": percent(lost, len(members)),
        "net_revenue_per_subscriber": _each(money["net_revenue"], len(members)),
        "cost_per_subscriber": None if cost is None else _each(cost, len(members)),
    }


def _each(amount: Decimal, count: int) -> Decimal | None:
    return rounded_to(Fraction(amount) / count) if count else None
