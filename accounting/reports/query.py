"""Which period does a report cover, in whose days, broken down by what?"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from functools import lru_cache
from typing import Any
from zoneinfo import ZoneInfo, available_timezones

from accounting.errors import InvalidInput
from accounting.pricing.currency_codes import currency_code

BUCKET = timedelta(minutes=15)
EARLIEST, LATEST = date(1970, 1, 1), date(2200, 1, 1)
_EPOCH = datetime(2000, 1, 1, tzinfo=UTC)
_DAY = re.compile("[0-9]{4}-[0-9]{2}-[0-9]{2}")
_MOMENT = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt ][0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,6})?([Zz]|[+-][0-9]{2}:[0-9]{2})"
)


@dataclass(frozen=True)
class ReportQuery:
    """A half-open period [start, end) of a zone, and what to break down by.

    Attributes:
        start, end: a day (its first instant in `tz`) or an instant with its UTC offset; on a 15-minute boundary of UTC.
        tz: IANA zone whose days and months are meant.
        group_by: names the report allows; empty: the report's own default.
        limit: at most this many detail rows; None: all.
        currency: ISO 4217 code of the one currency all amounts are converted to; None: one block a billing currency.
        filters: (name, value) pairs that usage must have, where the report takes any; '' is usage without the name.
    """

    start: date | datetime
    end: date | datetime
    tz: str = "UTC"
    group_by: tuple[str, ...] = ()
    limit: int | None = None
    currency: str | None = None
    filters: tuple[tuple[str, str], ...] = ()

    def __post_init__(self) -> None:
        if self.until <= self.since:
            raise InvalidInput("to", _text(self.end), f"must be after from {_text(self.start)}")
        if self.limit is not None and (isinstance(self.limit, bool) or self.limit < 1):
            raise InvalidInput("limit", self.limit, "a whole number from 1 is expected")
        if self.currency is not None:
            currency_code(self.currency)

    @classmethod
    def parse(
        cls,
        start: str,
        end: str,
        tz: str,
        group_by: str | Iterable[str] | None = None,
        limit: int | None = None,
        currency: str | None = None,
        filters: Iterable[str] = (),
    ) -> ReportQuery:
        """Reads text as it stands in a URL or on a command line.

        Args:
            start, end: RFC 3339 day (2026-02-01) or date-time with offset (2026-02-01T00:00:00+05:30).
            group_by: names, or one text of names with commas between.
            filters: texts `name:value`.

        Raises InvalidInput with the field (`from`, `to`, `tz`, `group_by`, `limit`, `currency`, `filter`) and the value.
        """
        names = group_by.split(",") if isinstance(group_by, str) else list(group_by or ())
        grouped = tuple(name.strip() for name in names if name.strip())
        pairs = tuple(_pair(text) for text in filters)
        return cls(_when("from", start), _when("to", end), tz, grouped, limit, currency, pairs)

    @property
    def zone(self) -> ZoneInfo:
        """The zone of `tz`; raises InvalidInput for one that does not exist."""
        return zone(self.tz)

    @property
    def since(self) -> datetime:
        """First instant of the period, UTC."""
        return _instant("from", self.start, self.zone)

    @property
    def until(self) -> datetime:
        """First instant after the period, UTC."""
        return _instant("to", self.end, self.zone)

    def days(self) -> list[date]:
        """Local days that the period touches."""
        first = self.since.astimezone(self.zone).date()
        last = (self.until - timedelta(microseconds=1)).astimezone(self.zone).date()
        return [first + timedelta(days=number) for number in range((last - first).days + 1)]

    def check_group_by(self, allowed: Collection[str]) -> None:
        """Raises InvalidInput for a name the report does not know or one given twice."""
        for name in self.group_by:
            if name not in allowed:
                raise InvalidInput("group_by", name, f"this report groups by {', '.join(allowed) or 'nothing'}")
            if self.group_by.count(name) > 1:
                raise InvalidInput("group_by", name, "is given twice")

    def check_filters(self, allowed: Collection[str]) -> None:
        """Raises InvalidInput for a filter the report does not know or one given twice."""
        names = [name for name, _ in self.filters]
        for name in names:
            if name not in allowed:
                raise InvalidInput("filter", name, f"this report filters by {', '.join(allowed) or 'nothing'}")
            if names.count(name) > 1:
                raise InvalidInput("filter", name, "is given twice")

    def parameters(self) -> dict[str, Any]:
        """The query as JSON, with the instants it was resolved to."""
        filters = {"filter": [f"{name}:{value}" for name, value in self.filters]} if self.filters else {}
        return filters | {
            "from": _text(self.start),
            "to": _text(self.end),
            "tz": self.tz,
            "group_by": list(self.group_by),
            "limit": self.limit,
            "currency": self.currency,
            "since": _utc_text(self.since),
            "until": _utc_text(self.until),
        }


def zone(name: object) -> ZoneInfo:
    """The IANA zone of that name; raises InvalidInput for anything else."""
    if not isinstance(name, str) or name not in _zones():
        raise InvalidInput("tz", name, "no such IANA time zone")
    return ZoneInfo(name)


def day_start(day: date, at: ZoneInfo) -> datetime:
    """First instant of a local day, UTC. Where midnight does not exist it is the moment the clock jumps; where it is twice, the first."""
    return datetime(day.year, day.month, day.day, tzinfo=at).astimezone(UTC)


@lru_cache(maxsize=1)
def _zones() -> frozenset[str]:
    return frozenset(available_timezones())


def _pair(text: str) -> tuple[str, str]:
    name, colon, value = text.partition(":")
    if not colon or "\x00" in text:
        raise InvalidInput("filter", text, "name:value is expected, as model:gpt-4o")
    return name.strip(), value


def _when(field: str, value: object) -> date | datetime:
    if isinstance(value, str):
        try:
            if _DAY.fullmatch(value):
                return date.fromisoformat(value)
            if _MOMENT.fullmatch(value):
                return datetime.fromisoformat(value.upper())
        except ValueError as error:
            raise InvalidInput(field, value, str(error)) from None
    raise InvalidInput(field, value, "an RFC 3339 day, or a date-time with its UTC offset, is expected")


def _instant(field: str, value: date | datetime, at: ZoneInfo) -> datetime:
    if not EARLIEST < date(value.year, value.month, value.day) < LATEST:
        raise InvalidInput(field, _text(value), f"a day after {EARLIEST} and before {LATEST} is expected")
    if isinstance(value, datetime):
        if value.utcoffset() is None:
            raise InvalidInput(field, _text(value), "a date-time needs its UTC offset")
        instant = value.astimezone(UTC)
    else:
        instant = day_start(value, at)
    if (instant - _EPOCH) % BUCKET:
        raise InvalidInput(field, _text(value), f"is {_utc_text(instant)}, which is not on a 15-minute boundary of UTC")
    return instant


def _text(value: date | datetime) -> str:
    return value.isoformat()


def _utc_text(instant: datetime) -> str:
    return instant.isoformat().replace("+00:00", "Z")
