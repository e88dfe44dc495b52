"""Where a provider states its own cost, which of the two is booked? A tenant's rules by provider and surface; default calculated."""

from __future__ import annotations

import re
from typing import Any

from sqlalchemy import Engine, Row, delete, func, select
from sqlalchemy.dialects.postgresql import insert

from accounting.errors import InvalidInput, NotFound
from accounting.storage.engine import read_only, transaction
from accounting.storage.tables import cost_basis_rules as rules
from accounting.tenant import TenantContext

BASES = ("price_list", "reported")
LONGEST = 256
NAME = re.compile("[^\\x00-\\x1f\\x7f]*")


def set_rule(engine: Engine, context: TenantContext, provider: str, surface: str, basis: str) -> dict[str, Any]:
    """Makes a rule or changes it; it decides what is booked from now on, and edits nothing booked before.

    Args:
        surface: '' for all of the provider; a rule of one surface goes before it.
        basis: `price_list`, the calculated cost, or `reported`, the one that the body states, where it states one.

    Raises InvalidInput.
    """
    for name, value, least in (("provider", provider, 1), ("surface", surface, 0)):
        if not least <= len(value) <= LONGEST or not NAME.fullmatch(value):
            raise InvalidInput(name, value, f"must be {least} to {LONGEST} characters, no control character among them")
    if basis not in BASES:
        raise InvalidInput("basis", basis, f"must be one of {', '.join(BASES)}")
    values = {"tenant": context.tenant, "provider": provider, "surface": surface, "basis": basis}
    made = insert(rules).values(**values, created_at=func.now())
    changed = made.on_conflict_do_update(
        index_elements=["tenant", "provider", "surface"],
        set_={"basis": made.excluded.basis, "created_at": func.now()},
        where=rules.c.basis != made.excluded.basis,
    )
    own = (rules.c.tenant == context.tenant) & (rules.c.provider == provider) & (rules.c.surface == surface)
    with transaction(engine, context.tenant) as connection:
        connection.execute(changed)
        return _shown(connection.execute(select(rules).where(own)).one())


def list_rules(engine: Engine, context: TenantContext) -> list[dict[str, Any]]:
    """All rules of a tenant, by provider and surface."""
    query = select(rules).where(rules.c.tenant == context.tenant).order_by(rules.c.provider, rules.c.surface)
    with read_only(engine, context.tenant) as connection:
        return [_shown(row) for row in connection.execute(query)]


def remove_rule(engine: Engine, context: TenantContext, provider: str, surface: str) -> dict[str, Any]:
    """Takes a rule away and returns what it was. Raises NotFound."""
    own = (rules.c.tenant == context.tenant) & (rules.c.provider == provider) & (rules.c.surface == surface)
    with transaction(engine, context.tenant) as connection:
        row = connection.execute(delete(rules).where(own).returning(rules)).one_or_none()
    if row is None:
        raise NotFound(f"provider={provider!r}, surface={surface!r}: no such rule")
    return _shown(row)


def _shown(row: Row[Any]) -> dict[str, Any]:
    since = row.created_at.isoformat().replace("+00:00", "Z")
    return {"provider": row.provider, "surface": row.surface, "basis": row.basis, "since": since}
