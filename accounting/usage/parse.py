"""How does a sent body become native events, with each bad row told apart from the good ones?"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sized
from dataclasses import dataclass, field
from itertools import islice

import msgspec

from accounting.errors import InvalidInput, TooLarge
from accounting.usage.formats.evidence import shown as kind_of
from accounting.usage.native import NativeEvent, normalise
from accounting.usage.storable import REASON, readable, unstorable

_ALL = msgspec.json.Decoder(list[NativeEvent])
_ONE = msgspec.json.Decoder(NativeEvent)
_RAWS = msgspec.json.Decoder(list[msgspec.Raw])
_ANY = msgspec.json.Decoder()
_NEXT = json.JSONDecoder(parse_int=len, parse_float=len, strict=False).raw_decode
_BEGIN = re.compile(r"\s*\[\s*")
_BETWEEN = re.compile(r"\s*,\s*")
_LINE = re.compile(rb"[^\n]+")
_PATH = re.compile(r"^(?P<reason>.*?)(?: - at (?:`key` in )?`\$(?P<path>.*)`)?$", re.DOTALL)
_UNKNOWN = re.compile(r"^Object contains unknown field `(?P<name>.*)`$", re.DOTALL)
_MISSING = re.compile(r"^Object missing required field `(?P<name>.*)`$", re.DOTALL)
_UNREADABLE = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
"""What decoding raises: no JSON, another type than expected, or nested too deeply."""
SHOWN = 100
"""Characters of a refused value that an answer repeats."""
WORD = 40
"""Characters of the longest text that counts as a word."""


@dataclass(frozen=True)
class Rejection:
    """A row that was not booked.

    Attributes:
        index: position in the body sent, from 0.
        event_id: where it could be read, else None.
        field, value: what is wrong; the value as text, cut at 100 characters, None where it is absent.
    """

    index: int
    event_id: str | None
    field: str
    value: str | None
    reason: str

    def to_json(self) -> dict[str, object]:
        return {name: getattr(self, name) for name in ("index", "event_id", "field", "value", "reason")}


@dataclass
class Parsed:
    """Good events with their positions in the body, and the rejected rest. `sent` = len(events) + len(rejected)."""

    sent: int = 0
    events: list[NativeEvent] = field(default_factory=list)
    indexes: list[int] = field(default_factory=list)
    evidence: list[bytes] = field(default_factory=list)
    """The usage part of each event's body as it came; empty for native events, whose usage is read back from themselves."""
    rejected: list[Rejection] = field(default_factory=list)


def parse(body: bytes, *, ndjson: bool, most: int | None = None) -> Parsed:
    """Events of a JSON array, of one JSON object, or of JSON Lines.

    Raises InvalidInput where the body as a whole is no JSON of these kinds, TooLarge for more than `most` rows; a bad row is a Rejection.
    """
    rows = list(islice(filled_lines(body), None if most is None else most + 1)) if ndjson else None
    at_most(most, rows or ())
    joined = b"[" + b",".join(rows) + b"]" if rows is not None else body
    parsed = Parsed()
    try:
        events = _ALL.decode(joined)
    except _UNREADABLE:
        if rows is None:
            refuse_more(body, most)
            rows = _elements(body)
            at_most(most, rows)
        _slowly(rows, parsed)
        return parsed
    at_most(most, events)
    # A line such as `{...},{...}` decodes inside the joined array: then lines and events no longer pair up.
    if rows is not None and len(rows) != len(events):
        _slowly(rows, parsed)
        return parsed
    parsed.sent = len(events)
    for index, event in enumerate(events):
        _keep(parsed, index, event)
    if b"\\u0000" in body:
        _refuse_nul(parsed)
    return parsed


def at_most(most: int | None, rows: Sized) -> None:
    """Raises TooLarge for more than `most` rows; None: there is no limit."""
    if most is not None and len(rows) > most:
        raise _too_many(most)


def _too_many(most: int) -> TooLarge:
    return TooLarge(f"more than {most} rows, which is the most that one request may hold: split the batch")


def refuse_more(body: bytes, most: int | None) -> None:
    """Raises TooLarge for a JSON array of more than `most` elements. None is kept: millions of short ones fit a limit on bytes."""
    if most is None or body.count(b",") < most:
        return
    text = body.decode("utf-8", "replace")
    begin = _BEGIN.match(text)
    place = begin.end() if begin else len(text)
    try:
        for _ in range(most):
            _, place = _NEXT(text, place)
            between = _BETWEEN.match(text, place)
            if between is None:
                return
            place = between.end()
    except (ValueError, RecursionError):
        return  # no JSON: who reads it says so
    raise _too_many(most)


def filled_lines(body: bytes) -> Iterator[bytes]:
    """Lines that are not blank, one after the other."""
    return (line for found in _LINE.finditer(body) if not (line := found[0]).isspace())


def _elements(body: bytes) -> list[bytes]:
    try:
        if body.lstrip()[:1] == b"{":
            msgspec.json.decode(body)
            return [body]
        return [bytes(raw) for raw in _RAWS.decode(body)]
    except _UNREADABLE as error:
        raise InvalidInput("body", f"{len(body)} bytes", f"not a JSON array of events: {error}") from error


def _slowly(rows: list[bytes], parsed: Parsed) -> None:
    parsed.sent = len(rows)
    for index, row in enumerate(rows):
        try:
            event = _ONE.decode(row)
        except _UNREADABLE as error:
            parsed.rejected.append(_rejection(index, row, error))
        else:
            _keep(parsed, index, event)
    if any(b"\\u0000" in row for row in rows):
        _refuse_nul(parsed)


def _keep(parsed: Parsed, index: int, event: NativeEvent) -> None:
    finding = normalise(event)
    if finding is None:
        parsed.events.append(event)
        parsed.indexes.append(index)
    else:
        name, value, reason = finding
        parsed.rejected.append(Rejection(index, event.event_id, name, shown(value), reason))


def _rejection(index: int, row: bytes, error: Exception) -> Rejection:
    match = _PATH.match(str(error))
    assert match is not None
    reason, path = match["reason"], (match["path"] or "").replace("[...]", "").lstrip(".")
    try:
        tree = _ANY.decode(row)
    except _UNREADABLE:
        return Rejection(index, None, "body", f"{len(row)} bytes", str(error))
    event_id = tree.get("event_id") if isinstance(tree, dict) else None
    for pattern in (_UNKNOWN, _MISSING):
        named = pattern.match(reason)
        if named is not None:
            path = f"{path}.{named['name']}".lstrip(".")
    value, foreign = _at(tree, path), _UNKNOWN.match(reason) is not None or path.startswith("usage") or not path
    told = _kind(value) if foreign else shown(value)
    return Rejection(index, event_id if isinstance(event_id, str) else None, path or "event", told, reason)


def _kind(value: object) -> str | None:
    """A value that does not belong into an event may be a person's text: a word or a number is repeated, of all else the kind."""
    word = isinstance(value, str) and len(value) <= WORD and not any(map(str.isspace, value))
    return shown(value) if word or not isinstance(value, str | dict | list) else kind_of(value)


def _at(tree: object, path: str) -> object:
    for step in path.split(".") if path else []:
        if not isinstance(tree, dict):
            return tree
        tree = tree.get(step)
    return tree


def shown(value: object) -> str | None:
    """A refused value as an answer repeats it; None for an absent one."""
    if value is None:
        return None
    text = value if isinstance(value, str) else msgspec.json.encode(value).decode("utf-8")
    return text if len(text) <= SHOWN else text[:SHOWN] + "..."


def _refuse_nul(parsed: Parsed) -> None:
    """PostgreSQL text holds every character but U+0000."""
    good: list[tuple[int, NativeEvent]] = []
    for index, event in zip(parsed.indexes, parsed.events, strict=True):
        name = unstorable(event)
        if name is not None:
            value = getattr(event, name)
            text = shown(readable(value)) if isinstance(value, str) else None
            parsed.rejected.append(Rejection(index, readable(event.event_id), name, text, REASON))
        else:
            good.append((index, event))
    parsed.indexes = [index for index, _ in good]
    parsed.events = [event for _, event in good]
