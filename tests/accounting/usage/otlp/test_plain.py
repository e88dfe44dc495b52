"""Are spans read by their layout what they are read one by one? On the public spans, and on ones with anything put anywhere."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from accounting.usage.calls import WireRead
from accounting.usage.columns import Prepared
from accounting.usage.otlp import plain
from accounting.usage.otlp.decode import Span, from_json, from_protobuf
from accounting.usage.otlp.layout import layout_of
from accounting.usage.otlp.plain import read_plain
from accounting.usage.otlp.vocabulary import GEN_AI, NAMES, wanted
from accounting.usage.prepare_otlp import prepare_otlp, read_each
from accounting.usage.prepare_wire import prepare_read
from tests.shared_data import shared

NOW = datetime(2026, 11, 1, tzinfo=UTC)
U = "gen_ai.usage."
CHAT = {
    "gen_ai.operation.name": "chat",
    "gen_ai.provider.name": "openai",
    "gen_ai.request.model": "o3",
    f"{U}input_tokens": 1_000,
    f"{U}cache_read.input_tokens": 400,
    f"{U}output_tokens": 100,
}


def _one_by_one(spans: Sequence[Span]) -> Prepared:
    found = WireRead("otlp")
    read_each(found, enumerate(spans))
    return prepare_read(found, NOW)


def _together(spans: Sequence[Span]) -> tuple[Prepared, int]:
    """What the layouts make of them, and how many were read by theirs."""
    found = WireRead("otlp")
    found.booked, rest = read_plain(enumerate(spans))
    by_layout = len(found.booked)
    read_each(found, rest)
    found.booked.sort(key=lambda booked: booked.index)
    return prepare_read(found, NOW), by_layout


def _assert_equal(one: Prepared, other: Prepared) -> None:
    assert one.batch.to_pylist() == other.batch.to_pylist()
    for name in ("usage_bodies", "indexes", "rejected", "suspended", "findings", "aggregates", "sent", "wire_format"):
        assert getattr(one, name) == getattr(other, name), name


@pytest.fixture
def _every_layout(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plain, "LEAST", 1)


@pytest.mark.usefixtures("_every_layout")
@pytest.mark.parametrize("protobuf", [True, False])
def test_the_public_spans_are_read_alike(protobuf: bool) -> None:
    name = "otlp/gen_ai_spans.pb" if protobuf else "otlp/gen_ai_spans.otlp.json"
    spans = (from_protobuf if protobuf else from_json)(shared(name).read_bytes(), wanted)
    found, by_layout = _together(spans)
    assert len(spans) == 100
    assert by_layout > 50
    _assert_equal(found, _one_by_one(spans))


def test_few_spans_of_a_layout_are_not_worth_one() -> None:
    spans = [_span(CHAT, number) for number in range(plain.LEAST)]
    assert [_together(spans[:count])[1] for count in (plain.LEAST - 1, plain.LEAST)] == [0, plain.LEAST]


def test_a_plain_span_in_a_request_is_booked_with_its_counts() -> None:
    request = shared("otlp/gen_ai_spans.pb").read_bytes()
    assert (
        prepare_otlp(request, NOW, protobuf=True).batch.num_rows
        == prepare_otlp(shared("otlp/gen_ai_spans.otlp.json").read_bytes(), NOW, protobuf=False).batch.num_rows
    )
    [booked], rest = _plain_of(_span(CHAT, 7))
    assert rest == []
    assert booked.event.usage is not None
    assert (booked.event.usage.input_tokens, booked.event.usage.cache_read_tokens) == (1_000, 400)
    assert booked.event.event_id == "0af7651916cd43dd8448eb211c80319c-b7ad6b7169200007"


def _plain_of(span: Span) -> tuple[list[Any], list[Any]]:
    found, rest = read_plain(enumerate([span] * plain.LEAST))
    return found[:1], rest


@pytest.mark.parametrize(
    "changes",
    [
        {f"{U}input_tokens": "1000"},
        {f"{U}input_tokens": 1_000.0},
        {f"{U}prompt_tokens": 1_000},
        {f"{U}audio.input_tokens": 1},
        {f"{U}cost": 0.1},
        {"gen_ai.aggregated_usage.input_tokens": 1},
        {"llm.token_count.prompt": 1},
        {"gen_ai.request.model": 3},
        {"gen_ai.response.time_to_first_chunk": 0.5},
    ],
)
def test_what_is_not_plain_has_no_layout(changes: dict[str, Any]) -> None:
    attributes = CHAT | changes
    assert layout_of(tuple(attributes), tuple(map(type, attributes.values()))) is None


def _span(attributes: dict[str, Any], number: int, **changes: Any) -> Span:
    given: dict[str, Any] = {
        "trace_id": "0af7651916cd43dd8448eb211c80319c",
        "span_id": f"b7ad6b716920{number:04x}",
        "name": "chat",
        "start_ns": 1_782_900_000_000_000_999,
        "end_ns": 1_782_900_002_000_000_000,
        "error": False,
        "attributes": dict(attributes),
        "resource": {"service.name": "shop"},
        **changes,
    }
    return Span(**given)


_KEYS = st.sampled_from(
    sorted({key for keys in (*GEN_AI.values(), *NAMES.values()) for key in keys} | {f"{U}unheard_of", "llm.cost.input"})
)
_VALUES = st.one_of(
    st.integers(-1, 3),
    st.sampled_from([399, 401, 1_000, 2**31 - 1, 2**31, 2**63 - 1, 2**70, True, None, 0.5, float("nan")]),
    st.sampled_from(
        ["", "chat", "invoke_agent", "run_1", "LLM", "AGENT", "o3", "openai", "a b", "x" * 300, "\x00", "1000"]
    ),
    st.text(max_size=4),
)
_FIELDS = st.sampled_from(
    [
        {},
        {},
        {},
        {"error": True},
        {"start_ns": 0},
        {"end_ns": 0},
        {"end_ns": 2**64 - 1},
        {"start_ns": 2**63, "end_ns": 2**63 + 1},
        {"trace_id": ""},
        {"span_id": ""},
        {"span_id": "\x00"},
        {"trace_id": "t" * 300},
        {"resource": {}},
        {"resource": {"service.name": "\x00", "deployment.environment": "prod"}},
        {"resource": {"service.name": "s" * 2_000}},
    ]
)


@pytest.mark.usefixtures("_every_layout")
@settings(max_examples=400, deadline=None, derandomize=True, database=None)
@given(
    st.lists(
        st.tuples(
            st.dictionaries(_KEYS, _VALUES, max_size=3), st.sets(st.sampled_from(sorted(CHAT)), max_size=1), _FIELDS
        ),
        min_size=1,
        max_size=6,
    )
)
def test_odd_spans_are_read_alike(drawn: list[tuple[dict[str, Any], set[str], dict[str, Any]]]) -> None:
    spans = [
        _span({key: value for key, value in (CHAT | more).items() if key not in less}, number, **fields)
        for number, (more, less, fields) in enumerate(drawn)
    ]
    found, _ = _together(copy.deepcopy(spans))
    _assert_equal(found, _one_by_one(spans))
