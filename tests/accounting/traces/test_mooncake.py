"""Are Mooncake's cache hits those that its prefix hashes imply?"""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from accounting.traces.mooncake import MOONCAKE
from tests.accounting.traces.rows import START, bad, event, events, read, read_file
from tests.shared_data import shared

INPUT = 144_793_823
"""Input tokens of the conversation trace."""


def line(timestamp: int, input_length: int, hash_ids: list[int], **changes: Any) -> str:
    row = {"timestamp": timestamp, "input_length": input_length, "output_length": 7, "hash_ids": hash_ids, **changes}
    return json.dumps(row) + "\n"


def cached(text: str, **stated: Any) -> list[int | None]:
    usages = [row.usage for row in events(read(MOONCAKE, text, start=START, **stated))]
    return [None if usage is None else usage.cache_read_tokens for usage in usages]


def test_a_line_is_an_event_that_many_milliseconds_after_the_start() -> None:
    one = event(read(MOONCAKE, line(3_536_999, 600, [0, 1]), start=START)[0])
    assert one.event_id == "trace:mooncake:000000000000:1"
    assert one.occurred_at == datetime(2026, 7, 1, 0, 58, 56, 999_000, UTC)
    assert one.usage is not None
    assert (one.usage.input_tokens, one.usage.output_tokens) == (600, 7)


def test_a_shared_prefix_is_read_from_the_cache_in_blocks_of_512() -> None:
    assert cached(line(0, 1_500, [0, 1, 2]) + line(0, 1_300, [0, 1, 3]) + line(0, 512, [9])) == [0, 1_024, 0]


def test_a_request_never_has_zero_new_input() -> None:
    assert cached(line(0, 1_000, [0, 1]) * 2 + line(0, 1_024, [0, 2]) * 2) == [0, 999, 512, 1_023]


def test_lifetime_and_capacity_are_kept_to() -> None:
    text = line(0, 1_024, [0, 1]) + line(60_000, 1_500, [0, 1, 2]) + line(120_001, 1_500, [0, 1, 3])
    assert cached(text, block_lifetime=timedelta(seconds=60)) == [0, 1_024, 0]
    assert cached(text, capacity_blocks=1) == [0, 512, 512]


@pytest.mark.parametrize(
    ("text", "field", "reason"),
    [
        (line(0, 600, [0]), "hash_ids", "2 expected: input_length 600 / 512, rounded up"),
        (line(0, 0, []), "row", "Expected `int` >= 1 - at `$.input_length`"),
        (line(0, 5, [0], output_length=-1), "row", "Expected `int` >= 0 - at `$.output_length`"),
        (line(0, 5, [0], output_length=1.5), "row", "Expected `int`, got `float` - at `$.output_length`"),
        (line(0, 5, [True]), "row", "Expected `int`, got `bool` - at `$.hash_ids[0]`"),
        ("{\n", "row", "Input data was truncated"),
    ],
)
def test_a_line_that_contradicts_itself_is_a_bad_row(text: str, field: str, reason: str) -> None:
    row = bad(read(MOONCAKE, text, start=START)[0])
    assert (row.field, row.reason) == (field, reason)


def test_a_line_back_in_time_is_a_bad_row_and_leaves_the_cache_alone() -> None:
    rows = read(MOONCAKE, line(9, 5, [1]) + line(8, 5, [2]) + line(9, 5, [2]), start=START)
    assert bad(rows[1]).reason == "is before that of an earlier row, 9"
    usage = event(rows[2]).usage
    assert usage is not None
    assert usage.cache_read_tokens == 0


@pytest.mark.parametrize(
    ("lifetime", "expected", "percent"),
    [
        (None, 54_098_293, "37.4"),
        (timedelta(minutes=5), 42_480_582, "29.3"),
        (timedelta(minutes=1), 15_257_038, "10.5"),
    ],
)
def test_the_known_shares_of_the_conversation_trace(lifetime: timedelta | None, expected: int, percent: str) -> None:
    path = shared("mooncake/conversation_trace.jsonl")
    rows = events(read_file(MOONCAKE, path, start=START, block_lifetime=lifetime))
    usages = [row.usage for row in rows if row.usage is not None]
    assert len(rows) == len(usages) == 12_031
    assert sum(usage.input_tokens for usage in usages) == INPUT
    hit = sum(usage.cache_read_tokens or 0 for usage in usages)
    assert (hit, f"{100 * hit / INPUT:.1f}") == (expected, percent)
    assert all((usage.cache_read_tokens or 0) < usage.input_tokens for usage in usages)


@pytest.mark.parametrize(("blocks", "expected"), [(5_000, 16_505_764), (50_000, 52_347_253)])
def test_the_conversation_trace_in_caches_of_limited_size(blocks: int, expected: int) -> None:
    """Expected: worked out apart, with a heap of last uses in place of an ordered dictionary."""
    path = shared("mooncake/conversation_trace.jsonl")
    rows = events(read_file(MOONCAKE, path, start=START, capacity_blocks=blocks))
    assert sum(row.usage.cache_read_tokens or 0 for row in rows if row.usage is not None) == expected
