"""What is the first charge of each event in a batch? The stateless list and contracted cost, as columns beside the event."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from accounting.ledger.layers import Books, rate_books
from accounting.ledger.stage import SCHEMA
from accounting.money import EVENT_LIMIT, MINOR_SCALE, to_minor
from accounting.pricing.layout import Flags
from accounting.pricing.rate import Rated, RateInput
from accounting.pricing.reasons import INCONSISTENT, OVER_LIMIT, REASONS
from accounting.tenant import TenantContext
from accounting.usage.classes import USAGE_COLUMNS

Refusals = dict[int, tuple[str, str | None, str]]
REFUSED = {
    OVER_LIMIT: "costs more than 9,000 currency units, or counts more than 2^50: no single call does",
    INCONSISTENT: "has parts larger than their whole",
}
"""Reasons for which an event is not booked at all; every other reason leaves it booked and unpriced."""


def rate_input(batch: pa.RecordBatch) -> RateInput:
    """What rating reads of a prepared batch; response_model is priced where it is given."""
    return RateInput(
        provider=batch["provider"],
        model=pc.coalesce(batch["response_model"], batch["model"]),
        service_tier=batch["service_tier"],
        batch=batch["batch"].to_numpy(zero_copy_only=False),
        occurred_at=batch["occurred_at"].cast(pa.int64()).to_numpy(),
        quantities={name: batch[name].to_numpy().astype(np.int64) for name in USAGE_COLUMNS},
        cache_read_known=batch["cache_read_known"].to_numpy(zero_copy_only=False),
        surface=batch["surface"],
        region=batch["region"],
    )


def first_charges(batch: pa.RecordBatch, books: Books, context: TenantContext) -> tuple[pa.RecordBatch, Refusals]:
    """The batch in stage.SCHEMA, n rows, and the rows that can't be booked: row -> (field, value, reason).

    An event of a pool is pending settlement: its cost depends on what shared its pool. One of a deployment that is no pool of the
    tenant is unpriced until the pool is stated; the settlement run then charges it.
    """
    rated = rate_books(books, rate_input(batch))
    hosted = batch["deployment"].is_valid().to_numpy(zero_copy_only=False)
    missing = ~batch["usage_known"].to_numpy(zero_copy_only=False)
    unpriced = ((rated.reason != 0) | missing) & ~hosted
    stranger = hosted & _no_pool(batch, context)
    void_cost = pa.array(hosted | unpriced)
    waiting = hosted & ~stranger
    status = np.where(waiting, "pending_settlement", np.where(unpriced | stranger, "unpriced", "priced"))
    columns = {name: batch[name] for name in batch.schema.names}
    columns |= {
        "booking_period": pc.floor_temporal(batch["occurred_at"], unit="month").cast(pa.date32()),
        "revision": pa.array(np.zeros(batch.num_rows, np.int16)),
        "raw_index": pa.array(np.arange(batch.num_rows, dtype=np.int32)),
        "basis": pa.array(["price_list"] * batch.num_rows),
        "seller": pc.coalesce(rated.seller.cast(pa.string()), batch["provider"]),
        "charge_status": pa.array(status),
        "reason": _reasons(rated, waiting, stranger, missing),
        "sku_price_id": pc.if_else(void_cost, pa.scalar(None, pa.int64()), pa.array(rated.sku_price_id)),
        "list_cost_e15": list_costs(rated, void_cost),
        "contracted_cost_e15": pc.if_else(void_cost, pa.scalar(None, pa.int64()), pa.array(rated.contracted_cost)),
        "billing_currency": _currency(rated, void_cost, context),
        "list_sku_price_id": list_rows(rated, void_cost),
    }
    refused = np.flatnonzero(np.isin(rated.reason, list(REFUSED)) & ~hosted & ~missing).tolist()
    refusals: Refusals = {row: ("usage", _counts(batch, row), REFUSED[int(rated.reason[row])]) for row in refused}
    if context.reported_costs:
        booked = _booked_as_reported(batch, context) & ~hosted
        refusals |= _too_large(batch, booked)
        columns |= _reported(batch, columns, booked & ~np.isin(np.arange(batch.num_rows), list(refusals)))
    staged = pa.RecordBatch.from_arrays(
        [columns[name].cast(SCHEMA.field(name).type) for name in SCHEMA.names], schema=SCHEMA
    )
    return staged, refusals


def _booked_as_reported(batch: pa.RecordBatch, context: TenantContext) -> Flags:
    """Rows that state a cost of their own which the tenant's rule books."""
    keys = zip(batch["provider"].to_pylist(), batch["surface"].to_pylist(), strict=True)
    ruled = [context.books_reported(provider, surface) for provider, surface in keys]
    stated: Flags = batch["reported_cost_usd"].is_valid().to_numpy(zero_copy_only=False)
    return np.array(ruled, np.bool_) & stated


def _too_large(batch: pa.RecordBatch, booked: Flags) -> Refusals:
    found: Refusals = {}
    for row in np.flatnonzero(booked).tolist():
        text = batch["reported_cost_usd"][row].as_py()
        if Decimal(text).scaleb(MINOR_SCALE) > EVENT_LIMIT:
            found[row] = ("reported_cost_usd", text, REFUSED[OVER_LIMIT])
    return found


def _reported(batch: pa.RecordBatch, columns: dict[str, pa.Array], mask: Flags) -> dict[str, pa.Array]:
    """The columns where the provider's own cost is booked: contracted is what was reported, list stays what was calculated.

    What was calculated in another currency than the reported dollars can't stand beside them: such a row has no price row, as one
    that no tariff prices, and what was reported is its list cost too. A row of a contract for what the list doesn't price says
    nothing of the list: its list cost is null.
    """
    texts = batch["reported_cost_usd"].to_pylist()
    costs = [to_minor(text, "reported_cost_usd") if taken else None for text, taken in zip(texts, mask, strict=True)]
    reported, booked = pa.array(costs, pa.int64()), pa.array(mask)
    listed = columns["list_cost_e15"]
    foreign = pc.and_(booked, pc.not_equal(columns["billing_currency"], "USD"))
    own = pc.if_else(foreign, pa.scalar(None, pa.int64()), listed)
    rows = {
        name: pc.if_else(foreign, pa.scalar(None, pa.int64()), columns[name])
        for name in ("sku_price_id", "list_sku_price_id")
    }
    return {
        "basis": pc.if_else(booked, pa.scalar("reported"), columns["basis"]),
        "charge_status": pc.if_else(booked, pa.scalar("priced"), columns["charge_status"]),
        "reason": pc.if_else(booked, pa.scalar(None, pa.string()), columns["reason"]),
        "list_cost_e15": pc.if_else(booked, pc.if_else(rows["sku_price_id"].is_valid(), own, reported), listed),
        "contracted_cost_e15": pc.if_else(booked, reported, columns["contracted_cost_e15"]),
        "billing_currency": pc.if_else(booked, pa.scalar("USD"), columns["billing_currency"]),
        **rows,
    }


def _counts(batch: pa.RecordBatch, row: int) -> str:
    """The counts of one event as text, zeros left out."""
    stated = {name: batch[name][row].as_py() for name in USAGE_COLUMNS}
    return ", ".join(f"{name} {count}" for name, count in stated.items() if count)


_NAMES = pa.array([None, *REASONS[1:], "usage_missing", "self_hosted", "pool_unknown"], pa.string())
_USAGE_MISSING, _SELF_HOSTED, _POOL_UNKNOWN = len(_NAMES) - 3, len(_NAMES) - 2, len(_NAMES) - 1


def _no_pool(batch: pa.RecordBatch, context: TenantContext) -> Flags:
    """Rows whose deployment is no pool of the tenant; none where nobody looked for its pools."""
    if context.pools is None:
        return np.zeros(batch.num_rows, np.bool_)
    known: Flags = pc.is_in(batch["deployment"], value_set=pa.array(sorted(context.pools), pa.string())).to_numpy(
        zero_copy_only=False
    )
    return ~known


def _reasons(rated: Rated, waiting: Flags, stranger: Flags, missing: Flags) -> pa.Array:
    """Why a row has no cost, null where it has one."""
    hosted = np.where(waiting, _SELF_HOSTED, np.where(stranger, _POOL_UNKNOWN, 0))
    return reason_names(np.where(hosted != 0, hosted, np.where(missing, _USAGE_MISSING, rated.reason)))


def reason_names(codes: npt.NDArray[np.integer]) -> pa.Array:
    """Text of each reason code, null for a priced event."""
    return _NAMES.take(pa.array(codes.astype(np.int64)))


def list_costs(rated: Rated, void_cost: pa.Array) -> pa.Array:
    """List cost, null where there is none."""
    unknown = pc.or_(void_cost, pa.array(~rated.list_known))
    return pc.if_else(unknown, pa.scalar(None, pa.int64()), pa.array(rated.list_cost))


def list_rows(rated: Rated, void_cost: pa.Array) -> pa.Array:
    """The list's price row where it is another than the one paid by, null elsewhere."""
    same = pa.array((rated.list_sku_price_id == rated.sku_price_id) | ~rated.list_known)
    return pc.if_else(pc.or_(void_cost, same), pa.scalar(None, pa.int64()), pa.array(rated.list_sku_price_id))


def _currency(rated: Rated, void_cost: pa.Array, context: TenantContext) -> pa.Array:
    """Of the tariff where priced, else the tenant's, so that a line without a cost still belongs to one currency."""
    return pc.if_else(void_cost, pa.scalar(context.billing_currency), rated.currency.cast(pa.string()))
