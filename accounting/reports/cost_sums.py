"""Which sums of a rollup is the statement of cost made of, as booked or converted day by day?"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from decimal import Decimal
from typing import Any

from sqlalchemy import Connection, TextClause, bindparam, text
from sqlalchemy.dialects.postgresql import ARRAY, TIMESTAMP

from accounting.reports.convert import JOIN, PARAMETERS, Converter
from accounting.reports.query import ReportQuery
from accounting.reports.slices import Slice, slices
from accounting.reports.source import rollup
from accounting.reports.sums import COSTS, measures
from accounting.tenant import TenantContext

# The slice of a bucket, 1 for the first. The array is read once, in a subquery, as its cast from text would be made for every row.
_NUMBER = "width_bucket(bucket, (SELECT :{starts}))"
_FROM = "FROM {rollup} {join} WHERE tenant = :tenant AND bucket >= :since AND bucket < :until"
_SUMS = (
    "SELECT {slice} AS slice, seller, model, purpose, charge_status, {currency} AS billing_currency, category, {measures} "
    f"{_FROM} GROUP BY 1, 2, 3, 4, 5, 6, 7"
)
_DAYS = (
    "SELECT {day} AS day_no, billing_currency, sum(effective_cost) AS amount "
    f"{_FROM} GROUP BY 1, 2 HAVING bool_or({' OR '.join(f'{name} <> 0' for name in COSTS)})"
)


class CostSums:
    """Reads one period of one tenant, within the caller's transaction."""

    def __init__(self, connection: Connection, context: TenantContext, query: ReportQuery) -> None:
        self._connection = connection
        self._rollup = rollup(query, context)
        self._period = {"tenant": context.tenant, "since": query.since, "until": query.until}
        self._query = query

    def as_booked(self, parts: Sequence[Slice]) -> Sequence[Any]:
        """One row a slice, seller, model, purpose, status, currency and category, with `measures`; `slice` is a part's number from 1."""
        statement = self._sums(parts, currency="billing_currency", measures=measures(), join="")
        return self._connection.execute(statement, self._period | _starts("starts", parts)).all()

    def converted(self, parts: Sequence[Slice], to_currency: str) -> tuple[list[Any], Converter]:
        """The same in one currency, each row's costs rounded once, and what they were converted by. Raises MissingRate."""
        days = slices(self._query, "day")
        every = _starts("day_starts", days)
        number = "1" if len(days) == 1 else _NUMBER.format(starts="day_starts")
        booked = self._booked_by_day(number, every, [part.day for part in days])
        converter = Converter.read(self._connection, to_currency, {"effective_cost": booked})
        statement = self._sums(
            parts,
            currency="CAST(:to_currency AS text)",
            measures=measures(rated=True),
            join=JOIN.format(day_no=number),
        ).bindparams(*PARAMETERS)
        if len(days) > 1:
            statement = statement.bindparams(_array("day_starts"))
        asked = self._period | _starts("starts", parts) | every | {"to_currency": to_currency}
        rows = self._connection.execute(statement, asked | converter.parameters([part.day for part in days]))
        return converter.rounded(rows, COSTS), converter

    def _booked_by_day(
        self, number: str, every: dict[str, Any], days: Sequence[date]
    ) -> dict[tuple[date, str], Decimal]:
        statement = text(_DAYS.format(day=number, rollup=self._rollup, join=""))
        if len(days) > 1:
            statement = statement.bindparams(_array("day_starts"))
        rows = self._connection.execute(statement, self._period | every)
        return {(days[row.day_no - 1], row.billing_currency): row.amount for row in rows}

    def _sums(self, parts: Sequence[Slice], **named: str) -> TextClause:
        number = "1" if len(parts) == 1 else _NUMBER.format(starts="starts")
        statement = text(_SUMS.format(slice=number, rollup=self._rollup, **named))
        return statement if len(parts) == 1 else statement.bindparams(_array("starts"))


def _starts(name: str, parts: Sequence[Slice]) -> dict[str, Any]:
    return {} if len(parts) == 1 else {name: [part.start for part in parts]}


def _array(name: str) -> Any:
    return bindparam(name, type_=ARRAY(TIMESTAMP(timezone=True)))
