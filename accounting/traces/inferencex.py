"""What do rows of an InferenceX agentic request log say?

Layout of agentic_requests.csv of SemiAnalysisAI/InferenceX. Times are epoch seconds and `ttft` is in seconds here (other files of
that project have milliseconds), which is checked against the two times it lies between. What is read from it:

- A run is one server: its name is the replica, and the deployment where none is stated.
- A failed request keeps its logged input and its end, and has no first token: the log writes ttft 0 and the start's time there.
  So do requests that count as successful and brought no token.
- The cache blocks are what the client's prompts had in common, not what the server hit, and both differ widely under load. So
  cache reads are unknown unless `logged` is asked for, 64 tokens a block; the blocks themselves stay as tags.
- A row with the same user, request, trace, times and counts under another run's name is the same request, in a log that was
  kept twice: it becomes the first row's event again, so the ledger counts a duplicate. This holds about 250 bytes for each
  request of the file.
- The text of an error is never kept.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import BinaryIO

from accounting.errors import InvalidInput
from accounting.traces.fields import EPOCH, after, count, microseconds
from accounting.traces.table import Table
from accounting.traces.trace import (
    LOGGED,
    NONE,
    UNKNOWN,
    Clock,
    Options,
    Row,
    Source,
    converted,
    event,
    stated_cache_read,
)
from accounting.usage.native import NativeEvent, NativeUsage

BLOCK_TOKENS = 64
_IDENTITY = (
    "user_id",
    "request_idx",
    "trace_id",
    "request_start_time",
    "prefill_complete_time",
    "request_complete_time",
)
_COUNTS = ("input_tokens", "output_tokens_expected", "output_tokens_actual", "cache_hit_blocks", "cache_miss_blocks")
_EVIDENCE = ("request_idx", "output_tokens_expected", "cache_hit_blocks", "cache_miss_blocks")
_COLUMNS = ("run", *_IDENTITY, *_COUNTS, "ttft", "success")
_STATUS = {"True": "ok", "False": "error"}
_UNIT_TOLERANCE = 1_000
"""Microseconds between ttft and the times it lies between: far more than their rounding, far less than a mistaken unit."""


def _read(file: BinaryIO, options: Options) -> Iterator[Row]:
    table = Table(file, INFERENCEX.name, _COLUMNS)
    clock = Clock(options.start)
    first_seen: dict[bytes, tuple[int, str]] = {}

    def convert(number: int, row: list[str]) -> NativeEvent:
        named = table.pick(row)
        usage, status, times = _usage(named, options), _status(named), _times(named)
        same = "\n".join(named[name] for name in (*_IDENTITY, *_COUNTS, "success"))
        digest = hashlib.blake2b(same.encode(), digest_size=16).digest()
        number, run = first_seen.setdefault(digest, (number, sys.intern(named["run"])))
        began, first_token, completed = (None if moment is None else clock.at(moment) for moment in times)
        assert began is not None
        return event(
            INFERENCEX.name,
            options,
            number,
            began,
            usage,
            status=status,
            first_token_at=first_token,
            completed_at=completed,
            deployment=options.deployment or run,
            replica=run,
            user_id=named["user_id"],
            trace_id=named["trace_id"],
            tags={name: named[name] for name in _EVIDENCE},
        )

    return converted(table.rows, convert)


def _usage(named: Mapping[str, str], options: Options) -> NativeUsage:
    counts = {name: count(named[name], name) for name in _COUNTS}
    cache_read = stated_cache_read(options)
    if options.cache_read == LOGGED:
        cache_read = _logged_cache_read(counts)
    return NativeUsage(
        input_tokens=counts["input_tokens"], cache_read_tokens=cache_read, output_tokens=counts["output_tokens_actual"]
    )


def _logged_cache_read(counts: Mapping[str, int]) -> int:
    hit, miss, total = counts["cache_hit_blocks"], counts["cache_miss_blocks"], counts["input_tokens"]
    if hit + miss != total // BLOCK_TOKENS:
        raise InvalidInput(
            "cache_hit_blocks",
            hit,
            f"cache_hit_blocks {hit} + cache_miss_blocks {miss} is not input_tokens {total} / {BLOCK_TOKENS}, rounded down",
        )
    return min(hit * BLOCK_TOKENS, total - 1) if total else 0


def _status(named: Mapping[str, str]) -> str:
    if named["success"] not in _STATUS:
        raise InvalidInput("success", named["success"], "is neither True nor False")
    return _STATUS[named["success"]]


def _times(named: Mapping[str, str]) -> tuple[datetime, datetime | None, datetime]:
    """Start, first token (None where there was none) and end of a request."""
    start, prefilled, completed = (microseconds(named[name], name) for name in _IDENTITY[3:])
    ttft = microseconds(named["ttft"], "ttft")
    if abs(prefilled - start - ttft) > _UNIT_TOLERANCE:
        raise InvalidInput(
            "ttft",
            named["ttft"],
            f"seconds expected: prefill_complete_time - request_start_time is {prefilled - start} microseconds",
        )
    first = None if ttft == 0 else after(EPOCH, prefilled, "prefill_complete_time")
    return after(EPOCH, start, "request_start_time"), first, after(EPOCH, completed, "request_complete_time")


INFERENCEX = Source(
    "inferencex",
    "InferenceX agentic request log: users, tokens, times, failures",
    False,
    (UNKNOWN, NONE, LOGGED),
    _read,
)
