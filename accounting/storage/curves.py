"""Which measured curves may a tenant use: its own and the shared ones, and how is one recorded?

A curve is never edited, because charges name it: the same file again changes nothing, another one under the same id is a conflict.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any

from sqlalchemy import Connection, Engine, Select, Text, cast, func, select
from sqlalchemy.dialects.postgresql import insert

from accounting.errors import Conflict, InvalidInput, NotFound
from accounting.selfhosted.curve import Curve
from accounting.selfhosted.curve_json import load_curve
from accounting.storage.engine import read_only, transaction
from accounting.storage.tables import curves
from accounting.tenant import TenantContext

LONGEST_ID = 256
_SHOWN = ("curve_id", "form", "model", "engine", "gpu", "measured_at", "floor", "behaviour_changing", "recorded_at")


def record_curve(engine: Engine, context: TenantContext, text: str, created_by: str) -> dict[str, Any]:
    """Keeps a curve file for a tenant.

    Returns what `list_curves` shows of it, and `created`: False where the same file was there.

    Raises InvalidInput naming the field, Conflict where the id is another file's, of this tenant or shared.
    """
    with transaction(engine, context.tenant) as connection:
        return _record(connection, context.tenant, text, created_by)


def record_shared_curve(owner_engine: Engine, text: str) -> dict[str, Any]:
    """The same for all tenants; only the owner's login can."""
    with transaction(owner_engine, "") as connection:
        return _record(connection, None, text, None)


def list_curves(engine: Engine, context: TenantContext) -> list[dict[str, Any]]:
    """Own and shared curves by id, without their files."""
    with read_only(engine, context.tenant) as connection:
        return [_shown(row) for row in connection.execute(select(curves).order_by(curves.c.curve_id))]


def curve_file(engine: Engine, context: TenantContext, curve_id: str) -> dict[str, Any]:
    """The file, as `load_curve` reads it. Raises NotFound."""
    with read_only(engine, context.tenant) as connection:
        row = connection.execute(_one(curve_id, curves.c.file)).first()
    if row is None:
        raise NotFound(f"curve_id={curve_id!r}: no such curve")
    file: dict[str, Any] = row.file
    return file


def recorded_curve(connection: Connection, curve_id: str) -> Curve:
    """The curve that a pool's settings name, of the transaction's tenant; they name none that is not recorded."""
    return load_curve(connection.execute(_one(curve_id, cast(curves.c.file, Text))).scalar_one())


def _one(curve_id: str, *columns: Any) -> Select[Any]:
    """A tenant's own curve stands before a shared one that was given the same id later."""
    found = select(*columns or (curves,)).where(curves.c.curve_id == curve_id)
    return found.order_by(curves.c.tenant.nulls_last()).limit(1)


def _record(connection: Connection, tenant: str | None, text: str, created_by: str | None) -> dict[str, Any]:
    curve = load_curve(text)
    header, file = curve.header, json.loads(text)
    if len(header.curve_id) > LONGEST_ID:
        raise InvalidInput("curve.curve_id", header.curve_id[:40], f"at most {LONGEST_ID} characters are kept")
    canonical = json.dumps(file, sort_keys=True, separators=(",", ":"))
    if "\\u0000" in canonical:
        raise InvalidInput("curve", "\\u0000", "a text with a zero character can't be stored")
    digest = hashlib.sha256(canonical.encode()).hexdigest()
    known = connection.execute(_one(header.curve_id)).first()
    if known is None:
        values = {name: getattr(header, name) for name in ("curve_id", "model", "engine", "gpu", "measured_at")}
        values |= {"floor": header.floor, "behaviour_changing": header.behaviour_changing, "form": curve.form}
        row = {**values, "tenant": tenant, "file_hash": digest, "file": file, "created_by": created_by}
        made = insert(curves).values(**row, recorded_at=func.now()).on_conflict_do_nothing().returning(curves)
        new = connection.execute(made).one_or_none()
        if new is not None:
            return {**_shown(new), "created": True}
        known = connection.execute(_one(header.curve_id)).one()
    if known.file_hash != digest:
        raise Conflict(f"curve_id={header.curve_id!r}: another curve has this id; a curve is never edited")
    return {**_shown(known), "created": False}


def _shown(row: Any) -> dict[str, Any]:
    return {name: getattr(row, name) for name in _SHOWN} | {"shared": row.tenant is None}
