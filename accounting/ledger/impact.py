"""What would the recent workload have cost under other prices, or by another model at the same tokens? By feature and plan.

Thresholds make costs of single events unequal, so events are rated, not sums: in one pass of the re-pricing scan. The other side is what
the ledger holds. Settlement (volume tiers, commitments, credits) is left out of both.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from sqlalchemy import Engine

from accounting.errors import InvalidInput
from accounting.ledger.layers import Books, rate_books
from accounting.ledger.reprice_compare import rate_input
from accounting.ledger.reprice_scan import RepriceFilter, scan
from accounting.money import exact_sum, format_plain, from_minor
from accounting.pricing.layout import Flags, Ints
from accounting.reports.exact import percent
from accounting.revenue.plans import running
from accounting.storage.engine import read_only
from accounting.tenant import TenantContext

NO_PLAN, SEVERAL = "none", "several"
SAME_TOKENS = (
    "the same tokens are assumed: another model counts the same text in other tokens and answers at another length and effort; "
    "measure on a sample before you decide"
)
Key = tuple[str, str, str]


@dataclass
class _Sums:
    events: int = 0
    now: int = 0
    then: int = 0


@dataclass
class Impact:
    """Attributes:
    since, until: UTC, of the workload. read: events looked at.
    affected: events that the asked prices apply to. unpriced: affected events without a cost now, or under the asked prices.
    warnings: what the figures assume.
    """

    since: datetime
    until: datetime
    warnings: list[str]
    read: int = 0
    affected: int = 0
    unpriced: int = 0
    groups: dict[Key, _Sums] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """Lines by feature, plan and currency, largest change first, and totals; costs are plain decimals of affected events."""
        lines = [
            {"feature": key[0] or None, "plan": key[1], "billing_currency": key[2], **_costs(sums)}
            for key, sums in sorted(self.groups.items(), key=lambda item: (-abs(item[1].then - item[1].now), item[0]))
        ]
        totals: dict[str, _Sums] = {}
        for (_, _, currency), sums in self.groups.items():
            whole = totals.setdefault(currency, _Sums())
            whole.events += sums.events
            whole.now += sums.now
            whole.then += sums.then
        return {
            "from": self.since.isoformat().replace("+00:00", "Z"),
            "to": self.until.isoformat().replace("+00:00", "Z"),
            "events_read": self.read,
            "events_affected": self.affected,
            "events_unpriced": self.unpriced,
            "lines": lines,
            "totals": [{"billing_currency": currency, **_costs(sums)} for currency, sums in sorted(totals.items())],
            "warnings": self.warnings,
        }


def impact(
    engine: Engine,
    context: TenantContext,
    books: Books,
    since: datetime,
    until: datetime,
    *,
    models: Mapping[str, str] | None = None,
    where: RepriceFilter | None = None,
) -> Impact:
    """Rates the events of [since, until) by other prices and compares with what the ledger holds.

    Args:
        books: the book of the prices asked about (impact_books.py); with `models`, the tenant's own books.
        models: logged model -> the one to rate in its place, `model` or `provider/model`; only its events are then affected.

    Only events that `books` prices are affected: every other one costs what it does. Raises InvalidInput for an empty period.
    """
    if until <= since:
        raise InvalidInput("to", until.isoformat(), f"must be after from {since.isoformat()}")
    found = Impact(since, until, [SAME_TOKENS] if models else [])
    with read_only(engine, context.tenant) as connection:
        plans = _plans([(one.user_id, one.plan) for one in running(connection, context, since.date(), until.date())])
        for chunk in scan(connection, context.tenant, since, until, where or RepriceFilter()):
            _add(found, chunk, books, models, plans)
    return found


def _add(
    found: Impact, chunk: pa.RecordBatch, books: Books, models: Mapping[str, str] | None, plans: Mapping[str, str]
) -> None:
    given = rate_input(chunk)
    swapped = np.ones(chunk.num_rows, np.bool_)
    if models:
        provider, model, swapped = _swapped(chunk, models)
        given = replace(given, provider=provider, model=model)
    rated = rate_books(books, given)
    priced = rated.reason == 0
    affected = swapped & priced if not models else swapped
    held: Flags = pc.equal(chunk["charge_status"].cast(pa.string()), "priced").to_numpy(zero_copy_only=False)
    same = pc.fill_null(pc.equal(chunk["billing_currency"].cast(pa.string()), rated.currency.cast(pa.string())), False)
    comparable = affected & held & priced & same.to_numpy(zero_copy_only=False)
    found.read += chunk.num_rows
    found.affected += int(affected.sum())
    found.unpriced += int((affected & ~comparable).sum())
    (rows,) = comparable.nonzero()
    if rows.size:
        now = pc.fill_null(chunk["contracted_cost_e15"], 0).to_numpy(zero_copy_only=False)
        _group(found, chunk.take(pa.array(rows)), now[rows], rated.contracted_cost[rows], plans)


def _group(found: Impact, events: pa.RecordBatch, now: Ints, then: Ints, plans: Mapping[str, str]) -> None:
    users = events["user_id"].cast(pa.string()).to_pylist()
    frame = pd.DataFrame(
        {
            "feature": pc.fill_null(events["feature"].cast(pa.string()), "").to_pandas(),
            "plan": [plans.get(user, NO_PLAN) for user in users],
            "currency": events["billing_currency"].cast(pa.string()).to_pandas(),
        }
    )
    number = frame.groupby(list(frame.columns), sort=False).ngroup().to_numpy()
    for place, key in enumerate(frame.drop_duplicates().itertuples(index=False, name=None)):
        rows = number == place
        sums = found.groups.setdefault((str(key[0]), str(key[1]), str(key[2])), _Sums())
        sums.events += int(rows.sum())
        sums.now += exact_sum(now[rows])
        sums.then += exact_sum(then[rows])


def _swapped(chunk: pa.RecordBatch, models: Mapping[str, str]) -> tuple[pa.Array, pa.Array, Flags]:
    """Provider and model with the named ones replaced, and where they were."""
    provider, model = (chunk[name].cast(pa.string()).to_pylist() for name in ("provider", "model"))
    wanted = {name.lower(): other for name, other in models.items()}
    swapped = np.zeros(len(model), np.bool_)
    for row, name in enumerate(model):
        other = wanted.get(name.lower())
        if other is not None:
            seller, slash, rest = other.partition("/")
            provider[row], model[row] = (seller, rest) if slash else (provider[row], other)
            swapped[row] = True
    return pa.array(provider, pa.string()), pa.array(model, pa.string()), swapped


def _plans(subscribed: list[tuple[str, str]]) -> dict[str, str]:
    """User -> plan; `several` where a user has more than one."""
    found: dict[str, str] = {}
    for user, plan in subscribed:
        found[user] = plan if found.get(user, plan) == plan else SEVERAL
    return found


def _costs(sums: _Sums) -> dict[str, Any]:
    now, then = from_minor(sums.now), from_minor(sums.then)
    change: Decimal | None = percent(then - now, now)
    return {
        "events": sums.events,
        "cost_now": format_plain(now),
        "cost_then": format_plain(then),
        "difference": format_plain(from_minor(sums.then - sums.now)),
        "difference_percent": None if change is None else format_plain(change),
    }
