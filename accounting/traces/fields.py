"""How are counts and times of a trace read exactly, without a float in between?"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

from accounting.errors import InvalidInput

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_SECONDS = re.compile(r"([0-9]{1,12})(?:\.([0-9]{1,18}))?", re.ASCII)
_CLOCK = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}[ T][0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,9})?(Z|[+-][0-9]{2}:[0-9]{2})?", re.ASCII
)


def count(text: str, field: str) -> int:
    """A whole number of at most 10 digits; no sign, no point. Raises InvalidInput."""
    if not (text.isascii() and text.isdigit() and len(text) <= 10):
        raise InvalidInput(field, text, "is not a count")
    return int(text)


def microseconds(text: str, field: str) -> int:
    """Plain decimal seconds as whole microseconds; further digits are cut, so that an order of times stays an order."""
    match = _SECONDS.fullmatch(text)
    if match is None:
        raise InvalidInput(field, text, "is not a plain decimal number of seconds")
    return int(match[1]) * 1_000_000 + int((match[2] or "").ljust(6, "0")[:6])


def after(start: datetime, elapsed: int, field: str) -> datetime:
    """The moment `elapsed` microseconds after the start. Raises InvalidInput beyond the calendar."""
    try:
        return start + timedelta(microseconds=elapsed)
    except OverflowError as error:
        raise InvalidInput(field, elapsed, "is beyond the calendar") from error


def clock_time(text: str, field: str) -> datetime:
    """A written date and time, in UTC where it has no zone of its own; digits beyond microseconds are cut."""
    if not _CLOCK.fullmatch(text):
        raise InvalidInput(field, text, "is not YYYY-MM-DD hh:mm:ss with an optional fraction and zone")
    try:
        moment = datetime.fromisoformat(text)
        return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except (ValueError, OverflowError) as error:
        raise InvalidInput(field, text, str(error)) from error
