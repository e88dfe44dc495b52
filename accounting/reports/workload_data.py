"""What are the sums of a workload report's events, in the tenant's currency or converted into one?"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, timedelta
from functools import cached_property
from types import SimpleNamespace
from typing import Any

from sqlalchemy import Connection, bindparam, text
from sqlalchemy.dialects.postgresql import ARRAY, TEXT

from accounting.pricing.currency import rounded
from accounting.reports.convert import PARAMETERS, Converter
from accounting.reports.query import ReportQuery
from accounting.reports.statement_lines import USER_FACING
from accounting.reports.workload_sql import BOOKED, COSTS, statement
from accounting.storage.engine import scanning
from accounting.tenant import TenantContext

_TYPED = bindparam("purposes", type_=ARRAY(TEXT))


class WorkloadData:
    """Reads one period of one tenant, within the caller's transaction. Raises MissingRate where a day has no rate."""

    def __init__(self, connection: Connection, context: TenantContext, query: ReportQuery) -> None:
        self._connection, self._query = connection, query
        self._asked: dict[str, Any] = {
            "tenant": context.tenant,
            "since": query.since,
            "until": query.until,
            "tz": query.tz,
            "currency": context.billing_currency if query.currency is None else None,
            "purposes": list(USER_FACING),
        }

    @cached_property
    def converter(self) -> Converter | None:
        """Rates of what is converted; None: the tenant's currency alone."""
        if self._query.currency is None:
            return None
        with scanning(self._connection):
            rows = self._connection.execute(text(BOOKED).bindparams(_TYPED), self._asked).all()
        booked = {(row.day, row.billing_currency): row.amount for row in rows}
        return Converter.read(self._connection, self._query.currency, {"effective_cost": booked})

    def read(self, name: str, key: str = "''") -> Sequence[Any]:
        """Rows of a statement of workload_sql.py, amounts rounded once where they are converted."""
        converter = self.converter
        sql = text(statement(name, rated=converter is not None, key=key)).bindparams(_TYPED)
        with scanning(self._connection):
            if converter is None:
                return self._connection.execute(sql, self._asked).all()
            asked = self._asked | {"first": self._days[0]} | converter.parameters(self._days)
            return [_rounded(row, COSTS[name]) for row in self._connection.execute(sql.bindparams(*PARAMETERS), asked)]

    @cached_property
    def _days(self) -> list[date]:
        """Days of the period, and those after it on which calls of the period were still served."""
        days = self._query.days()
        served = [day for amounts in self.converter.booked.values() for day, _ in amounts] if self.converter else []
        first, last = min([days[0], *served]), max([days[-1], *served])
        return [first + timedelta(days=number) for number in range((last - first).days + 1)]


def _rounded(row: Any, names: Sequence[str]) -> Any:
    amounts = {name: getattr(row, name) for name in names}
    shown = {name: None if amount is None else rounded(amount) for name, amount in amounts.items()}
    return SimpleNamespace(**dict(row._mapping) | shown)
