"""On which line of the statement does the cost of a purpose stand, from which day on? A tenant's dated rows before the default ones."""

from __future__ import annotations

from datetime import date
from typing import Any, get_args

from sqlalchemy import Engine, select
from sqlalchemy.dialects.postgresql import insert

from accounting.errors import InvalidInput
from accounting.revenue.subscriptions import day_of
from accounting.storage.engine import read_only, transaction
from accounting.storage.tables import purpose_policies
from accounting.tenant import TenantContext
from accounting.usage.native import Purpose

LINES = ("cost_of_revenue", "research_and_development", "sales_and_marketing", "internal")
POOL_PURPOSES = ("pool_idle", "pool_gap", "unused_capacity")
"""What pools and held capacity cost beside requests: no user's, and what serving users takes all the same."""
PURPOSES: tuple[str, ...] = (*get_args(Purpose), *POOL_PURPOSES)


def put_purpose(
    engine: Engine, context: TenantContext, purpose: str, statement_line: str, effective_from: date | str
) -> dict[str, Any]:
    """States the line of a purpose from a day on, or states it anew for the same day; reports of earlier days stay as they were.

    Raises InvalidInput for another purpose, line or day.
    """
    if purpose not in PURPOSES:
        raise InvalidInput("purpose", purpose, f"one of {', '.join(PURPOSES)} is expected")
    if statement_line not in LINES:
        raise InvalidInput("statement_line", statement_line, f"one of {', '.join(LINES)} is expected")
    day = day_of("effective_from", effective_from)
    values = {"tenant": context.tenant, "purpose": purpose, "effective_from": day, "statement_line": statement_line}
    statement = insert(purpose_policies).values(values)
    with transaction(engine, context.tenant) as connection:
        connection.execute(
            statement.on_conflict_do_update(
                index_elements=["tenant", "purpose", "effective_from"], set_={"statement_line": statement_line}
            )
        )
    return _json(True, purpose, day, statement_line)


def list_purposes(engine: Engine, context: TenantContext) -> list[dict[str, Any]]:
    """The tenant's own rows and the default ones: {"purpose", "effective_from", "statement_line", "own"}, by purpose and day."""
    table = purpose_policies.c
    query = select(table.tenant, table.purpose, table.effective_from, table.statement_line)
    with read_only(engine, context.tenant) as connection:
        rows = connection.execute(query.order_by(table.purpose, table.effective_from, table.tenant)).all()
    return [_json(row.tenant is not None, row.purpose, row.effective_from, row.statement_line) for row in rows]


def _json(own: bool, purpose: str, day: date, line: str) -> dict[str, Any]:
    return {"purpose": purpose, "effective_from": day.isoformat(), "statement_line": line, "own": own}
