"""What was sent: which bodies, and what is known beside each? An item that can't be used costs no other."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice

import msgspec

from accounting.errors import InvalidInput
from accounting.usage.formats import claude_code
from accounting.usage.formats.evidence import shown
from accounting.usage.formats.registry import FORMATS, detect
from accounting.usage.parse import Rejection, at_most, filled_lines, refuse_more
from accounting.usage.storable import REASON, readable, unstorable
from accounting.usage.wire import Body, Context

Pair = tuple[Body | list[Body], Context | Rejection]
"""A body with its context, or with the reason why the item is not read."""

AUTO = "auto"
MOST = 100_000
"""Items of one request. An item is at least 3 bytes, so the limit on bytes alone would let millions in."""
LOGS = frozenset({claude_code.NAME})
"""Formats whose records are a log: several of them are one call, so a list of bare ones is read as one body."""


def decoded(body: bytes, *, ndjson: bool = False, most: int | None = None) -> object:
    """The JSON of what was sent. A line of JSON Lines that is no JSON becomes a Rejection in its place.

    Lines are read as such also where they were not announced (LiteLLM sends its `ndjson` as JSON). Raises InvalidInput for a body
    that is no JSON, TooLarge for more than `most` items.
    """
    if ndjson or _are_lines(body):
        items: object = list(islice(_lines(body), None if most is None else most + 1))
    else:
        refuse_more(body, most)
        items = _json(body)
    if isinstance(items, list):
        at_most(most, items)
    return items


def _are_lines(body: bytes) -> bool:
    """Whether the first line is a JSON object by itself and more follows, which makes the whole no JSON."""
    first, _, rest = body.partition(b"\n")
    if not first.startswith(b"{") or not rest.strip():
        return False
    try:
        return isinstance(_json(first), dict)
    except InvalidInput:
        return False


def _json(text: bytes) -> object:
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        # What was sent may hold anybody's text: its length is all that is repeated.
        raise InvalidInput("body", f"{len(text)} bytes", f"not JSON: {error}") from error


def _lines(body: bytes) -> Iterator[object]:
    for index, line in enumerate(filled_lines(body)):
        try:
            yield _json(line)
        except InvalidInput as error:
            yield Rejection(index, None, error.field, str(error.value), error.reason)


def contexts(items: object, wire_format: str) -> list[Pair]:
    """Pairs from a request: a body, `{response, context}`, or a list of either. A bad item is a pair with its Rejection."""
    listed = items if isinstance(items, list) else [items]
    return [_pair(index, item, wire_format) for index, item in enumerate(listed)]


def _pair(index: int, item: object, wire_format: str) -> Pair:
    if isinstance(item, Rejection):
        return {}, item
    if not isinstance(item, dict):
        return {}, Rejection(
            index, None, "body", shown(item), f"a body of {wire_format} or {{response, context}} is expected"
        )
    if "response" not in item or not set(item) <= {"response", "context"}:
        return item, Context()
    body, context = item["response"], _context(index, item.get("context"))
    if isinstance(context, Context) and not _is_body(body):
        wanted = "an object is expected, or a list of objects for a stream"
        return {}, Rejection(index, context.event_id, "response", shown(body), wanted)
    return body, context


def _is_body(body: object) -> bool:
    return isinstance(body, dict) or (
        isinstance(body, list) and bool(body) and all(isinstance(event, dict) for event in body)
    )


def _context(index: int, given: object) -> Context | Rejection:
    try:
        context = msgspec.convert({} if given is None else given, Context)
    except msgspec.ValidationError as error:
        known = given.get("event_id") if isinstance(given, dict) else None
        event_id = known if isinstance(known, str) else None
        return Rejection(index, event_id and readable(event_id), "context", shown(given), str(error))
    name = unstorable(context)
    if name is not None:
        return Rejection(index, None, f"context.{name}", readable(str(getattr(context, name)))[:100], REASON)
    return context


@dataclass
class Group:
    """Items of one format.

    Attributes:
        indexes: where each pair stood in what was sent, shape (n,).
        log: the records without a context, of a format in LOGS; one of the pairs.
    """

    wire_format: str
    indexes: list[int] = field(default_factory=list)
    pairs: list[Pair] = field(default_factory=list)
    log: list[Body] = field(default_factory=list)


def grouped(pairs: list[Pair], wire_format: str) -> list[Group]:
    """The pairs by format, in the order of their first items; with AUTO each body's format is told by its structure.

    A body of no known structure is a Rejection in the group AUTO. Raises InvalidInput for a format that no module has.
    """
    if wire_format not in (AUTO, *FORMATS):
        raise InvalidInput("format", wire_format, f"is none of {AUTO}, {', '.join(sorted(FORMATS))}")
    groups: dict[str, Group] = {}
    for index, (body, context) in enumerate(pairs):
        name, pair = (wire_format, (body, context)) if wire_format != AUTO else _detected(index, body, context)
        group = groups.setdefault(name, Group(name))
        if name not in LOGS or not _bare(pair):
            group.indexes.append(index)
            group.pairs.append(pair)
        else:
            if not group.log:
                group.indexes.append(index)
                group.pairs.append((group.log, pair[1]))
            group.log.extend(_records(body))
    return list(groups.values())


def _detected(index: int, body: Body | list[Body], context: Context | Rejection) -> tuple[str, Pair]:
    module = None if isinstance(context, Rejection) else detect(body)
    if module is not None:
        return module.NAME, (body, context)
    if isinstance(context, Context):
        reason = "is of no structure that is known; send it to the route of its format"
        context = Rejection(index, context.event_id, "response", shown(body), reason)
    return AUTO, ({}, context)


def _bare(pair: Pair) -> bool:
    return pair[1] == Context()


def _records(body: Body | list[Body]) -> list[Body]:
    return body if isinstance(body, list) else [body]
