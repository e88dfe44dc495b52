"""Do the rollups equal the ledger, and the ledger the sum of its components, in every month, to the last digit?

Five figures by five ways. The components are multiplied in SQL from the stored quantities and the stored prices, without the rating
code: a cost is linear in its quantities, so each price row's quantities are added up first and multiplied once.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Context, Decimal, Inexact
from typing import Any

from sqlalchemy import Connection, Engine, text

from accounting.errors import InvalidInput
from accounting.ledger.rollups import COSTS, COUNTS, MEASURES, TABLES
from accounting.storage.engine import read_only
from accounting.tenant import TenantContext
from accounting.usage.classes import PARTS, USAGE_COLUMNS

_EXACT = Context(prec=120, traps=[Inexact])
FIGURES = ("ledger", *TABLES, "components")


@dataclass(frozen=True)
class CheckLine:
    """One measure of one booking month in one currency, by five ways.

    Attributes:
        booking_period: first day of the month.
        billing_currency: ISO 4217.
        measure: events, a token count, or one of the four costs.
        ledger: sum of the view `ledger`. Costs are in currency units.
        rollup_15m, rollup_day, rollup_user_day: sums of the rollups.
        components: quantity x unit price of priced events, or their counts, plus the rows of `charges`; None where a quantity
            has no stored price, which counts as a difference.
    """

    booking_period: date
    billing_currency: str
    measure: str
    ledger: Decimal
    rollup_15m: Decimal
    rollup_day: Decimal
    rollup_user_day: Decimal
    components: Decimal | None

    @property
    def differs(self) -> bool:
        """Whether any figure is not the ledger's."""
        return any(getattr(self, name) != self.ledger for name in FIGURES)

    def describe(self) -> str:
        """One line for a person: month, measure, and the figures with their differences to the ledger."""
        parts = [f"{self.booking_period:%Y-%m} {self.measure} {self.billing_currency}: ledger {self.ledger:f}"]
        for name in FIGURES[1:]:
            value = getattr(self, name)
            if value is None:
                parts.append(f"{name} unknown, a quantity has no stored price")
            elif value != self.ledger:
                parts.append(f"{name} {value:f} ({_EXACT.subtract(value, self.ledger):+f})")
        return ", ".join(parts)


def check(engine: Engine, context: TenantContext, month: date | None = None) -> list[CheckLine]:
    """Every measure of every booking month, or of `month` (its first day), at one moment; those that differ say so.

    All is well when no line `differs`. One pass over each of the rollups and two over the events.
    """
    if month is not None and month.day != 1:
        raise InvalidInput("month", month.isoformat(), "the first day of a month is expected")
    parameters = {"tenant": context.tenant, "month": month, "every": month is None}
    with read_only(engine, context.tenant) as connection:
        found = {name: _read(connection, query, parameters) for name, query in _QUERIES.items()}
    keys = sorted({key for figures in found.values() for key in figures})
    return [line for key in keys for line in _lines(key, found)]


def differences(lines: Iterable[CheckLine]) -> list[CheckLine]:
    """The lines that differ."""
    return [line for line in lines if line.differs]


_WHERE = "tenant = :tenant AND (:every OR booking_period = :month)"
_SUMS = ", ".join(
    [*(f"sum({name}) AS {name}" for name in COUNTS), *(f"coalesce(sum({name}), 0) AS {name}" for name in COSTS)]
)


def _plain(table: str) -> str:
    return f"SELECT booking_period, billing_currency, {_SUMS} FROM {table} WHERE {_WHERE} GROUP BY 1, 2"


_WRITES = (
    "cache_write_5m_tokens::bigint + cache_write_1h_tokens + cache_write_30m_tokens + cache_write_12h_tokens"
    " + cache_write_tokens"
)


def _leaves() -> str:
    """Priced class and quantity of each usage column, parts taken out of their wholes, reasoning only where it has a price."""
    leaves = []
    for column in USAGE_COLUMNS:
        token_class = column.removesuffix("_tokens").removesuffix("_requests")
        quantity = " - ".join([column, *PARTS.get(column, ())])
        if column == "output_tokens":
            quantity += " - CASE WHEN reasoning_apart THEN reasoning_tokens ELSE 0 END"
        if column == "reasoning_tokens":
            quantity = "CASE WHEN reasoning_apart THEN reasoning_tokens ELSE 0 END"
        leaves.append(f"('{token_class}', {quantity})")
    return ", ".join([*leaves, "('requests', CASE WHEN requests_priced THEN events ELSE 0 END)"])


def _priced_class(token_class: str) -> str:
    return (
        "EXISTS (SELECT FROM tariff_prices p WHERE p.sku_price_id = sides.sku_price_id "
        f"AND p.token_class = '{token_class}' AND p.fallback IS NULL)"
    )


_COST = "quantity * unit_price * CASE per WHEN 1000000 THEN 0.000001 ELSE 0.001 END"


def _side(side: str) -> str:
    """Cost by one side's price rows, null where a quantity has no stored price."""
    return (
        f"CASE WHEN count(*) FILTER (WHERE side = '{side}' AND quantity <> 0 AND unit_price IS NULL) = 0 "
        f"THEN coalesce(sum({_COST}) FILTER (WHERE side = '{side}'), 0) END AS {side}_cost"
    )


def _component(name: str) -> str:
    """One cost of a month by its components: what the list gives, and what providers reported where that is booked."""
    source, reported = ("list_cost", "listed_as_reported") if name == "list_cost" else ("paid_cost", "paid_as_reported")
    # Without a row of sides there is nothing to multiply; a row whose cost is null is unknown.
    listed = f"CASE WHEN costs.booking_period IS NULL THEN 0 ELSE costs.{source} END"
    return f"{listed} + coalesce(events.{reported}, 0) + coalesce(later.{name}, 0) AS {name}"


_COMPONENTS = f"""
WITH quantities AS (
  SELECT booking_period, billing_currency, charge_status, sku_price_id, basis, list_sku_price_id,
         list_cost_e15 IS NULL AS unlisted, count(*) AS events,
         sum({_WRITES}) AS cache_writes, coalesce(sum(reported_cost_usd), 0) AS reported,
         {", ".join(f"sum({name}) AS {name}" for name in USAGE_COLUMNS)}
  FROM usage_events WHERE {_WHERE} AND charge_status <> 'void' GROUP BY 1, 2, 3, 4, 5, 6, 7
), sides AS (
  SELECT 'list' AS side, booking_period, billing_currency, coalesce(list_sku_price_id, sku_price_id) AS sku_price_id, events,
         {", ".join(USAGE_COLUMNS)} FROM quantities
  WHERE charge_status = 'priced' AND NOT unlisted AND (sku_price_id IS NOT NULL OR basis = 'price_list')
  UNION ALL
  SELECT 'paid', booking_period, billing_currency, sku_price_id, events, {", ".join(USAGE_COLUMNS)} FROM quantities
  WHERE charge_status = 'priced' AND basis = 'price_list'
), conditions AS (
  SELECT *, {_priced_class("reasoning")} AS reasoning_apart, {_priced_class("requests")} AS requests_priced FROM sides
), costs AS (
  SELECT booking_period, billing_currency, {_side("list")}, {_side("paid")}
  FROM conditions CROSS JOIN LATERAL (VALUES {_leaves()}) AS leaf (token_class, quantity)
  LEFT JOIN tariff_prices USING (sku_price_id, token_class) GROUP BY 1, 2
), events AS (
  SELECT booking_period, billing_currency, sum(events) AS events, sum(uncached_input_tokens) AS uncached_input_tokens,
         sum(cache_read_tokens) AS cache_read_tokens, sum(cache_writes) AS cache_write_tokens,
         sum(output_tokens) AS output_tokens,
         coalesce(sum(reported) FILTER (WHERE basis = 'reported'), 0) AS paid_as_reported,
         coalesce(sum(reported) FILTER (WHERE basis = 'reported' AND sku_price_id IS NULL), 0) AS listed_as_reported
  FROM quantities GROUP BY 1, 2
), later AS ({_plain("charges")})
SELECT booking_period, billing_currency,
       {", ".join(f"coalesce(events.{name}, 0) + coalesce(later.{name}, 0) AS {name}" for name in COUNTS)},
       {", ".join(_component(name) for name in COSTS)}
FROM events LEFT JOIN costs USING (booking_period, billing_currency) FULL JOIN later USING (booking_period, billing_currency)
"""

_QUERIES = {name: text(_plain(name)) for name in FIGURES[:-1]} | {"components": text(_COMPONENTS)}

_Key = tuple[date, str]
_Figures = dict[_Key, dict[str, Decimal | None]]


def _read(connection: Connection, query: Any, parameters: dict[str, Any]) -> _Figures:
    rows: Sequence[Any] = connection.execute(query, parameters).all()
    return {
        (row.booking_period, row.billing_currency): {name: _exact(getattr(row, name)) for name in MEASURES}
        for row in rows
    }


def _lines(key: _Key, found: dict[str, _Figures]) -> Iterable[CheckLine]:
    """A month that one of the figures does not have at all is 0 there."""
    for measure in MEASURES:
        values = [found[name].get(key, {}).get(measure, Decimal(0)) for name in FIGURES]
        *certain, components = values
        ledger, quarter_hours, days, user_days = (Decimal(value or 0) for value in certain)
        yield CheckLine(*key, measure, ledger, quarter_hours, days, user_days, components)


def _exact(value: Any) -> Decimal | None:
    return None if value is None else Decimal(value)
