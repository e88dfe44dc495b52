"""A bad row is told apart from the good ones, with its field and its value."""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import Callable
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest

from accounting.errors import InvalidInput, TooLarge
from accounting.usage.items import decoded
from accounting.usage.native import NativeEvent, canonical
from accounting.usage.parse import parse
from tests.events import body, event, lines


def _only(changed: dict[str, Any]) -> NativeEvent:
    parsed = parse(body([changed]), ndjson=False)
    assert parsed.rejected == []
    return parsed.events[0]


@pytest.mark.parametrize(
    ("changes", "field", "value"),
    [
        ({"event_id": ""}, "event_id", ""),
        ({"event_id": "x" * 257}, "event_id", "x" * 100 + "..."),
        ({"usage": {"output_tokens": -1}}, "usage.output_tokens", "-1"),
        ({"usage": {"output_tokens": "5"}}, "usage.output_tokens", "5"),
        ({"usage": {"output_tokens": 59200.5}}, "usage.output_tokens", "59200.5"),
        ({"usage": {"output_tokens": True}}, "usage.output_tokens", "true"),
        ({"usage": {"output_tokens": 2**31}}, "usage.output_tokens", "2147483648"),
        ({"usage": {"cached": 1}}, "usage.cached", "1"),
        ({"colour": "red"}, "colour", "red"),
        ({"status": "fine"}, "status", "fine"),
        ({"purpose": None}, "purpose", None),
        ({"occurred_at": "2026-07-01T00:00:00"}, "occurred_at", "2026-07-01T00:00:00"),
        ({"occurred_at": "yesterday"}, "occurred_at", "yesterday"),
        ({"tags": {"k": 1}}, "tags", '{"k":1}'),
        ({"tags": {"": "v"}}, "tags", '{"":"v"}'),
        ({"reported_cost_usd": "NaN"}, "reported_cost_usd", "NaN"),
        ({"reported_cost_usd": -1}, "reported_cost_usd", "-1"),
        ({"reported_cost_usd": "1e20"}, "reported_cost_usd", "1E+20"),
        ({"user_id": "a\u0000b"}, "user_id", "a\\u0000b"),
        ({"score": "high"}, "score", "high"),
    ],
)
def test_a_bad_field_is_named_with_its_value(changes: dict[str, Any], field: str, value: str | None) -> None:
    parsed = parse(
        body([event("good"), {**event("bad"), **changes} if "usage" not in changes else event("bad", **changes)]),
        ndjson=False,
    )
    assert [one.event_id for one in parsed.events] == ["good"]
    assert [(row.index, row.field, row.value) for row in parsed.rejected] == [(1, field, value)]


def test_a_missing_field_is_named() -> None:
    incomplete = event("a")
    del incomplete["model"]
    assert [(row.event_id, row.field, row.value) for row in parse(body([incomplete]), ndjson=False).rejected] == [
        ("a", "model", None)
    ]


def test_json_lines_keep_the_lines_that_parse() -> None:
    text = lines([event("a")]) + b'{"event_id": "b"\n\n  \n' + lines([event("c")]) + b"\xff\xfe\n"
    parsed = parse(text, ndjson=True)
    assert (parsed.sent, [one.event_id for one in parsed.events], parsed.indexes) == (4, ["a", "c"], [0, 2])
    assert [(row.index, row.field) for row in parsed.rejected] == [(1, "body"), (3, "body")]


def test_two_objects_on_one_line_are_a_bad_line() -> None:
    two = json.dumps(event("a")).encode() + b"," + json.dumps(event("b")).encode()
    parsed = parse(two, ndjson=True)
    assert (parsed.sent, parsed.events, [row.field for row in parsed.rejected]) == (1, [], ["body"])


@pytest.mark.parametrize("text", [b"", b"[{]", b'"x"', b"null", b"[1", b"\xff"])
def test_a_body_that_is_no_json_array_is_refused_as_a_whole(text: bytes) -> None:
    with pytest.raises(InvalidInput, match="not a JSON array of events"):
        parse(text, ndjson=False)


def test_one_object_and_an_empty_array_are_bodies() -> None:
    assert parse(body([event("a")])[1:-1], ndjson=False).sent == 1
    assert parse(b"[]", ndjson=False).sent == 0


def test_the_canonical_form_is_the_same_however_the_event_is_written() -> None:
    plain = event(
        "a", occurred_at="2026-07-01T12:00:00Z", reported_cost_usd="1.50", tags={"b": "2", "a": "1"}, queue_ms=5
    )
    other = event(
        "a",
        occurred_at="2026-07-01T17:45:00.000+05:45",
        reported_cost_usd=1.5,
        tags={"a": "1", "b": "2"},
        queue_ms=5.0,
        batch=False,
        feature=None,
        usage={"reasoning_tokens": 0},
    )
    assert canonical(_only(plain)) == canonical(_only(other))
    assert canonical(_only(plain)) == (
        b'{"event_id":"a","model":"o3","occurred_at":"2026-07-01T12:00:00Z","provider":"openai","queue_ms":5.0,'
        b'"reported_cost_usd":"1.5","status":"ok","tags":{"a":"1","b":"2"},"usage":{"input_tokens":1000,"output_tokens":100}}'
    )


def test_unknown_cache_reads_differ_from_none() -> None:
    assert canonical(_only(event("a", usage={"cache_read_tokens": None}))) != canonical(_only(event("a")))


def test_float_noise_of_a_reported_cost_is_rounded_to_15_decimals() -> None:
    assert _only(event("a", reported_cost_usd=0.00022500000000000002)).reported_cost_usd == Decimal("0.000225")
    assert _only(event("a", reported_cost_usd="0.0000000000000125")).reported_cost_usd == Decimal("0.000000000000012")


def test_times_are_utc_and_amounts_exact() -> None:
    kept = _only(event("a", occurred_at="2026-07-29T20:00:00-05:00", reported_cost_usd=1e-7))
    assert kept.occurred_at == datetime(2026, 7, 30, 1, tzinfo=UTC)
    assert kept.reported_cost_usd == Decimal("0.0000001")


def test_six_characters_that_spell_an_escape_are_six_characters() -> None:
    """A pattern of characters may hold them."""
    spelled = event("e1", tags={"feature": "regex \\u0000-\\u001f"})
    found = parse(json.dumps([spelled, event("e2", tags={"feature": "a\x00"})]).encode(), ndjson=False)
    assert [one.event_id for one in found.events] == ["e1"]
    assert [(one.event_id, one.field) for one in found.rejected] == [("e2", "tags")]


@pytest.mark.parametrize("read", [parse, decoded])
@pytest.mark.parametrize("ndjson", [False, True])
def test_rows_beyond_the_limit_are_refused_before_they_take_memory(read: Callable[..., object], ndjson: bool) -> None:
    """Two millions of empty rows are 6 kB of gzip, and would be hundreds of MiB."""
    row = b"{}\n" if ndjson else b"{},"
    sent = row * 2_000_000 if ndjson else b"[" + row * 2_000_000 + b"{}]"
    tracemalloc.start()
    with pytest.raises(TooLarge, match="more than 100 rows"):
        read(sent, ndjson=ndjson, most=100)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 3 * len(sent)


@pytest.mark.parametrize("between", [b",", b" ,\n "])
def test_as_many_rows_as_the_limit_are_read_whatever_commas_they_hold(between: bytes) -> None:
    """One of them is none, so that each is read by itself."""
    rows = [json.dumps(event(f"e{at}", tags={"a": "[1,2", "b": '",]'})).encode() for at in range(9)]
    parsed = parse(b" [ " + between.join([*rows, b"0"]) + b" ] ", ndjson=False, most=10)
    assert (len(parsed.events), len(parsed.rejected)) == (9, 1)
    with pytest.raises(TooLarge, match="more than 9 rows"):
        parse(b"[" + between.join([*rows, b"0"]) + b"]", ndjson=False, most=9)
