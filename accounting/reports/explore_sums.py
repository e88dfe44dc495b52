"""Which sums does the report `explore` read: by which dimensions, of which lines, as booked or converted day by day?"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from decimal import Decimal
from typing import Any

from sqlalchemy import Connection, bindparam, text
from sqlalchemy.dialects.postgresql import ARRAY, TIMESTAMP

from accounting.reports.convert import JOIN, PARAMETERS, Converter
from accounting.reports.explore_source import TIMES, Source
from accounting.reports.query import ReportQuery, day_start
from accounting.reports.sums import COSTS, measures
from accounting.tenant import TenantContext

_SUMS = (
    "SELECT {columns}, {measures} FROM {table} {join} WHERE tenant = :tenant AND {period} {filters} GROUP BY {groups}"
)
_BOOKED = (
    "SELECT {number} AS day_no, billing_currency, sum(effective_cost) AS amount FROM {table} "
    "WHERE tenant = :tenant AND {period} {filters} GROUP BY 1, 2 HAVING bool_or(effective_cost <> 0)"
)


class ExploreSums:
    """Reads the sums of one question within the caller's transaction."""

    def __init__(
        self,
        connection: Connection,
        context: TenantContext,
        query: ReportQuery,
        chosen: Source,
        days: Sequence[date],
    ) -> None:
        self._connection, self._query, self._source, self._days = connection, query, chosen, days
        self._starts = [max(day_start(day, query.zone), query.since) for day in days]
        self._filters = "".join(f" AND {_key(name)} = :filter_{name}" for name, _ in query.filters)
        self._parameters: dict[str, Any] = {"tenant": context.tenant, **chosen.parameters}
        self._parameters |= {f"filter_{name}": value for name, value in query.filters}

    def sums(self, names: Sequence[str]) -> tuple[Sequence[Any], Converter | None]:
        """One row a combination, status and currency; converted ones with what converted them. Raises MissingRate."""
        timed = any(name in TIMES for name in names)
        columns = [f"{_key(name)} AS {name}" for name in names if name not in (*TIMES, "charge_status")]
        columns += [f"{self._source.day_number} AS day_no"] if timed else []
        if self._query.currency is None:
            return self._run(columns, timed, currency="billing_currency", measures=measures(), join=""), None
        converter = Converter.read(self._connection, self._query.currency, {"effective_cost": self._booked()})
        self._parameters |= {"to_currency": self._query.currency, **converter.parameters(self._days)}
        rows = self._run(
            columns,
            timed=True,
            currency="CAST(:to_currency AS text)",
            measures=measures(rated=True),
            join=JOIN.format(day_no=self._source.day_number),
            rated=True,
        )
        return converter.rounded(rows, COSTS), converter

    def _run(self, columns: list[str], timed: bool, currency: str, rated: bool = False, **named: str) -> Sequence[Any]:
        columns = [*columns, "charge_status", f"{currency} AS billing_currency"]
        groups = ", ".join(str(number) for number in range(1, len(columns) + 1))
        statement = text(
            _SUMS.format(
                columns=", ".join(columns),
                table=self._source.name,
                period=self._source.period,
                filters=self._filters,
                groups=groups,
                **named,
            )
        )
        if rated:
            statement = statement.bindparams(*PARAMETERS)
        return self._execute(statement, timed)

    def _booked(self) -> dict[tuple[date, str], Decimal]:
        statement = text(
            _BOOKED.format(
                number=self._source.day_number,
                table=self._source.name,
                period=self._source.period,
                filters=self._filters,
            )
        )
        rows = self._execute(statement, timed=True)
        return {(self._days[row.day_no - 1], row.billing_currency): row.amount for row in rows}

    def _execute(self, statement: Any, timed: bool) -> Sequence[Any]:
        parameters = dict(self._parameters)
        if timed and ":starts" in self._source.day_number:
            statement = statement.bindparams(bindparam("starts", type_=ARRAY(TIMESTAMP(timezone=True))))
            parameters["starts"] = self._starts
        return self._connection.execute(statement, parameters).all()


def _key(name: str) -> str:
    """A dimension in SQL; '' stands for none, as in the rollups."""
    return f"coalesce({name}, '')"
