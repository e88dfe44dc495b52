"""Who or what earns more than it costs: users, accounts, plans, features, models, or cohorts of users?

Revenue is what was earned on the days of the period: subscriptions, invoice lines and use, less discounts and refunds. Cost is the
effective cost of users' requests, by component, and payment fees. What matches nobody stays as a line of its own.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from typing import Any

from sqlalchemy import Connection, Engine, text

from accounting.errors import InvalidInput
from accounting.money import split
from accounting.reports.account_requests import accounts_of_user
from accounting.reports.base import Column, Footer, Node, Report, Row
from accounting.reports.coverage import coverage, set_apart
from accounting.reports.earnings import Earning
from accounting.reports.exact import ZERO, from_stored
from accounting.reports.figures import read_figures, stray
from accounting.reports.margin_data import DIMENSIONS, user_facing
from accounting.reports.margin_row import MONEY, MarginSums
from accounting.reports.period_days import period_days
from accounting.reports.query import ReportQuery
from accounting.reports.statement_lines import PurposePolicy, read_policy
from accounting.revenue.lines import Owner
from accounting.revenue.plans import running
from accounting.storage.engine import read_only
from accounting.tenant import TenantContext

NAME = "margin"
DESCRIPTION = (
    "Gross and contribution margin by user, account, plan, feature, model or cohort; revenue by kind, cost by component, "
    "payment fees, free tier in and out, what matches nobody on lines of its own"
)
GROUP_BY = ("user", "account", "plan", "feature", "model", "cohort")
KEYS = {"user": "user_id", "account": "account_id"}
UNMATCHED = ""

Requests = Mapping[str, Mapping[str, int]]
"""Subscriber -> feature or model -> requests."""


def margin(engine: Engine, context: TenantContext, query: ReportQuery) -> Report:
    """Margins of a period, one row a key by gross margin ascending; a key whose cost is unknown comes last.

    `group_by` names one of GROUP_BY (default user). Revenue goes to a feature or model in proportion to the subscriber's requests;
    revenue of an account that names no user reaches its users by the tenant's dated rule (account_split.py), or stays on its row.
    Beside the keys there are lines for users without the key
    (no_account, no_feature, no_usage), for usage and revenue that match none (unmatched_usage, unmatched_revenue), for idle machines
    and for other purposes (not_user_facing). Totals: `total`, all spend; `total_free_tier_in` and `total_free_tier_out`, users'
    requests with and without the cost of purposes free and trial; `total_by_policy`, with what the dated purpose policy counts as
    cost of revenue.

    Raises InvalidInput where the period is not of the tenant's reporting days, or for another group.
    """
    query.check_group_by(GROUP_BY)
    if len(query.group_by) > 1:
        raise InvalidInput("group_by", ",".join(query.group_by), f"one of {', '.join(GROUP_BY)} is expected")
    by = query.group_by[0] if query.group_by else "user"
    first, until = period_days(query, context)
    with read_only(engine, context.tenant) as connection:
        policy = read_policy(connection)
        changes = [day for day in policy.starts if first < day < until]
        dimension = by if by in DIMENSIONS else None
        subscriptions = running(connection, context, first, until)
        figures = read_figures(
            connection, context, query, first, until, subscriptions, dimension=dimension, changes=changes
        )
        cohorts = _cohorts(connection, context) if by == "cohort" else {}
        waiting = set_apart(connection, context, query.since, query.until)
    outline: list[Node] = []
    totals: dict[str, Row] = {}
    strays: list[Footer] = []
    shares = _requests(figures.costs) if dimension else {}
    for currency in figures.currencies(context):
        table = _Table(by, cohorts, policy, [first, *changes])
        costs, earned = figures.of(currency)
        table.add(costs, earned, shares)
        nodes = table.outline(currency, query.limit)
        outline += nodes
        totals[currency] = nodes[0].row
        note = "invoice lines that name neither a user nor an account"
        strays.append(Footer("unmatched_revenue", from_stored(stray(earned)), currency, note))
    return Report(
        NAME,
        query,
        columns(by),
        tuple(outline),
        coverage(figures.costs, waiting),
        [*figures.footer(totals), *strays],
        figures.conversions(),
    )


def columns(by: str) -> tuple[Column, ...]:
    """Columns of a grouping; the key's own has its name."""
    return (
        Column("row", "text", table=False),
        Column("billing_currency", "text"),
        Column(KEYS.get(by, by), "text"),
        *MONEY,
    )


def margin_of_user(engine: Engine, context: TenantContext, query: ReportQuery, user_id: str) -> list[Row]:
    """One user's rows of the report by user, a currency each; none without usage and revenue. Nothing of other users is read,
    except what accounts that the user shares with them need to be shared out.

    Raises InvalidInput where the period is not of the tenant's reporting days, MissingRate for a day of the user's without a rate.
    """
    first, until = period_days(query, context)
    with read_only(engine, context.tenant) as connection:
        policy = read_policy(connection)
        changes = [day for day in policy.starts if first < day < until]
        owner = Owner(user_id, accounts_of_user(connection, context, user_id, first, until))
        subscriptions = running(connection, context, first, until, owner)
        figures = read_figures(connection, context, query, first, until, subscriptions, changes=changes, owner=owner)
    rows = []
    for currency in figures.currencies(context):
        table = _Table("user", {}, policy, [first, *changes])
        table.add(*figures.of(currency), {})
        rows += [_row("detail", currency, "user_id", key, sums) for key, sums in table.keys.items()]
    return rows


class _Table:
    """Sums of one currency by key."""

    def __init__(self, by: str, cohorts: Mapping[str, str], policy: PurposePolicy, lines: Sequence[date]) -> None:
        self.by, self._cohorts, self._policy, self._lines = by, cohorts, policy, lines
        self.keys: defaultdict[str, MarginSums] = defaultdict(MarginSums)
        self.apart: defaultdict[str, MarginSums] = defaultdict(MarginSums)

    def add(self, costs: Sequence[Any], revenue: Sequence[Earning], shares: Requests) -> None:
        """Adds all rows of one currency; `shares`: by what revenue goes to a feature or a model."""
        for row in costs:
            bucket = self._bucket(row)
            bucket.spend(row, self._policy.line(row.purpose, self._lines[row.period]) == "cost_of_revenue")
        for one in revenue:
            self._earn(one, shares)

    def _bucket(self, row: Any) -> MarginSums:
        if row.component == "idle":
            return self.apart["idle"]
        if not user_facing(row):
            return self.apart["not_user_facing"]
        key = self._key_of_cost(row)
        return self.keys[key] if key else self.apart[self._nameless(row.user_id, "unmatched_usage")]

    def _nameless(self, user: str | None, kind: str) -> str:
        """Where a known user's line without a key stands: the user has no account, no feature was named."""
        return f"no_{self.by}" if user and self.by in ("account", *DIMENSIONS) else kind

    def _key_of_cost(self, row: Any) -> str:
        found: dict[str, str] = {"user": row.user_id, "account": row.account_id, "plan": row.plan}
        if self.by == "cohort":
            return self._cohorts.get(row.user_id) or self._cohorts.get(row.holder) or UNMATCHED
        return found[self.by] if self.by in found else str(row.dimension)

    def _earn(self, one: Earning, shares: Requests) -> None:
        if self.by in DIMENSIONS:
            # What names no user is nobody's: calls without a user did not bring it.
            shared = shares.get(one.user_id, {}) if one.user_id else {}
            weights = {key: events for key, events in shared.items() if events > 0}
            if weights:
                ids = sorted(weights)
                for key, part in zip(ids, split(one.amount, [weights[key] for key in ids], ids), strict=True):
                    (self.keys[key] if key else self.apart[f"no_{self.by}"]).earn(one, part)
                return
            self.apart["no_usage" if one.user_id else "unmatched_revenue"].earn(one)
            return
        named = {
            "user": one.user_id,
            "account": one.account_id,
            "plan": one.plan,
            "cohort": self._cohorts.get(one.user_id or ""),
        }
        owner = named.get(self.by)
        if owner:
            self.keys[owner].earn(one)
        elif self.by == "user" and one.account_id:
            self.apart[f"account\0{one.account_id}"].earn(one)
        else:
            self.apart[self._nameless(one.user_id, "unmatched_revenue")].earn(one)

    def outline(self, currency: str, limit: int | None) -> list[Node]:
        """Keys, then what matches none, and the totals they are summed in."""
        name = KEYS.get(self.by, self.by)
        rows = [_row("detail", currency, name, key, sums) for key, sums in self.keys.items()]
        rows.sort(key=lambda row: (row["gross_margin"] is None, row["gross_margin"] or ZERO, row[name]))
        shown = rows[:limit]
        if len(rows) > len(shown):
            rest = _merged(self.keys[row[name]] for row in rows[len(shown) :])
            shown.append(_row("remaining", currency, name, None, rest))
        for kind in sorted(self.apart, key=_order):
            if kind != "not_user_facing":
                shown.append(
                    _row(kind.partition("\0")[0], currency, name, kind.partition("\0")[2] or None, self.apart[kind])
                )
        facing = _merged([*self.keys.values(), *(s for kind, s in self.apart.items() if kind != "not_user_facing")])
        children = [Node(_row("total_free_tier_in", currency, name, None, facing), tuple(Node(row) for row in shown))]
        every = _merged([facing])
        if "not_user_facing" in self.apart:
            every.merge(self.apart["not_user_facing"])
            children.append(Node(_row("not_user_facing", currency, name, None, self.apart["not_user_facing"])))
        heading: Row = {"billing_currency": currency, name: None}
        return [
            Node(_row("total", currency, name, None, every), tuple(children)),
            Node({"row": "total_free_tier_out", **heading, **facing.free_tier_out().row()}),
            Node({"row": "total_by_policy", **heading, **every.by_policy().row()}),
        ]


def _requests(costs: Iterable[Any]) -> Requests:
    """Requests of every subscriber, whatever currency they are billed in: what is sold in euro may be served in dollars."""
    found: defaultdict[str, dict[str, int]] = defaultdict(dict)
    for row in costs:
        if row.component != "idle" and user_facing(row):
            events = found[row.holder]
            events[row.dimension] = events.get(row.dimension, 0) + row.events
    return found


def _row(kind: str, currency: str, name: str, key: str | None, sums: MarginSums) -> Row:
    return {"row": kind, "billing_currency": currency, name: key, **sums.row()}


_APART = (
    "account",
    "no_account",
    "no_feature",
    "no_model",
    "no_usage",
    "unmatched_revenue",
    "unmatched_usage",
    "idle",
    "not_user_facing",
)


def _order(kind: str) -> tuple[int, str]:
    return _APART.index(kind.partition("\0")[0]), kind


def _merged(parts: Iterable[MarginSums]) -> MarginSums:
    result = MarginSums()
    for part in parts:
        result.merge(part)
    return result


def _cohorts(connection: Connection, context: TenantContext) -> dict[str, str]:
    """User -> month of its first subscription, YYYY-MM."""
    rows = connection.execute(
        text("SELECT user_id, min(starts_on) AS day FROM subscriptions WHERE tenant = :tenant GROUP BY 1"),
        {"tenant": context.tenant},
    )
    return {row.user_id: f"{row.day:%Y-%m}" for row in rows}
