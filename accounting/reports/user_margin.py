"""Which users earn more than they cost?

Revenue is what was earned on the days of [from, to): subscriptions, invoice lines and use, less discounts and refunds. Payment fees are not
cost here; the report `margin` has them. Cost is the effective cost of the user's own requests, by reporting day, where the
purpose is production, free or trial. Cost of other purposes (eval, internal, training) is nobody's margin: it stands in a row of its
own, so that the total is the ledger's. So does what pools cost beside their requests (idle), and cost without a user.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Any

from sqlalchemy import Engine, text

from accounting.reports.account_requests import reach_users
from accounting.reports.base import Column, Footer, Node, Report, Row
from accounting.reports.convert import JOIN, PARAMETERS, Converter
from accounting.reports.coverage import coverage, set_apart
from accounting.reports.earnings import Earning, Earnings
from accounting.reports.exact import ZERO, from_stored, minus, percent, plus
from accounting.reports.figures import ledger_totals
from accounting.reports.margin_data import booked_by_day
from accounting.reports.period_days import period_days
from accounting.reports.query import ReportQuery
from accounting.reports.reconcile import by_user_day, control
from accounting.reports.statement_lines import FREE_TIER, USER_FACING
from accounting.reports.sums import Sums, measures
from accounting.revenue.account_rules import read_account_rules
from accounting.revenue.monthly import Subscription
from accounting.revenue.plans import running
from accounting.storage.engine import read_only
from accounting.storage.purposes import POOL_PURPOSES
from accounting.tenant import TenantContext

NAME = "user-margin"
DESCRIPTION = (
    "Recognised revenue, cost and margin of every user of a period, the least profitable first; free tier in and out"
)
GROUP_BY: tuple[str, ...] = ()
NO_PLAN = "none"
COST = ("effective_cost",)

_SUMS = """
    SELECT CASE WHEN purpose = ANY(:user_facing) THEN user_id ELSE '' END AS user_id, purpose = ANY(:user_facing) AS user_facing,
           purpose = ANY(:pools) AS idle, purpose = ANY(:free_tier) AS free_tier, charge_status, {currency} AS billing_currency, {measures}
    FROM rollup_user_day {join} WHERE tenant = :tenant AND day >= :first AND day < :until GROUP BY 1, 2, 3, 4, 5, 6
"""
_AS_BOOKED = text(_SUMS.format(currency="billing_currency", measures=measures(COST), join=""))
_CONVERTED = text(
    _SUMS.format(
        currency="CAST(:to_currency AS text)",
        measures=measures(COST, rated=True),
        join=JOIN.format(day_no="day - CAST(:first AS date) + 1"),
    )
).bindparams(*PARAMETERS)

COLUMNS = (
    Column("row", "text", table=False),
    Column("billing_currency", "text"),
    Column("user_id", "text"),
    Column("plans", "text"),
    Column("recognised_revenue", "money"),
    Column("effective_cost", "money"),
    Column("margin", "money", plus=("recognised_revenue",), minus=("effective_cost",)),
    Column("margin_pct", "percent"),
    Column("free_tier_cost", "money", table=False),
    Column("events", "count"),
    *(Column(name, "count", table=False) for name in ("unpriced_events", "pending_events", "tokens")),
)


def user_margin(engine: Engine, context: TenantContext, query: ReportQuery) -> Report:
    """Margins of a period, one row a user, by margin ascending; a user whose cost is unknown comes last.

    `from` and `to` are reporting days of the tenant. A user without revenue keeps a row (margin_pct None), as does a subscriber
    without usage. With `limit`, the users left out are one row `remaining_users`, so that rows always add up to the totals:
    total_free_tier_in (users' requests of every purpose) and total (all spend, the ledger's); total_free_tier_out leaves out the
    cost of purposes free and trial.

    Raises InvalidInput where `tz` is not the tenant's reporting zone: costs by user are kept by its days only.
    """
    query.check_group_by(GROUP_BY)
    first, until = period_days(query, context)
    asked = {"tenant": context.tenant, "first": first, "until": until}
    asked |= {"user_facing": list(USER_FACING), "free_tier": list(FREE_TIER), "pools": list(POOL_PURPOSES)}
    converter: Converter | None = None
    with read_only(engine, context.tenant) as connection:
        subscriptions = running(connection, context, first, until)
        rules = read_account_rules(connection, context)
        earned = Earnings(connection, context, subscriptions, first, until, rules.starts, fees=False)
        if query.currency is None:
            found, earnings = connection.execute(_AS_BOOKED, asked).all(), earned.as_billed()
        else:
            revenues = earned.booked(query.currency)["recognised_revenue"]
            booked = booked_by_day(connection, context, first, until)
            amounts = {"effective_cost": booked, "recognised_revenue": revenues}
            converter = Converter.read(connection, query.currency, amounts)
            rated = asked | {"to_currency": query.currency} | converter.parameters(query.days())
            found = converter.rounded(connection.execute(_CONVERTED, rated), COST)
            earnings = earned.converted(converter)
        earnings = reach_users(connection, context, earnings, rules, subscriptions, earned.starts, until)
        ledger = ledger_totals(connection, context, first, until)
        statement = control(connection, context, query).incurred
        waiting = set_apart(connection, context, query.since, query.until)
    revenue = _by_user(earnings)
    plans = _plans(subscriptions)
    billed = {context.billing_currency, *ledger, *(currency for _, currency in revenue)}
    outline: list[Node] = []
    reported: dict[str, Decimal] = {}
    for currency in sorted(billed) if query.currency is None else [query.currency]:
        own = {user: amount for (user, of), amount in revenue.items() if of == currency}
        nodes = _outline(currency, [row for row in found if row.billing_currency == currency], own, plans, query.limit)
        outline += nodes
        reported[currency] = nodes[0].row["effective_cost"] or ZERO
    feet: list[Footer] = []
    if converter is not None:
        feet += converter.footer("effective_cost", outline[0].row["effective_cost"] or ZERO)
        feet += converter.footer("recognised_revenue", outline[0].row["recognised_revenue"])
        reported = dict.fromkeys(ledger, ZERO) | converter.by_currency("effective_cost")
    for currency, amount in sorted(reported.items()):
        feet += _footer(currency, amount, ledger, statement)
    conversions = [] if converter is None else converter.conversions()
    return Report(NAME, query, COLUMNS, tuple(outline), coverage(found, waiting), feet, conversions)


def _by_user(earnings: Iterable[Earning]) -> dict[tuple[str, str], Decimal]:
    """(user_id, currency) -> recognised revenue; user '' for what names none."""
    found: defaultdict[tuple[str, str], int] = defaultdict(int)
    for one in earnings:
        found[one.user_id or "", one.billing_currency] += one.amount
    return {key: from_stored(amount) for key, amount in found.items()}


def _plans(subscriptions: Iterable[Subscription]) -> dict[str, str]:
    """User -> keys of the plans subscribed in the period."""
    found: dict[str, set[str]] = {}
    for subscription in subscriptions:
        found.setdefault(subscription.user_id, set()).add(subscription.plan)
    return {user: ", ".join(sorted(keys)) for user, keys in found.items()}


class _Account:
    """What one row stands for: revenue in currency units, and sums of its lines in and out of the free tier."""

    def __init__(self, revenue: Decimal = ZERO) -> None:
        self.revenue = revenue
        self.sums, self.free, self.paid = Sums(COST), Sums(COST), Sums(COST)

    def add(self, row: Any) -> None:
        self.sums.add(row)
        (self.free if row.free_tier else self.paid).add(row)

    def merge(self, other: _Account) -> None:
        self.revenue = plus(self.revenue, other.revenue)
        self.sums.merge(other.sums)
        self.free.merge(other.free)
        self.paid.merge(other.paid)

    def without_free_tier(self) -> _Account:
        rest = _Account(self.revenue)
        rest.sums, rest.paid = self.paid, self.paid
        return rest

    def row(self, kind: str, currency: str, user: str | None = None, plans: str | None = None) -> Row:
        revenue, cost = self.revenue, self.sums.cost("effective_cost")
        margin = None if cost is None else minus(revenue, cost)
        return {
            "row": kind,
            "billing_currency": currency,
            "user_id": user,
            "plans": plans,
            "recognised_revenue": revenue,
            "effective_cost": cost,
            "margin": margin,
            "margin_pct": None if margin is None else percent(margin, revenue),
            "free_tier_cost": self.free.cost("effective_cost"),
            **self.sums.counts(),
        }


def _outline(
    currency: str, found: Sequence[Any], earned: dict[str, Decimal], plans: dict[str, str], limit: int | None
) -> list[Node]:
    """The total with what it is the sum of, and beside it the total without free tier."""
    users = {user: _Account(revenue) for user, revenue in earned.items() if user}
    nobody, idle, apart, facing, every = _Account(earned.get("", ZERO)), *(_Account() for _ in range(4))
    for row in found:
        if row.user_id:
            users.setdefault(row.user_id, _Account()).add(row)
        else:
            (nobody if row.user_facing else idle if row.idle else apart).add(row)
    rows = [account.row("user", currency, user, plans.get(user, NO_PLAN)) for user, account in users.items()]
    rows.sort(key=lambda row: (row["margin"] is None, row["margin"] or ZERO, row["user_id"]))
    shown = rows[:limit]
    rest = _Account()
    for row in rows[len(shown) :]:
        rest.merge(users[row["user_id"]])
    if len(rows) > len(shown):
        shown.append(rest.row("remaining_users", currency))
    if nobody.sums.events or nobody.revenue:
        shown.append(nobody.row("no_user", currency))
    if idle.sums.events:
        shown.append(idle.row("idle", currency))
    for account in (*users.values(), nobody, idle):
        facing.merge(account)
    every.merge(facing)
    every.merge(apart)
    children = [Node(facing.row("total_free_tier_in", currency), tuple(Node(row) for row in shown))]
    if apart.sums.events:
        children.append(Node(apart.row("not_user_facing", currency)))
    return [
        Node(every.row("total", currency), tuple(children)),
        Node(facing.without_free_tier().row("total_free_tier_out", currency)),
    ]


def _footer(
    currency: str, reported: Decimal, ledger: dict[str, Decimal], statement: Mapping[str, Decimal]
) -> list[Footer]:
    own, other = ledger.get(currency, ZERO), statement.get(currency, ZERO)
    lines = [
        ("cost_of_revenue_total", other, "total of the cost-of-revenue statement of the same period"),
        (
            "cost_of_revenue_difference",
            minus(own, other),
            "ledger by user less ledger by quarter hour; 0 or a rollup is wrong",
        ),
    ]
    return [
        *by_user_day(currency, reported, own),
        *(Footer(name, amount, currency, note) for name, amount, note in lines),
    ]
