"""Which hours of the day are left of a price row's window where another row takes some? Pure."""

from __future__ import annotations

from datetime import datetime, time, timedelta

Window = tuple[time | None, time | None]
"""UTC, half-open; it wraps midnight where the end is not after the start. (None, None): all day."""
_Part = tuple[timedelta, timedelta]
_MIDNIGHT, _DAY = timedelta(0), timedelta(days=1)


def hours_left(window: Window, taken: Window) -> list[Window]:
    """The window without the hours of another, in pieces; the window itself where they share none."""
    left = [piece for part in _parts(window) for piece in _without(part, _parts(taken))]
    return [(_time(start), _time(end)) for start, end in _joined(left)]


def _parts(window: Window) -> list[_Part]:
    """The window as parts of one day."""
    start, end = window
    if start is None or end is None:
        return [(_MIDNIGHT, _DAY)]
    begins, ends = _since_midnight(start), _since_midnight(end)
    if begins < ends:
        return [(begins, ends)]
    return [part for part in ((_MIDNIGHT, ends), (begins, _DAY)) if part[0] < part[1]]


def _without(part: _Part, taken: list[_Part]) -> list[_Part]:
    left, (start, end) = [], part
    for begins, ends in sorted(taken):
        if start < begins:
            left.append((start, min(begins, end)))
        start = max(start, ends)
    left.append((start, end))
    return [(begins, ends) for begins, ends in left if begins < ends]


def _joined(parts: list[_Part]) -> list[_Part]:
    """What ends at midnight and what begins there is one window."""
    if len(parts) > 1 and parts[0][0] == _MIDNIGHT and parts[-1][1] == _DAY:
        return [*parts[1:-1], (parts[-1][0], parts[0][1])]
    return parts


def _since_midnight(at: time) -> timedelta:
    return timedelta(hours=at.hour, minutes=at.minute, seconds=at.second, microseconds=at.microsecond)


def _time(since: timedelta) -> time:
    return (datetime.min + since % _DAY).time()
