"""How do settled lines get into the ledger fast? By COPY into a temporary table of the connection; those already there are left out."""

from __future__ import annotations

import json
from collections.abc import Sequence
from operator import attrgetter
from typing import Any

import psycopg
from sqlalchemy import Connection, text

from accounting.ledger import rollups
from accounting.ledger.booking import booked
from accounting.ledger.charge_line import NewCharge
from accounting.tenant import TenantContext

_FIELDS = tuple(name for name in NewCharge.__dataclass_fields__ if name != "details")
_VALUES = attrgetter(*_FIELDS)
_NAMES = ", ".join(["tenant", "run_id", "details", *("class" if name == "class_" else name for name in _FIELDS)])
_BOOKED = ", ".join(booked(name) if name == "booking_period" else name for name in _NAMES.split(", "))
_MAKE = "CREATE TEMP TABLE IF NOT EXISTS charge_stage (LIKE charges INCLUDING DEFAULTS) ON COMMIT DELETE ROWS"
_COPY = f"COPY charge_stage ({_NAMES}) FROM STDIN"
_INSERT = text(
    f"INSERT INTO charges ({_NAMES}) SELECT {_BOOKED} FROM charge_stage ORDER BY charge_id ON CONFLICT DO NOTHING "
    "RETURNING charge_id"
)


def append(connection: Connection, context: TenantContext, run_id: str, lines: Sequence[NewCharge]) -> int:
    """Appends lines with their rollups in the caller's transaction; returns how many were new."""
    rollups.lock(connection, context.tenant, exclusive=False)
    driver = connection.connection.driver_connection
    assert isinstance(driver, psycopg.Connection)
    driver.execute(_MAKE)
    driver.execute("DELETE FROM charge_stage")
    with driver.cursor().copy(_COPY) as copy:
        for line in lines:
            details: Any = None if line.details is None else json.dumps(line.details, allow_nan=False)
            copy.write_row((context.tenant, run_id, details, *_VALUES(line)))
    added = list(connection.execute(_INSERT).scalars())
    if added:
        rollups.add_lines(connection, context.reporting_tz, added)
    return len(added)
