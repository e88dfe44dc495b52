"""By which rule does revenue of an account reach its users, from which day on? A dated setting of the tenant."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from typing import Any

from sqlalchemy import Connection, Engine, select
from sqlalchemy.dialects.postgresql import insert

from accounting.errors import InvalidInput
from accounting.revenue.subscriptions import day_of
from accounting.storage.engine import read_only, transaction
from accounting.storage.tables import account_revenue_rules
from accounting.tenant import TenantContext

RULES = ("account", "seats", "use")
DEFAULT = "account"
"""In force before the first dated rule: revenue stays on the account's row."""


def put_account_rule(engine: Engine, context: TenantContext, rule: str, effective_from: date | str) -> dict[str, str]:
    """States the rule from a day on, or states it anew for the same day. Raises InvalidInput for another rule or day."""
    if rule not in RULES:
        raise InvalidInput("rule", rule, f"one of {', '.join(RULES)} is expected")
    day = day_of("effective_from", effective_from)
    statement = insert(account_revenue_rules).values(tenant=context.tenant, effective_from=day, rule=rule)
    with transaction(engine, context.tenant) as connection:
        connection.execute(
            statement.on_conflict_do_update(index_elements=["tenant", "effective_from"], set_={"rule": rule})
        )
    return _json(day, rule)


def list_account_rules(engine: Engine, context: TenantContext) -> list[dict[str, str]]:
    """The tenant's rules by day: {"effective_from", "rule"}."""
    with read_only(engine, context.tenant) as connection:
        return [_json(*row) for row in _rows(connection, context)]


class AccountRules:
    """The tenant's rules, read once for a report.

    Attributes: starts: days on which one takes effect.
    """

    def __init__(self, rows: Sequence[tuple[date, str]]) -> None:
        self._rows = sorted(rows)
        self.starts = [day for day, _ in self._rows]

    def on(self, day: date) -> str:
        """Rule in force on a day."""
        return next((rule for start, rule in reversed(self._rows) if start <= day), DEFAULT)


def read_account_rules(connection: Connection, context: TenantContext) -> AccountRules:
    """All rules of the tenant."""
    return AccountRules(_rows(connection, context))


def _rows(connection: Connection, context: TenantContext) -> list[tuple[date, str]]:
    table = account_revenue_rules.c
    query = select(table.effective_from, table.rule).where(table.tenant == context.tenant)
    return [(row.effective_from, row.rule) for row in connection.execute(query.order_by(table.effective_from))]


def _json(day: date, rule: str) -> dict[str, Any]:
    return {"effective_from": day.isoformat(), "rule": rule}
