"""Which booked events would cost something else by the price book of now? Whole columns in, the changed rows out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from sqlalchemy import Connection, text

from accounting.ledger.first_charge import REFUSED, list_costs, list_rows, reason_names
from accounting.ledger.layers import Books, rate_books
from accounting.ledger.reprice_plan import CAUSES, COSTS, SHOWN, Change, Key, RepricePlan, minor
from accounting.pricing.layout import Flags, Ints
from accounting.pricing.rate import Rated, RateInput
from accounting.usage.classes import USAGE_COLUMNS

NOW_PRICED, BACK_DATED, NEW_ROW, WITHDRAWN, CONTRACT, ALIAS = range(len(CAUSES))
_NAME_REASONS = ("unknown_model", "unknown_seller")
_RECORDED = text(
    "SELECT sku_price_id, seller || '/' || model AS model, recorded_at FROM tariffs WHERE sku_price_id = ANY(:ids)"
)


@dataclass(frozen=True)
class Changed:
    """The events of a chunk that would cost something else, m of them.

    Attributes:
        held: their rows of the chunk, reprice_scan.SCHEMA.
        rated: what each costs now: charge_status, seller, billing_currency, sku_price_id, list_sku_price_id, list_cost_e15,
            contracted_cost_e15, reason; null as first charges are.
        cause: place in CAUSES, shape (m,).
    """

    held: pa.RecordBatch
    rated: pa.RecordBatch
    cause: npt.NDArray[np.int8]


class Comparison:
    """Compares chunks with the books; remembers when price rows were recorded."""

    def __init__(self, connection: Connection, books: Books) -> None:
        self._connection = connection
        self._books = books
        self._recorded: dict[int, tuple[str, int]] = {}

    def compare(self, chunk: pa.RecordBatch, plan: RepricePlan) -> Changed:
        """The changed events of a chunk; adds what was read to the plan, and the changes."""
        rated = rate_books(self._books, rate_input(chunk))
        now = _now(chunk, rated)
        held_priced = _flags(pc.equal(chunk["charge_status"].cast(pa.string()), "priced"))
        priced = _flags(pc.equal(now["charge_status"], "priced"))
        refused = np.isin(rated.reason, list(REFUSED)) & ~_flags(pc.equal(chunk["basis"].cast(pa.string()), "reported"))
        differs = held_priced != priced
        for name in ("list_cost_e15", "contracted_cost_e15"):
            differs |= held_priced & priced & (_ints(chunk[name], -1) != _ints(now[name], -1))
        for name in ("billing_currency", "seller"):
            same = pc.equal(chunk[name].cast(pa.string()), now[name])
            differs |= held_priced & priced & ~_flags(same)
        plan.read += chunk.num_rows
        plan.unpriced += int((~held_priced & ~priced).sum())
        plan.refused += int((differs & refused).sum())
        (rows,) = (differs & ~refused).nonzero()
        held, found = chunk.take(pa.array(rows)), now.take(pa.array(rows))
        changed = Changed(held, found, self._causes(held, found, held_priced[rows], priced[rows]))
        _add(plan, changed, held_priced[rows], priced[rows])
        return changed

    def _causes(self, held: pa.RecordBatch, now: pa.RecordBatch, was: Flags, priced: Flags) -> npt.NDArray[np.int8]:
        cause = np.full(len(was), NEW_ROW, np.int8)
        if not cause.size:
            return cause
        listed = pc.coalesce(now["list_sku_price_id"], now["sku_price_id"])
        held_listed = pc.coalesce(held["list_sku_price_id"], held["sku_price_id"])
        new_ids, old_ids = _ints(listed, 0), _ints(held_listed, 0)
        self._look_up({*np.unique(new_ids).tolist(), *np.unique(old_ids).tolist()} - {0})
        recorded = self._by_row(new_ids, lambda known: known[1], np.int64(0))
        models = {model: at for at, model in enumerate({model for model, _ in self._recorded.values()}, 1)}
        new_model = self._by_row(new_ids, lambda known: models[known[0]], np.int64(0))
        old_model = self._by_row(old_ids, lambda known: models[known[0]], np.int64(0))
        unnamed = _flags(pc.is_in(held["reason"].cast(pa.string()), pa.array(_NAME_REASONS)))
        late = recorded > _ints(held["occurred_at"].cast(pa.int64()), 0)
        same_list = _ints(held["list_cost_e15"], -1) == _ints(now["list_cost_e15"], -1)
        cause[~was] = NOW_PRICED
        cause[~was & unnamed] = ALIAS
        cause[late] = BACK_DATED
        cause[was & priced & (new_model != old_model) & (new_model > 0) & (old_model > 0)] = ALIAS
        cause[was & priced & same_list] = CONTRACT
        cause[~priced] = WITHDRAWN
        return cause

    def _look_up(self, ids: set[int]) -> None:
        missing = sorted(ids - self._recorded.keys())
        if not missing:
            return
        for row in self._connection.execute(_RECORDED, {"ids": missing}):
            self._recorded[row.sku_price_id] = (row.model, int(row.recorded_at.timestamp() * 1_000_000))

    def _by_row(self, ids: Ints, value: object, none: np.int64) -> Ints:
        distinct, at = np.unique(ids, return_inverse=True)
        known = [self._recorded.get(one) for one in distinct.tolist()]
        values = np.array([none if one is None else value(one) for one in known], np.int64)  # type: ignore[operator]
        return np.asarray(values[at])


def rate_input(chunk: pa.RecordBatch) -> RateInput:
    """What rating reads of a chunk of reprice_scan.SCHEMA."""
    return RateInput(
        provider=chunk["provider"],
        model=chunk["model"],
        service_tier=chunk["service_tier"],
        batch=_flags(chunk["batch"]),
        occurred_at=_ints(chunk["occurred_at"].cast(pa.int64()), 0),
        quantities={name: chunk[name].to_numpy(zero_copy_only=False) for name in USAGE_COLUMNS},
        cache_read_known=_flags(chunk["cache_read_known"]),
        surface=chunk["surface"],
        region=chunk["region"],
    )


def _now(chunk: pa.RecordBatch, rated: Rated) -> pa.RecordBatch:
    """What each event of the chunk costs now, in the columns of `Changed.rated`."""
    reported = pc.equal(chunk["basis"].cast(pa.string()), "reported")
    held_currency, currency = chunk["billing_currency"].cast(pa.string()), rated.currency.cast(pa.string())
    # A reported cost stays in its currency; what is calculated in another one can't stand beside it.
    foreign = pc.and_(reported, pc.fill_null(pc.not_equal(currency, held_currency), False))
    unpriced = pc.or_(pa.array(rated.reason != 0), foreign)
    listed = list_costs(rated, unpriced)
    contracted = pc.if_else(unpriced, pa.scalar(None, pa.int64()), pa.array(rated.contracted_cost))
    columns = {
        "charge_status": pc.if_else(pc.and_(unpriced, pc.invert(reported)), "unpriced", "priced"),
        "seller": pc.coalesce(rated.seller.cast(pa.string()), chunk["provider"].cast(pa.string())),
        "billing_currency": pc.if_else(pc.or_(unpriced, reported), held_currency, currency),
        "sku_price_id": pc.if_else(unpriced, pa.scalar(None, pa.int64()), pa.array(rated.sku_price_id)),
        "list_sku_price_id": list_rows(rated, unpriced),
        # A reported cost stays what was reported; only the list cost beside it is calculated (first_charge.py).
        "list_cost_e15": pc.if_else(pc.and_(reported, unpriced), chunk["contracted_cost_e15"], listed),
        "contracted_cost_e15": pc.if_else(reported, chunk["contracted_cost_e15"], contracted),
        "reason": pc.if_else(reported, pa.scalar(None, pa.string()), reason_names(rated.reason)),
    }
    return pa.RecordBatch.from_pydict(columns)


def _add(plan: RepricePlan, changed: Changed, was: Flags, priced: Flags) -> None:
    """Adds the changes to the plan's sums and, while there are few, by themselves."""
    held, now, count = changed.held, changed.rated, changed.held.num_rows
    plan.changed += count
    if not count:
        return
    costs = {
        "old_list_cost": _ints(held["list_cost_e15"], 0) * was,
        "old_contracted_cost": _ints(held["contracted_cost_e15"], 0) * was,
        "new_list_cost": _ints(now["list_cost_e15"], 0) * priced,
        "new_contracted_cost": _ints(now["contracted_cost_e15"], 0) * priced,
    }
    old_currency, new_currency = held["billing_currency"].cast(pa.string()), now["billing_currency"]
    moved = was & priced & ~_flags(pc.equal(old_currency, new_currency))
    currency = pc.if_else(pa.array(priced), new_currency, old_currency)
    _add_groups(plan, changed, currency, was & ~moved, priced, _only(costs, moved, "new_"))
    if moved.any():
        rows = pa.array(moved.nonzero()[0])
        part = Changed(held.take(rows), now.take(rows), changed.cause[moved])
        left = {name: values[moved] for name, values in _only(costs, moved, "old_").items()}
        never = np.zeros(part.held.num_rows, np.bool_)
        _add_groups(plan, part, old_currency.take(rows), ~never, never, left)
    for row in range(min(count, SHOWN - len(plan.changes))):
        plan.changes.append(_change(changed, row))


def _only(costs: Mapping[str, Ints], moved: Flags, kept: str) -> dict[str, Ints]:
    """Costs of events that move to another currency: the old ones count there, the new ones here."""
    return {name: values if name.startswith(kept) else values * ~moved for name, values in costs.items()}


def _add_groups(
    plan: RepricePlan, changed: Changed, currency: pa.Array, was: Flags, priced: Flags, costs: dict[str, Ints]
) -> None:
    frame = pd.DataFrame(
        {
            "model": changed.held["model"].cast(pa.string()).to_pandas(),
            "user": pc.fill_null(changed.held["user_id"].cast(pa.string()), "").to_pandas(),
            "cause": changed.cause,
            "currency": currency.to_pandas(),
            "was": was,
            "priced": priced,
        }
    )
    grouped = frame.groupby(list(frame.columns), sort=False, observed=True)
    number = grouped.ngroup().to_numpy().astype(np.int64)
    first = frame.loc[~frame.duplicated()]
    columns = (first[name].tolist() for name in ("model", "user", "currency", "was", "priced"))
    causes = [CAUSES[cause] for cause in first["cause"].tolist()]
    keys: list[Key] = [
        (model, user, cause, of, had, has)
        for cause, (model, user, of, had, has) in zip(causes, zip(*columns, strict=True), strict=True)
    ]
    assert set(costs) == set(COSTS)
    plan.add(keys, number, costs)


def _change(changed: Changed, row: int) -> Change:
    held = {name: changed.held[name][row].as_py() for name in changed.held.schema.names if name not in USAGE_COLUMNS}
    now = {name: changed.rated[name][row].as_py() for name in changed.rated.schema.names}
    occurred_at: datetime = held["occurred_at"]
    return Change(
        event_id=held["event_id"],
        occurred_at=occurred_at.astimezone(UTC),
        model=held["model"],
        user_id=held["user_id"],
        cause=CAUSES[int(changed.cause[row])],
        old_status=held["charge_status"],
        new_status=now["charge_status"],
        old_currency=held["billing_currency"],
        new_currency=now["billing_currency"],
        old_contracted_cost=minor(held["contracted_cost_e15"]) if held["charge_status"] == "priced" else None,
        new_contracted_cost=minor(now["contracted_cost_e15"]),
    )


def _flags(values: pa.Array | pa.ChunkedArray) -> Flags:
    found: Flags = pc.fill_null(values, False).to_numpy(zero_copy_only=False)
    return found


def _ints(values: pa.Array, none: int) -> Ints:
    found: Ints = pc.fill_null(values, none).to_numpy(zero_copy_only=False)
    return found
