"""Which moment does a text in a query, a body or an option mean?"""

from __future__ import annotations

from datetime import UTC, datetime

from accounting.errors import InvalidInput


def moment(name: str, text: str | None) -> datetime | None:
    """An instant in UTC, None of None; a day is its first instant. Raises InvalidInput for what is neither."""
    return None if text is None else instant(name, text)


def instant(name: str, text: str) -> datetime:
    """The same of a text that must be there."""
    try:
        found = datetime.fromisoformat(text)
    except ValueError as error:
        raise InvalidInput(name, text, "is no day or moment such as 2026-07-31 or 2026-07-31T12:00:00Z") from error
    if found.tzinfo is None and found.time() != datetime.min.time():
        raise InvalidInput(name, text, "a time of day needs its offset, such as Z")
    try:
        return found.replace(tzinfo=found.tzinfo or UTC).astimezone(UTC)
    except OverflowError as error:
        raise InvalidInput(name, text, "lies beyond the calendar") from error
