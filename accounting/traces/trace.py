"""What is a trace source, what may be said to one, and what does it make of a row?"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, BinaryIO, TypeVar

from accounting.errors import InvalidInput
from accounting.usage.native import NativeEvent, NativeUsage
from accounting.usage.parse import shown

UNKNOWN = "unknown"
NONE = "none"
LOGGED = "logged"

R = TypeVar("R")


@dataclass(frozen=True)
class Options:
    """What the importing person states, because the trace does not.

    Attributes:
        content_hash: SHA-256 of the decompressed file, hex; part of every event id.
        provider, model: who serves the requests, and what; no public trace says so.
        deployment: the self-hosted pool that served them; None: a provider did, or the source names a pool itself.
        start: when the trace's time begins, with a zone; None: as the trace says.
        cache_read: `unknown`, `none` (there was no cache) or `logged` (the log's own claim is taken), where nothing is computed.
        block_lifetime: how long after its last use a cached block can still be hit; None: for ever.
        capacity_blocks: how many blocks the cache holds; None: all of them.
    """

    content_hash: str
    provider: str
    model: str
    deployment: str | None = None
    start: datetime | None = None
    cache_read: str = UNKNOWN
    block_lifetime: timedelta | None = None
    capacity_blocks: int | None = None

    def __post_init__(self) -> None:
        if self.start is not None and self.start.utcoffset() is None:
            raise InvalidInput("start", self.start.isoformat(), "has no zone; write it with Z or its UTC offset")


@dataclass(frozen=True)
class BadRow:
    """A row that makes no event: position in the file from 1, and why. value: as text, cut at 100 characters."""

    row: int
    field: str
    value: str | None
    reason: str


Row = NativeEvent | BadRow


@dataclass(frozen=True)
class Source:
    """One public trace's layout.

    Attributes:
        name: as the command takes it, and part of every event id.
        says: what it holds, in words.
        relative: its times count from a start that somebody must state.
        cache_reads: what may be said of cache reads; empty where they are computed from prefix hashes.
        read: yields one Row for each row of the decompressed file, in order, holding no more than it must.
    """

    name: str
    says: str
    relative: bool
    cache_reads: tuple[str, ...]
    read: Callable[[BinaryIO, Options], Iterator[Row]]

    def rows(self, file: BinaryIO, options: Options) -> Iterator[Row]:
        """Rows of the file. Raises InvalidInput for options this source can't use, and for a file of another layout."""
        if self.relative and options.start is None:
            raise InvalidInput("start", None, f"is needed: times of a {self.name} trace count from an unstated moment")
        if not self.cache_reads and options.cache_read != UNKNOWN:
            raise InvalidInput("cache_read", options.cache_read, f"{self.name} computes cache reads from prefix hashes")
        if self.cache_reads and options.cache_read not in self.cache_reads:
            raise InvalidInput("cache_read", options.cache_read, f"{self.name} takes {', '.join(self.cache_reads)}")
        for name in ("block_lifetime", "capacity_blocks") if self.cache_reads else ():
            if getattr(options, name) is not None:
                raise InvalidInput(
                    name, str(getattr(options, name)), f"{self.name} has no prefix hashes to compute with"
                )
        return self.read(file, options)


def event_id(source: str, options: Options, row: int) -> str:
    """Of the same row of the same content always the same, so that a file imported again is all duplicates."""
    return f"trace:{source}:{options.content_hash[:12]}:{row}"


def event(
    source: str, options: Options, row: int, occurred_at: datetime, usage: NativeUsage, **known: Any
) -> NativeEvent:
    """The event of a row, with what the options state about all rows."""
    stated: dict[str, Any] = {"status": "ok", "deployment": options.deployment, **known}
    return NativeEvent(
        event_id=event_id(source, options, row),
        occurred_at=occurred_at,
        provider=options.provider,
        model=options.model,
        usage=usage,
        **stated,
    )


def stated_cache_read(options: Options) -> int | None:
    """Cache reads of a row whose log says nothing of them: None (unknown) unless somebody states that there was no cache."""
    return 0 if options.cache_read == NONE else None


def converted(records: Iterable[R], convert: Callable[[int, R], NativeEvent]) -> Iterator[Row]:
    """One Row a record: the event made of it, or why there is none."""
    for number, record in enumerate(records, start=1):
        try:
            row: Row = convert(number, record)
        except InvalidInput as error:
            row = BadRow(number, error.field, shown(error.value), error.reason)
        yield row


class Clock:
    """Moves a trace's own times so that its first row begins at the stated start; without one they stay as they are."""

    def __init__(self, start: datetime | None) -> None:
        self._start = None if start is None else start.astimezone(UTC)
        self._shift = timedelta(0)

    def at(self, moment: datetime) -> datetime:
        if self._start is not None:
            self._shift, self._start = self._start - moment, None
        try:
            return moment + self._shift
        except OverflowError as error:
            raise InvalidInput("occurred_at", moment.isoformat(), "is beyond the calendar") from error
