"""What does a GPU-hour cost a tenant, who says so, and which imported prices wait for a person? Append-only, like price rows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import Connection, Engine, insert, text

from accounting.errors import Conflict, InvalidInput, NotFound
from accounting.selfhosted.rate_json import rate_of, rate_to_json, terms_json
from accounting.selfhosted.rates import GpuRate
from accounting.storage import audit
from accounting.storage.engine import read_only, transaction
from accounting.storage.price_records import EVER
from accounting.storage.tables import gpu_rates
from accounting.tenant import TenantContext

STATED, PROPOSED, REFUSED, WITHDRAWN = "stated", "proposed", "refused", "withdrawn"
_NEWEST = text(
    """
    SELECT DISTINCT ON (rate_id, effective_from) * FROM gpu_rates WHERE recorded_at <= :known_at
    ORDER BY rate_id, effective_from, recorded_at DESC, record_id DESC
    """
)


def in_force(connection: Connection, known_at: datetime | None = None) -> dict[str, list[GpuRate]]:
    """rate_id -> its dated versions in force, as believed at a moment; of the transaction's tenant."""
    found: dict[str, list[GpuRate]] = {}
    for row in _rows(connection, known_at):
        if row.state == STATED:
            found.setdefault(row.rate_id, []).append(_rate(row))
    return found


def listed(
    engine: Engine, context: TenantContext, state: str = STATED, gpu: str | None = None, kind: str | None = None
) -> list[dict[str, Any]]:
    """Rates of one state as JSON, by id and date. `gpu`: a part of its name, in any case."""
    with read_only(engine, context.tenant) as connection:
        return [
            _json(row)
            for row in _rows(connection)
            if row.state == state
            and (gpu is None or gpu.lower() in row.gpu.lower())
            and kind in (None, row.kind)
        ]  # fmt: skip


def record_rate(engine: Engine, context: TenantContext, rate: GpuRate, actor: str) -> bool:
    """States a rate from a date on, or that date's anew. False: the same stands there already.

    Raises Conflict where held capacity (reserved, owned) would be cut short by another version of its id.
    """
    with transaction(engine, context.tenant) as connection:
        moment = audit.begin(connection)
        known = {row.effective_from: row for row in _rows(connection) if row.rate_id == rate.rate_id}
        old = known.pop(rate.effective_from, None)
        if old is not None and old.state == STATED and _rate(old) == rate:
            return False
        for row in known.values():
            if row.state == STATED:
                _refuse_cut(*sorted((rate, _rate(row)), key=lambda one: one.effective_from))
        _append(connection, context, rate, STATED, actor, moment, approved_by=actor)
        before = None if old is None else _json(old)
        audit.note(
            connection, context.tenant, moment, actor, "gpu_rate.record", rate.rate_id, before, rate_to_json(rate)
        )
    return True


def propose_rates(engine: Engine, context: TenantContext, rates: Sequence[GpuRate], actor: str) -> dict[str, list[str]]:
    """Keeps imported rates as candidates; nothing comes into force or leaves it. Returns ids by what became of them.

    new: now waits for a decision. known: there already with the same terms, whatever was decided about it. differs: of that id and date
    other terms are in force, which stay; state the rate by hand to change it.
    """
    found: dict[str, list[str]] = {"new": [], "known": [], "differs": []}
    with transaction(engine, context.tenant) as connection:
        moment = audit.begin(connection)
        known = {(row.rate_id, row.effective_from): (row.state, _rate(row)) for row in _rows(connection)}
        for rate in rates:
            key = (rate.rate_id, rate.effective_from)
            state, old = known.get(key, (None, None))
            if old is not None and old.same_terms(rate):
                found["known"].append(rate.rate_id)
            elif state == STATED:
                found["differs"].append(rate.rate_id)
            else:
                _append(connection, context, rate, PROPOSED, actor, moment)
                known[key] = (PROPOSED, rate)
                found["new"].append(rate.rate_id)
        if found["new"]:
            source = ", ".join(sorted({rate.source for rate in rates}))
            counts = {name: len(ids) for name, ids in found.items()}
            audit.note(connection, context.tenant, moment, actor, "gpu_rate.import", source[:200], after=counts)
    return found


def decide(
    engine: Engine, context: TenantContext, decision: str, rate_ids: Iterable[str], actor: str
) -> list[dict[str, Any]]:
    """Puts all candidates of these ids in force (`approve`) or leaves them out (`refuse`); all of them or none. Raises NotFound."""
    states = {"approve": STATED, "refuse": REFUSED}
    if decision not in states:
        raise InvalidInput("decision", decision, "approve or refuse is expected")
    wanted = sorted(set(rate_ids))
    with transaction(engine, context.tenant) as connection:
        moment = audit.begin(connection)
        waiting: dict[str, list[Any]] = {}
        for row in _rows(connection):
            if row.state == PROPOSED:
                waiting.setdefault(row.rate_id, []).append(row)
        for rate_id in wanted:
            if rate_id not in waiting:
                raise NotFound(f"rate_id={rate_id!r}: no candidate of this id waits for a decision")
        for rate_id in wanted:
            for row in waiting[rate_id]:
                _append(connection, context, _rate(row), states[decision], actor, moment, approved_by=actor)
            audit.note(connection, context.tenant, moment, actor, f"gpu_rate.{decision}", rate_id)
        return [_json(row) for row in _rows(connection) if row.rate_id in wanted and row.state == states[decision]]


def withdraw_rate(engine: Engine, context: TenantContext, rate_id: str, since: datetime, actor: str) -> None:
    """Takes a rate of a date back as never right; bills made by it stay until they are made again. Raises NotFound."""
    with transaction(engine, context.tenant) as connection:
        moment = audit.begin(connection)
        rows = [
            row for row in _rows(connection) if (row.rate_id, row.effective_from, row.state) == (rate_id, since, STATED)
        ]
        if not rows:
            raise NotFound(f"rate_id={rate_id!r}: nothing is stated of it from {since.isoformat()} on")
        _append(connection, context, _rate(rows[0]), WITHDRAWN, actor, moment, approved_by=actor)
        audit.note(connection, context.tenant, moment, actor, "gpu_rate.withdraw", rate_id, _json(rows[0]))


def _refuse_cut(earlier: GpuRate, later: GpuRate) -> None:
    """A term or a card in service is not replaced half way: what is left of it would be lost."""
    if not earlier.held:
        return
    if earlier.effective_until is None or earlier.effective_until > later.effective_from:
        until = "an end" if earlier.effective_until is None else earlier.effective_until.isoformat()
        raise Conflict(
            f"effective_from={later.effective_from.isoformat()!r}: the {earlier.kind} capacity {earlier.rate_id!r} of "
            f"{earlier.effective_from.isoformat()} lasts until {until}; state its end first, or another rate_id"
        )


def _rows(connection: Connection, known_at: datetime | None = None) -> list[Any]:
    return list(connection.execute(_NEWEST, {"known_at": known_at or EVER}))


def _rate(row: Any) -> GpuRate:
    return rate_of(
        row.terms,
        rate_id=row.rate_id,
        kind=row.kind,
        gpu=row.gpu,
        billing_currency=row.billing_currency,
        effective_from=row.effective_from.astimezone(UTC),
        effective_until=None if row.effective_until is None else row.effective_until.astimezone(UTC),
        source=row.source,
        checked_on=row.checked_on,
    )


def _append(
    connection: Connection,
    context: TenantContext,
    rate: GpuRate,
    state: str,
    actor: str,
    at: datetime,
    approved_by: str | None = None,
) -> None:
    plain = ("rate_id", "effective_from", "effective_until", "kind", "gpu", "billing_currency", "source", "checked_on")
    row = {name: getattr(rate, name) for name in plain} | {"terms": terms_json(rate), "tenant": context.tenant}
    row |= {"state": state, "created_by": actor, "approved_by": approved_by, "recorded_at": at}
    connection.execute(insert(gpu_rates).values(row))


def _json(row: Any) -> dict[str, Any]:
    recorded = row.recorded_at.isoformat().replace("+00:00", "Z")
    said = {name: getattr(row, name) for name in ("state", "created_by", "approved_by")}
    return rate_to_json(_rate(row)) | said | {"recorded_at": recorded}
