"""What are the factors of a period's margin: users and revenue of each plan, and its tokens and cost by model and token type?"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import date, timedelta
from decimal import Decimal
from fractions import Fraction
from typing import Any

from sqlalchemy import Connection, bindparam, text
from sqlalchemy.dialects.postgresql import ARRAY, TEXT

from accounting.reports.bridge import Cell, PlanSide, Side, Sku
from accounting.reports.bridge_rates import BridgeRates, Days, booked_costs
from accounting.reports.convert import DayAmounts
from accounting.reports.earnings import FEE, Earning, Earnings
from accounting.reports.exact import from_stored
from accounting.reports.plan_spans import JOIN_SPANS, PLAN, SPANS
from accounting.reports.query import day_start, zone
from accounting.reports.statement_lines import SERVING
from accounting.reports.subscribed import subscribed
from accounting.revenue.monthly import Subscription
from accounting.storage.engine import scanning
from accounting.tenant import TenantContext

TYPES = ("uncached_input", "cache_read", "output")
_Bars = defaultdict[str, tuple[Fraction, Fraction]]
OTHER = "other"
"""Token type of what the price row does not explain: cache writes, searches, discounts on a call."""

_RATE = (
    "(SELECT unit_price * (1000000 / per) FROM tariff_prices p "
    "WHERE p.sku_price_id = sums.sku_price_id AND p.token_class = '{name}') AS {name}_rate"
)
_RATES = ", ".join(_RATE.format(name=name) for name in TYPES)
# Cost by token type is tokens x the unit price of the very row that each line was priced by; the rest of a line's cost is `other`.
_CELLS = text(
    f"""
    WITH {SPANS},
    r AS (
      SELECT coalesce(user_id, '') AS user_id, coalesce(account_id, '') AS account_id, (occurred_at AT TIME ZONE :tz)::date AS day,
             model, sku_price_id, category, billing_currency, subject_kind = 'pool_hour' AND user_id IS NULL AS idle, uncached_input_tokens,
             cache_read_tokens, cache_write_tokens, output_tokens, effective_cost
      FROM ledger WHERE tenant = :tenant AND occurred_at >= :since AND occurred_at < :before AND charge_status = 'priced'
        AND (CAST(:currency AS text) IS NULL OR billing_currency = :currency) AND purpose = ANY(:purposes)
    ),
    sums AS (
      SELECT {PLAN} AS plan, model, sku_price_id, category, idle, r.billing_currency, sum(uncached_input_tokens)::bigint AS uncached_input,
             sum(cache_read_tokens)::bigint AS cache_read, sum(cache_write_tokens)::bigint AS cache_write,
             sum(output_tokens)::bigint AS output, sum(effective_cost) AS cost
      FROM r {JOIN_SPANS} GROUP BY 1, 2, 3, 4, 5, 6
    )
    SELECT sums.*, {_RATES}
    FROM sums ORDER BY plan, model, sku_price_id, category, idle, billing_currency
    """
).bindparams(bindparam("purposes", type_=ARRAY(TEXT)))


def read_side(
    connection: Connection,
    context: TenantContext,
    days: Days,
    subscriptions: Sequence[Subscription],
    earned: Earnings,
    rates: BridgeRates | None,
) -> Side:
    """The factors of the reporting days; from the ledger, as rollups have no models by user.

    Args:
        rates: factors at their constant rates, what daily rates change against that in the bar `fx`; None: the tenant's currency alone.
    """
    first, until = days
    plans = _users(subscriptions, first, until)
    bars: _Bars = defaultdict(lambda: (Fraction(0), Fraction(0)))
    revenue: defaultdict[str, Fraction] = defaultdict(Fraction)
    for one in earned.as_billed():
        if rates is not None or one.billing_currency == context.billing_currency:
            _earn(one, _rate(rates, one.billing_currency), revenue, bars)
    cells: defaultdict[str, dict[Sku, Cell]] = defaultdict(dict)
    at = zone(context.reporting_tz)
    asked = {"tenant": context.tenant, "tz": context.reporting_tz, "first": first, "until": until}
    asked |= {"since": day_start(first, at), "before": day_start(until, at)}
    asked |= {"currency": context.billing_currency if rates is None else None, "purposes": list(SERVING)}
    with scanning(connection):
        rows = connection.execute(_CELLS, asked).all()
    for row in rows:
        _spend(row, _rate(rates, row.billing_currency), cells, bars)
    keys = sorted({*plans, *revenue, *cells})
    side = Side({key: PlanSide(plans.get(key, Fraction(0)), revenue[key], cells[key]) for key in keys}, dict(bars))
    return side if rates is None else _at_daily_rates(side, earned, booked_costs(connection, context, days), rates)


def _at_daily_rates(side: Side, earned: Earnings, costs: DayAmounts, rates: BridgeRates) -> Side:
    """The side with a bar `fx`, so that its sums are those at daily rates."""
    by_plan: defaultdict[str, Fraction] = defaultdict(Fraction)
    fees = Fraction(0)
    for one in earned.converted(rates.converter):
        if one.kind == FEE:
            fees += Fraction(from_stored(one.amount))
        else:
            by_plan[one.plan or ""] += Fraction(from_stored(one.amount))
    fx = (sum(by_plan.values(), Fraction(0)) - side.revenue(), rates.cost(costs) + fees - side.cost())
    of_plans = {plan: by_plan[plan] - one.revenue for plan, one in side.plans.items()}
    return Side(side.plans, {**side.bars, "fx": fx}, of_plans)


def _rate(rates: BridgeRates | None, currency: str) -> Fraction:
    return Fraction(1) if rates is None else rates.constant(currency)


def preceding(first: date, until: date) -> tuple[date, date]:
    """The period before: as many calendar months where it is made of whole ones, else as many days."""
    if first.day == until.day == 1:
        months = (until.year - first.year) * 12 + until.month - first.month
        number = first.year * 12 + first.month - 1 - months
        return date(number // 12, number % 12 + 1, 1), first
    return first - timedelta(days=(until - first).days), first


def _users(subscriptions: Iterable[Subscription], first: date, until: date) -> dict[str, Fraction]:
    days: defaultdict[str, int] = defaultdict(int)
    for (plan, _), one in subscribed(subscriptions, first, until).items():
        days[plan] += one.days
    return {plan: Fraction(count, (until - first).days) for plan, count in days.items()}


def _earn(one: Earning, rate: Fraction, revenue: defaultdict[str, Fraction], bars: _Bars) -> None:
    amount = Fraction(from_stored(one.amount)) * rate
    if one.kind == FEE:
        _add(bars, "payment_fees", cost=amount)
    elif one.plan:
        revenue[one.plan] += amount
    else:
        _add(bars, "unmatched", revenue=amount)


def _spend(row: Any, rate: Fraction, cells: defaultdict[str, dict[Sku, Cell]], bars: _Bars) -> None:
    cost = Fraction(row.cost) * rate
    if row.idle or row.category == "Credit" or not row.plan:
        _add(bars, "idle" if row.idle else "credits" if row.category == "Credit" else "unmatched", cost=cost)
        return
    own = cells[row.plan]
    left = cost
    prices = {name: getattr(row, f"{name}_rate") for name in TYPES}
    if all(price is not None or not getattr(row, name) for name, price in prices.items()):
        for name, price in prices.items():
            tokens = getattr(row, name)
            part = tokens * Fraction(price or Decimal(0)) / 1_000_000 * rate
            left -= part
            _put(own, (row.model, name), tokens, part)
        _put(own, (row.model, OTHER), row.cache_write, left)
    else:
        tokens = sum(getattr(row, name) for name in TYPES) + row.cache_write
        _put(own, (row.model, "all"), tokens, cost)


def _put(own: dict[Sku, Cell], sku: Sku, tokens: int, cost: Fraction) -> None:
    if tokens or cost:
        old = own.get(sku, Cell(0, Fraction(0)))
        own[sku] = Cell(old.tokens + tokens, old.cost + cost)


def _add(
    bars: _Bars,
    name: str,
    revenue: Fraction = Fraction(0),
    cost: Fraction = Fraction(0),
) -> None:
    bars[name] = (bars[name][0] + revenue, bars[name][1] + cost)
