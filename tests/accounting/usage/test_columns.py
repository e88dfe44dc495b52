"""Checked events become columns; contradictions are refused with their numbers."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from accounting.usage.classes import FALLBACKS, PARTS, PRICED_CLASSES, UNIT_CLASSES, USAGE_COLUMNS
from accounting.usage.columns import Prepared, prepare
from accounting.usage.native import NativeUsage
from tests.events import body, event

NOW = datetime(2026, 7, 2, tzinfo=UTC)


def _prepare(*events: dict[str, Any]) -> Prepared:
    return prepare(body(events), ndjson=False, now=NOW)


def test_input_is_split_into_disjoint_classes() -> None:
    usage = {
        "input_tokens": 1_000,
        "cache_read_tokens": 300,
        "cache_write_5m_tokens": 50,
        "cache_write_1h_tokens": 40,
        "cache_write_30m_tokens": 30,
        "cache_write_12h_tokens": 20,
        "cache_write_tokens": 10,
        "audio_input_tokens": 200,
        "audio_cache_read_tokens": 100,
    }
    batch = _prepare(event("a", usage=usage)).batch
    assert {name: batch[name][0].as_py() for name in USAGE_COLUMNS if batch[name][0].as_py()} == {
        "uncached_input_tokens": 550,
        "cache_read_tokens": 300,
        "cache_write_5m_tokens": 50,
        "cache_write_1h_tokens": 40,
        "cache_write_30m_tokens": 30,
        "cache_write_12h_tokens": 20,
        "cache_write_tokens": 10,
        "output_tokens": 100,
        "audio_input_tokens": 200,
        "audio_cache_read_tokens": 100,
    }


def test_unknown_cache_reads_are_marked_and_not_taken_as_known_zero() -> None:
    batch = _prepare(event("a", usage={"cache_read_tokens": None}), event("b")).batch
    assert batch["cache_read_known"].to_pylist() == [False, True]


def test_missing_usage_is_a_state_of_its_own() -> None:
    prepared = _prepare({**event("a", status="error"), "usage": None}, event("b"))
    assert prepared.rejected == []
    assert prepared.batch["usage_known"].to_pylist() == [False, True]
    assert prepared.usage_bodies[0] == b"null"


@pytest.mark.parametrize(
    ("usage", "field", "value", "numbers"),
    [
        ({"cache_read_tokens": 1_001}, "usage.input_tokens", "1000", "cache_read_tokens 1001 = 1001"),
        (
            {"cache_read_tokens": 600, "cache_write_1h_tokens": 401},
            "usage.input_tokens",
            "1000",
            "cache_read_tokens 600 + cache_write_1h_tokens 401 = 1001",
        ),
        (
            {"audio_input_tokens": 500, "image_input_tokens": 500, "video_input_tokens": 1},
            "usage.uncached_input_tokens",
            "1000",
            "audio_input_tokens 500 + image_input_tokens 500 + video_input_tokens 1 = 1001",
        ),
        (
            {"cache_read_tokens": 5, "audio_cache_read_tokens": 6},
            "usage.cache_read_tokens",
            "5",
            "audio_cache_read_tokens 6 = 6",
        ),
        ({"reasoning_tokens": 101}, "usage.output_tokens", "100", "reasoning_tokens 101 = 101"),
        (
            {"audio_output_tokens": 60, "image_output_tokens": 41},
            "usage.output_tokens",
            "100",
            "audio_output_tokens 60 + image_output_tokens 41 = 101",
        ),
    ],
)
def test_parts_that_exceed_their_whole_are_refused_with_the_numbers(
    usage: dict[str, int], field: str, value: str, numbers: str
) -> None:
    prepared = _prepare(event("good"), event("bad", usage=usage), event("good too"))
    assert (prepared.sent, prepared.indexes, prepared.batch.num_rows) == (3, [0, 2], 2)
    assert [(row.index, row.event_id, row.field, row.value) for row in prepared.rejected] == [(1, "bad", field, value)]
    assert prepared.rejected[0].reason == f"is less than the sum of its parts: {numbers}"


@pytest.mark.parametrize(
    ("changes", "field", "reason"),
    [
        ({"occurred_at": "2026-07-03T00:00:00.000001Z"}, "occurred_at", "is more than 24 hours ahead"),
        ({"occurred_at": "1999-12-31T23:59:59Z"}, "occurred_at", "is before 2000-01-01"),
        ({"occurred_at": "0001-01-01T00:00:00+14:00"}, "occurred_at", "lies beyond the calendar"),
        ({"completed_at": "9999-12-31T23:59:59-12:00"}, "completed_at", "lies beyond the calendar"),
        (
            {"completed_at": "2026-07-01T11:59:59Z"},
            "completed_at",
            "is before occurred_at 2026-07-01T12:00:00+00:00",
        ),
        (
            {"first_token_at": "2026-07-01T13:00:00+02:00"},
            "first_token_at",
            "is before occurred_at 2026-07-01T12:00:00+00:00",
        ),
    ],
)
def test_times_that_cannot_be_are_refused(changes: dict[str, str], field: str, reason: str) -> None:
    prepared = _prepare(event("a", completed_at="2026-07-01T12:00:01Z"), event("bad", **changes))
    assert [(row.index, row.field, row.reason) for row in prepared.rejected] == [(1, field, reason)]


def test_an_event_just_24_hours_ahead_is_kept() -> None:
    assert _prepare(event("a", occurred_at="2026-07-03T00:00:00Z")).rejected == []


def test_evidence_is_the_usage_part_only() -> None:
    prepared = _prepare(event("a", user_id="canary-user", tags={"k": "canary-tag"}))
    assert prepared.usage_bodies == [b'{"input_tokens":1000,"output_tokens":100}']


def test_an_empty_body_has_empty_columns() -> None:
    prepared = prepare(b"[]", ndjson=False, now=NOW)
    assert (prepared.sent, prepared.batch.num_rows) == (0, 0)


def test_every_count_of_the_wire_has_a_column() -> None:
    assert set(NativeUsage.__struct_fields__) - {"input_tokens"} | {"uncached_input_tokens"} == set(USAGE_COLUMNS)


def test_the_class_tables_name_known_classes_only() -> None:
    assert set(UNIT_CLASSES) <= set(PRICED_CLASSES)
    assert set(FALLBACKS) | {name for names in FALLBACKS.values() for name in names} <= set(PRICED_CLASSES)
    assert set(PARTS) | {part for parts in PARTS.values() for part in parts} <= set(USAGE_COLUMNS)
