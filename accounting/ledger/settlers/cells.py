"""Which usage is a contract about, in cells small enough for every scope and every report?"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

from sqlalchemy import Connection, text

from accounting.ledger.corrected import CORRECTED, JOIN_CORRECTIONS, NEWEST_REVISION
from accounting.ledger.settlers.scopes import scopes_of
from accounting.money import split
from accounting.pricing.contract import Contract, Scope
from accounting.pricing.leaves import leaf_quantities
from accounting.pricing.names import Names
from accounting.storage.changes import FAR
from accounting.storage.engine import scanning
from accounting.tenant import TenantContext
from accounting.usage.classes import UNIT_CLASSES, USAGE_COLUMNS


class Group(NamedTuple):
    """What a settled line is about: whose usage of which day. A tuple, as a term has hundreds of thousands of them to look up.

    Attributes:
        start: first quarter hour of the group's part of a day, which lies in one UTC day and in one reporting day of the tenant.
        user_id, account_id: '' for none.
        model: as logged.
    """

    start: datetime
    user_id: str
    account_id: str
    purpose: str
    model: str


@dataclass(frozen=True)
class PriceRow:
    """The price row that events of a cell were booked by. Attributes: prices: class -> 10^-15 currency units a token or unit."""

    sku_price_id: int
    model: str
    service_tier: str
    prices: Mapping[str, int]
    own: frozenset[str]

    def quantities(self, counts: Mapping[str, int]) -> dict[str, int]:
        """Priced class -> quantity, for sums of usage columns and `events` of events of this row."""
        leaves = leaf_quantities(counts, "reasoning" in self.own, False)
        leaves["requests"] = counts["events"] if self.prices.get("requests") else 0
        return {name: quantity for name, quantity in leaves.items() if quantity}


@dataclass
class Cell:
    """Priced usage of one group under one price row, 10^-15 currency units.

    Attributes:
        key: text that no other cell of the contract has; orders cells and breaks ties.
        since: no event of the cell is earlier, and none of its day that is in the contract's later instants (`_cuts`): so a part of
            the contract that begins or ends within a day covers whole cells.
        row: None for costs that a provider reported.
        quantities: priced class -> quantity.
        contracted: as booked by the events' own lines.
        surface, region: of the calls, as the price list writes them, where a scope of the contract names any; None: not known.
        costs: priced class -> what of it is the class's, changed by volume tiers settled so far; "": what no class carries.
        owed: the same, less what commitments and credits have paid.
    """

    key: str
    since: datetime
    group: Group
    row: PriceRow | None
    quantities: dict[str, int]
    contracted: int
    surface: str | None = None
    region: str | None = None
    costs: dict[str, int] = field(init=False)
    owed: dict[str, int] = field(init=False)

    def __post_init__(self) -> None:
        self.costs = {name: self.booked_of(frozenset((name,))) for name in self.quantities}
        if rest := self.contracted - sum(self.costs.values()):
            self.costs[""] = rest
        self.owed = dict(self.costs)

    @property
    def billed(self) -> int:
        """What is still to be paid."""
        return sum(self.owed.values())

    def covered(self, scope: Scope) -> bool:
        """Whether a scope (scopes.as_listed) covers the cell, classes aside.

        A cost without a price row is covered by scopes without conditions but models.
        """
        row = self.row
        if row is None:
            named = (scope.service_tiers, scope.token_classes, scope.surfaces, scope.regions)
            return all(names is None for names in named) and _one_of(scope.models, self.group.model)
        return (
            (_one_of(scope.models, row.model) or _one_of(scope.models, self.group.model.lower()))
            and _one_of(scope.service_tiers, row.service_tier)
            and _one_of(scope.surfaces, self.surface)
            and _one_of(scope.regions, self.region)
        )

    def booked_of(self, classes: frozenset[str]) -> int:
        """Cost of some classes at the cell's price row, before volume tiers."""
        assert self.row is not None
        return sum(self.row.prices[name] * quantity for name, quantity in self.quantities.items() if name in classes)

    def cost_of(self, classes: frozenset[str] | None) -> int:
        """Contracted cost of some classes, volume tiers included; of all where None."""
        return sum(self.costs[name] for name in self._names(classes))

    def payable(self, classes: frozenset[str] | None) -> int:
        """What of these classes is still to be paid."""
        return sum(max(self.owed[name], 0) for name in self._names(classes))

    def pay(self, amount: int, classes: frozenset[str] | None) -> None:
        """Takes at most what is payable off what these classes owe, in proportion."""
        names = self._names(classes)
        for name, part in zip(names, split(amount, [max(self.owed[name], 0) for name in names], names), strict=True):
            self.owed[name] -= part

    def change(self, difference: int, classes: frozenset[str] | None) -> None:
        """Adds a volume tier's difference to the priced classes that it counts, in proportion to their cost, else to their quantity."""
        names = [name for name in self._names(classes) if name]
        costs = [max(self.costs[name], 0) for name in names]
        weights = costs if any(costs) else [self.quantities[name] for name in names]
        for name, part in zip(names, split(difference, weights, names), strict=True):
            self.costs[name] += part
            self.owed[name] += part

    def _names(self, classes: frozenset[str] | None) -> list[str]:
        return sorted(name for name in self.costs if classes is None or name in classes)


def _one_of(names: frozenset[str] | None, name: str | None) -> bool:
    return names is None or name in names


_COUNTS = ", ".join(f"sum(e.{name})::bigint AS {name}" for name in USAGE_COLUMNS)
_CELLS = f"""
    SELECT greatest(date_trunc('day', e.occurred_at AT TIME ZONE 'UTC') AT TIME ZONE 'UTC',
                    date_trunc('day', e.occurred_at AT TIME ZONE :tz) AT TIME ZONE :tz,
                    (CAST(:cuts AS timestamptz[]))[width_bucket(e.occurred_at, CAST(:cuts AS timestamptz[]))]) AS since,
           coalesce(e.user_id, '') AS user_id, coalesce(e.account_id, '') AS account_id, e.purpose,
           coalesce(e.response_model, e.model) AS model, {CORRECTED["sku_price_id"]} AS sku_price_id, e.basis,
           {{surface}} AS surface, {{region}} AS region, {{prefix}} AS prefix,
           count(*) AS events, sum({CORRECTED["contracted_cost_e15"]}) AS contracted, {_COUNTS}
    FROM usage_events e {JOIN_CORRECTIONS}
    WHERE e.tenant = :tenant AND e.occurred_at >= :since AND e.occurred_at < :until AND e.charge_status <> 'void'
      AND {NEWEST_REVISION} AND {CORRECTED["charge_status"]} = 'priced'
      AND {CORRECTED["seller"]} = :seller AND {CORRECTED["billing_currency"]} = :currency
    GROUP BY 1, 2, 3, 4, 5, 6, 7, 8, 9, 10
"""
_PREFIX = "CASE WHEN strpos(e.model, '.') > 0 THEN split_part(e.model, '.', 1) || '.' END"
_PRICE_ROWS = text(
    """
    SELECT t.sku_price_id, t.model, t.service_tier, p.token_class, p.fallback,
           (p.unit_price * CASE p.per WHEN 1000000 THEN 1000000000 ELSE 1000000000000 END)::bigint AS price
    FROM tariffs t JOIN tariff_prices p USING (sku_price_id) WHERE t.sku_price_id = ANY(:ids)
    """
)
_EPOCH, _QUARTER = datetime(1970, 1, 1, tzinfo=UTC), timedelta(minutes=15)


def read_cells(
    connection: Connection, context: TenantContext, contract: Contract, since: datetime, names: Names
) -> list[Cell]:
    """Cells of the contract's seller and currency within its term, from `since` on, ordered by day and key."""
    start, end = max(since, contract.effective_from), contract.effective_until or FAR
    if start >= end:
        return []
    parameters = {
        "tenant": context.tenant,
        "tz": context.reporting_tz,
        "since": start,
        "until": end,
        "seller": contract.seller,
        "currency": contract.currency,
        "cuts": _cuts(contract),
    }
    scopes = list(scopes_of(contract))
    named = {name: any(getattr(scope, name) is not None for scope in scopes) for name in ("surfaces", "regions")}
    columns = {
        "surface": "lower(e.surface)" if named["surfaces"] else "NULL::text",
        "region": "e.region" if named["regions"] else "NULL::text",
        "prefix": _PREFIX if named["regions"] else "NULL::text",
    }
    with scanning(connection):
        found = connection.execute(text(_CELLS.format(**columns)), parameters).all()
    rows = _price_rows(connection, {row.sku_price_id for row in found if row.sku_price_id is not None})
    cells = (_cell(row, rows, names.region(contract.seller, row.prefix, row.region)) for row in found)
    return sorted(cells, key=lambda cell: (cell.since, cell.key))


def _cuts(contract: Contract) -> list[datetime]:
    """Instants at which a part of the contract begins or ends, in order."""
    ends = (credit.valid_until for credit in contract.credits if credit.valid_until is not None)
    return sorted({contract.effective_from, *(credit.valid_from for credit in contract.credits), *ends})


def _cell(row: Any, rows: Mapping[int, PriceRow], region: str | None) -> Cell:
    quarter = row.since - (row.since - _EPOCH) % _QUARTER
    group = Group(quarter, row.user_id, row.account_id, row.purpose, row.model)
    price_row = rows.get(row.sku_price_id) if row.basis == "price_list" else None
    counts = dict(zip(USAGE_COLUMNS, row[-len(USAGE_COLUMNS) :], strict=True)) | {"events": row.events}
    parts = (
        row.since.isoformat(),
        row.user_id,
        row.account_id,
        row.purpose,
        row.model,
        str(row.sku_price_id),
        row.basis,
        *(place for place in (row.surface, row.region, row.prefix) if place is not None),
    )
    quantities = price_row.quantities(counts) if price_row else {}
    return Cell("\x1f".join(parts), row.since, group, price_row, quantities, int(row.contracted), row.surface, region)


def _price_rows(connection: Connection, ids: Iterable[int]) -> dict[int, PriceRow]:
    read: dict[int, list[Any]] = {}
    for row in connection.execute(_PRICE_ROWS, {"ids": sorted(ids)}):
        read.setdefault(row.sku_price_id, []).append(row)
    return {
        number: PriceRow(
            number,
            rows[0].model,
            rows[0].service_tier,
            {row.token_class: row.price for row in rows},
            frozenset(row.token_class for row in rows if row.fallback is None),
        )
        for number, rows in read.items()
    }


def units_of(token_class: str) -> int:
    """What a stated price of the class is for: a million tokens, or a thousand units."""
    return UNIT_CLASSES.get(token_class, 1_000_000)
