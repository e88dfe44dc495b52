"""How does a biller's file become bills of pool hours?

What it can't place is told row by row and amount by amount, and keeps none of the other rows back.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta

from sqlalchemy import Connection, Engine

from accounting.errors import InvalidInput
from accounting.ledger.pool_bill_news import Billed, Key, news
from accounting.money import format_plain, from_line
from accounting.selfhosted.imports.read_costs import ReadCosts
from accounting.selfhosted.pool import HOUR_US
from accounting.selfhosted.pool_settings import PoolSettings
from accounting.selfhosted.rates import moment
from accounting.selfhosted.schedule import Scheduled, schedule
from accounting.selfhosted.spread import HourCost, ImportedCost, spread
from accounting.storage import audit, pools
from accounting.storage.engine import transaction
from accounting.storage.pool_bills import FOCUS, BilledHour, append, begin, read_bills, read_unused
from accounting.tenant import TenantContext


def import_bills(
    engine: Engine, context: TenantContext, read: ReadCosts, source: str, source_id: str, actor: str
) -> Billed:
    """Books what was read as bills of its hours. Costs of pools that do not exist, or in another currency than the pool's, are added to
    the rejected rows of `read`."""
    with transaction(engine, context.tenant) as connection:
        # In its turn: a bill by schedule that was worked out without this one must not be recorded after it.
        at = begin(connection, context)
        audit.begin(connection, at)
        stated = pools.statements(connection)
        costs = _usable(read, stated)
        result = Billed()
        found = _spread(connection, stated, costs, result)
        currencies = {pool_id: versions[0].billing_currency for pool_id, versions in stated.items()}
        known = read_bills(connection, *_span((one.pool_id, moment(one.hour_us)) for one in found)) if found else {}
        bills = {
            key: _imported(one, currencies[one.pool_id], source, source_id)
            for one in found
            if _says_something(one, known.get(key := (one.pool_id, moment(one.hour_us))))
        }
        unused = _unused_imported(read, source_id, result) if source == FOCUS else {}
        if bills or unused:
            stood = read_unused(connection, *_span(unused)) if unused else {}
            new = [*news(bills, known, result, True, None), *news(unused, stood, result, True, None)]
            append(connection, context, new, actor, at)
            counts = {name: getattr(result, name) for name in ("written", "unchanged", "replaced")}
            audit.note(connection, context.tenant, at, actor, "pool.import_bills", source_id, after=counts)
        return result


def _span(keys: Iterable[Key]) -> tuple[datetime, datetime]:
    hours = [hour for _, hour in keys]
    return min(hours), max(hours) + timedelta(hours=1)


def _says_something(one: HourCost, known: BilledHour | None) -> bool:
    """An hour that a longer period names and has nothing for is news only where a bill with costs stands: it is superseded, as in every
    hour that a file names."""
    return not one.empty or (known is not None and known.amount != 0)


def _usable(read: ReadCosts, stated: Mapping[str, Sequence[PoolSettings]]) -> list[ImportedCost]:
    kept = []
    for cost in read.costs:
        currency = read.currencies[cost.line]
        if cost.pool_id not in stated:
            read.reject(cost.line, InvalidInput("pool", cost.pool_id, "no such pool of this tenant"))
        elif stated[cost.pool_id][0].billing_currency != currency:
            own = stated[cost.pool_id][0].billing_currency
            read.reject(cost.line, InvalidInput("currency", currency, f"the pool {cost.pool_id!r} is billed in {own}"))
        else:
            kept.append(cost)
    return kept


def _spread(
    connection: Connection, stated: Mapping[str, Sequence[PoolSettings]], costs: Sequence[ImportedCost], result: Billed
) -> list[HourCost]:
    if not costs:
        return []
    start = min(cost.start_us for cost in costs) // HOUR_US * HOUR_US
    end = max(cost.end_us for cost in costs)
    stretches: list[Scheduled] = schedule(stated, pools.members(connection, moment(start), moment(end)), start, end)
    hours, unplaced = spread(costs, stretches)
    result.unplaced += unplaced
    return hours


def _imported(one: HourCost, currency: str, source: str, source_id: str) -> BilledHour:
    parts = [{"resource": label, "amount": format_plain(from_line(units))} for label, units in one.parts.items()]
    return BilledHour(one.pool_id, moment(one.hour_us), one.amount, currency, one.gpu_us, source, source_id, parts)


def _unused_imported(read: ReadCosts, source_id: str, result: Billed) -> dict[Key, BilledHour]:
    """Unused parts of commitments by hour; a longer period is its hours alike."""
    currencies: dict[str, str] = {}
    costs = []
    for cost in read.unused:
        currency = read.currencies[cost.line]
        if currencies.setdefault(cost.pool_id, currency) == currency:
            costs.append(cost)
        else:
            reason = f"earlier rows of {cost.pool_id!r} are in {currencies[cost.pool_id]}"
            read.reject(cost.line, InvalidInput("BillingCurrency", currency, reason))
    hours, unplaced = spread(
        costs, [Scheduled(cost.pool_id, "", None, 1, cost.start_us, cost.end_us) for cost in costs]
    )
    result.unplaced += unplaced
    return {
        (one.pool_id, moment(one.hour_us)): BilledHour(
            one.pool_id, moment(one.hour_us), one.amount, currencies[one.pool_id], None, FOCUS, source_id, None
        )
        for one in hours
    }
