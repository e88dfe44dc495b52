"""What is the first charge of each event in a batch? The stateless list and contracted cost, as columns beside the event."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from accounting.ledger.stage import SCHEMA
from accounting.money import to_minor
from accounting.pricing.book import PriceBook
from accounting.pricing.layout import Flags
from accounting.pricing.rate import Rated, RateInput, rate
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
    )


def first_charges(batch: pa.RecordBatch, book: PriceBook, context: TenantContext) -> tuple[pa.RecordBatch, Refusals]:
    """The batch in stage.SCHEMA, n rows, and the rows that can't be booked: row -> (field, value, reason).

    An event of a deployment is pending settlement: its cost depends on what shared its pool.
    """
    rated = rate(book, rate_input(batch))
    hosted = batch["deployment"].is_valid().to_numpy(zero_copy_only=False)
    missing = ~batch["usage_known"].to_numpy(zero_copy_only=False)
    unpriced = ((rated.reason != 0) | missing) & ~hosted
    void_cost = pa.array(hosted | unpriced)
    status = np.where(hosted, "pending_settlement", np.where(unpriced, "unpriced", "priced"))
    columns = {name: batch[name] for name in batch.schema.names}
    columns |= {
        "booking_period": pc.floor_temporal(batch["occurred_at"], unit="month").cast(pa.date32()),
        "revision": pa.array(np.zeros(batch.num_rows, np.int16)),
        "raw_index": pa.array(np.arange(batch.num_rows, dtype=np.int32)),
        "basis": pa.array(["price_list"] * batch.num_rows),
        "seller": pc.coalesce(rated.seller.cast(pa.string()), batch["provider"]),
        "charge_status": pa.array(status),
        "reason": _reasons(rated, hosted, missing),
        "sku_price_id": pc.if_else(void_cost, pa.scalar(None, pa.int64()), pa.array(rated.sku_price_id)),
        "list_cost_e15": pc.if_else(void_cost, pa.scalar(None, pa.int64()), pa.array(rated.list_cost)),
        "contracted_cost_e15": pc.if_else(void_cost, pa.scalar(None, pa.int64()), pa.array(rated.contracted_cost)),
        "billing_currency": _currency(rated, void_cost, context),
    }
    if context.reported_costs:
        columns |= _reported(batch, columns, context, hosted)
    staged = pa.RecordBatch.from_arrays(
        [columns[name].cast(SCHEMA.field(name).type) for name in SCHEMA.names], schema=SCHEMA
    )
    refused = np.flatnonzero(np.isin(rated.reason, list(REFUSED)) & ~hosted & ~missing).tolist()
    return staged, {row: ("usage", _counts(batch, row), REFUSED[int(rated.reason[row])]) for row in refused}


def _reported(
    batch: pa.RecordBatch, columns: dict[str, pa.Array], context: TenantContext, hosted: Flags
) -> dict[str, pa.Array]:
    """Where the tenant books the provider's own cost: contracted is what was reported, list stays what was calculated."""
    keys = zip(batch["provider"].to_pylist(), batch["surface"].to_pylist(), strict=True)
    ruled = np.array([context.books_reported(provider, surface) for provider, surface in keys], np.bool_)
    mask = ruled & ~hosted & batch["reported_cost_usd"].is_valid().to_numpy(zero_copy_only=False)
    texts = batch["reported_cost_usd"].to_pylist()
    costs = pa.array(
        [to_minor(texts[row], "reported_cost_usd") if mask[row] else None for row in range(len(texts))], pa.int64()
    )
    booked = pa.array(mask)
    nothing = pa.scalar(None, pa.string())
    return {
        "basis": pc.if_else(booked, pa.scalar("reported"), columns["basis"]),
        "charge_status": pc.if_else(booked, pa.scalar("priced"), columns["charge_status"]),
        "reason": pc.if_else(booked, nothing, columns["reason"]),
        "list_cost_e15": pc.if_else(booked, pc.coalesce(columns["list_cost_e15"], costs), columns["list_cost_e15"]),
        "contracted_cost_e15": pc.if_else(booked, costs, columns["contracted_cost_e15"]),
        "billing_currency": pc.if_else(booked, pa.scalar("USD"), columns["billing_currency"]),
    }


def _counts(batch: pa.RecordBatch, row: int) -> str:
    """The counts of one event as text, zeros left out."""
    stated = {name: batch[name][row].as_py() for name in USAGE_COLUMNS}
    return ", ".join(f"{name} {count}" for name, count in stated.items() if count)


_NAMES = pa.array([None, *REASONS[1:], "usage_missing", "self_hosted"], pa.string())
_USAGE_MISSING, _SELF_HOSTED = len(_NAMES) - 2, len(_NAMES) - 1


def _reasons(rated: Rated, hosted: Flags, missing: Flags) -> pa.Array:
    """Why a row has no cost, null where it has one."""
    codes = np.where(hosted, _SELF_HOSTED, np.where(missing, _USAGE_MISSING, rated.reason))
    return _NAMES.take(pa.array(codes.astype(np.int64)))


def _currency(rated: Rated, void_cost: pa.Array, context: TenantContext) -> pa.Array:
    """Of the tariff where priced, else the tenant's, so that a line without a cost still belongs to one currency."""
    return pc.if_else(void_cost, pa.scalar(context.billing_currency), rated.currency.cast(pa.string()))
