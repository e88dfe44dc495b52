"""What do rows of a request log derived from ServeGen say?

Columns t_s, client_id, input_tokens, output_tokens, reasoning_tokens (part of the output). Such a log is drawn from real rates
and distributions of clients and holds no real request, so every event carries the tag `derived`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO

from accounting.traces.fields import after, count, microseconds
from accounting.traces.table import Table
from accounting.traces.trace import NONE, UNKNOWN, Options, Row, Source, converted, event, stated_cache_read
from accounting.usage.native import NativeEvent, NativeUsage

_TAGS = {"derived": "true"}


def _read(file: BinaryIO, options: Options) -> Iterator[Row]:
    start = options.start
    assert start is not None
    table = Table(file, SERVEGEN.name, ("t_s", "client_id", "input_tokens", "output_tokens", "reasoning_tokens"))
    cache_read = stated_cache_read(options)

    def convert(number: int, row: list[str]) -> NativeEvent:
        named = table.pick(row)
        usage = NativeUsage(
            input_tokens=count(named["input_tokens"], "input_tokens"),
            cache_read_tokens=cache_read,
            output_tokens=count(named["output_tokens"], "output_tokens"),
            reasoning_tokens=count(named["reasoning_tokens"], "reasoning_tokens"),
        )
        occurred_at = after(start, microseconds(named["t_s"], "t_s"), "t_s")
        user_id = f"client-{count(named['client_id'], 'client_id')}"
        return event(SERVEGEN.name, options, number, occurred_at, usage, user_id=user_id, tags=_TAGS)

    return converted(table.rows, convert)


SERVEGEN = Source("servegen", "requests derived from ServeGen's client statistics", True, (UNKNOWN, NONE), _read)
