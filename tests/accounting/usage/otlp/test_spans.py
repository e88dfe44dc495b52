"""Spans to calls: every spelling, leaves only, and a contradiction that costs no other span."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest

from accounting.usage.formats import openinference, otlp_attributes
from accounting.usage.formats.contradicted import ContradictedCall
from accounting.usage.wire import Call, Context
from tests.accounting.usage.formats.family import NOBODY, counts
from tests.accounting.usage.otlp.spans import CHAT, SPAN, TRACE, one, read, request, span

U = "gen_ai.usage."


def used(**tokens: Any) -> dict[str, Any]:
    """A chat span's attributes; a keyword's double underscore is a dot."""
    return {**CHAT, **{U + name.replace("__", "."): number for name, number in tokens.items()}}


def refused(attributes: dict[str, Any]) -> tuple[str, str]:
    [found] = read(span(attributes))
    assert isinstance(found, ContradictedCall)
    assert "canary" not in str(found) + str(found.usage_body)
    assert found.call.event_id == f"{TRACE}-{SPAN}"
    return found.reason, found.equation


def test_the_input_holds_reads_and_writes() -> None:
    call = one(
        used(input_tokens=12_000, output_tokens=400, cache_read__input_tokens=9_000, cache_write__input_tokens=1_500)
    )
    assert counts(call) == {
        "input_tokens": 12_000,
        "cache_read_tokens": 9_000,
        "cache_write_tokens": 1_500,
        "output_tokens": 400,
    }


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        (("prompt_tokens", "completion_tokens"), {"input_tokens": 9, "output_tokens": 9}),
        (("input_tokens", "cache_read_input_tokens"), {"input_tokens": 9, "cache_read_tokens": 9}),
        (("input_tokens", "input_tokens.cached"), {"input_tokens": 9, "cache_read_tokens": 9}),
        (("input_tokens", "details.cache_read_tokens"), {"input_tokens": 9, "cache_read_tokens": 9}),
        (("input_tokens", "cache_creation.input_tokens"), {"input_tokens": 9, "cache_write_tokens": 9}),
        (("input_tokens", "cache_creation_input_tokens"), {"input_tokens": 9, "cache_write_tokens": 9}),
        (("input_tokens", "input_tokens.cache_write"), {"input_tokens": 9, "cache_write_tokens": 9}),
        (("output_tokens", "reasoning.output_tokens"), {"output_tokens": 9, "reasoning_tokens": 9}),
        (("output_tokens", "output_tokens.reasoning"), {"output_tokens": 9, "reasoning_tokens": 9}),
        (("output_tokens", "reasoning_tokens"), {"output_tokens": 9, "reasoning_tokens": 9}),
        (("input_tokens", "audio.input_tokens"), {"input_tokens": 9, "audio_input_tokens": 9}),
        (("input_tokens", "image.input_tokens"), {"input_tokens": 9, "image_input_tokens": 9}),
        (("input_tokens", "video.input_tokens"), {"input_tokens": 9, "video_input_tokens": 9}),
        (("output_tokens", "audio.output_tokens"), {"output_tokens": 9, "audio_output_tokens": 9}),
        (("output_tokens", "image.output_tokens"), {"output_tokens": 9, "image_output_tokens": 9}),
        (("input_tokens", "text.input_tokens"), {"input_tokens": 9}),
    ],
)
def test_every_spelling(keys: tuple[str, ...], expected: dict[str, int]) -> None:
    assert counts(one({**CHAT, **{U + key: 9 for key in keys}})) == expected


def test_cached_modalities_are_taken_out_of_the_fresh_ones() -> None:
    tokens = {"audio.input_tokens": 60, "audio.cache_read.input_tokens": 25, "cache_read.input_tokens": 40}
    call = one({**CHAT, **{U + key: number for key, number in {"input_tokens": 100, **tokens}.items()}})
    assert counts(call) == {
        "input_tokens": 100,
        "cache_read_tokens": 40,
        "audio_input_tokens": 35,
        "audio_cache_read_tokens": 25,
    }


def test_writes_by_lifetime_as_one_instrumentation_sends_them() -> None:
    lifetimes = {f"anthropic.usage.cache_creation.ephemeral_{name}_input_tokens": 3 for name in ("5m", "1h")}
    call = one({**used(input_tokens=10, cache_creation__input_tokens=7), **lifetimes})
    assert counts(call) == {
        "input_tokens": 10,
        "cache_write_5m_tokens": 3,
        "cache_write_1h_tokens": 3,
        "cache_write_tokens": 1,
    }


@pytest.mark.parametrize("number", [5.0, "5"])
def test_counts_may_come_as_whole_doubles_or_as_text(number: Any) -> None:
    assert counts(one(used(input_tokens=number))) == {"input_tokens": 5}


@pytest.mark.parametrize(
    ("attributes", "expected"),
    [
        (
            used(input_tokens=10_470, cache_read__input_tokens=48_384),
            ("cached_exceeds_input", f"{U}cache_read.input_tokens 48384 > {U}input_tokens 10470"),
        ),
        (
            used(input_tokens=10, prompt_tokens=11),
            ("sources_disagree", f"{U}input_tokens 10 <> {U}prompt_tokens 11"),
        ),
        (
            used(output_tokens=10, reasoning__output_tokens=11),
            ("part_exceeds_whole", f"{U}reasoning.output_tokens 11 > {U}output_tokens 10"),
        ),
        (used(input_tokens=True), ("not_a_count", f"{U}input_tokens is true")),
        (used(input_tokens="canary"), ("not_a_count", f"{U}input_tokens is a string of 6 characters")),
        (used(input_tokens=1.5), ("not_a_count", f"{U}input_tokens is 1.5")),
        (used(input_tokens=-1), ("negative_count", f"{U}input_tokens -1 < 0")),
        (used(input_tokens=2**31), ("count_out_of_range", f"{U}input_tokens 2147483648 > 2147483647")),
    ],
)
def test_numbers_that_contradict_each_other(attributes: dict[str, Any], expected: tuple[str, str]) -> None:
    assert refused(attributes) == expected


def test_writes_by_lifetime_lie_inside_the_input() -> None:
    assert refused({**used(input_tokens=10), "anthropic.usage.cache_creation.ephemeral_1h_input_tokens": 11}) == (
        "cached_exceeds_input",
        f"{U}cache_write.input_tokens 11 > {U}input_tokens 10",
    )


def test_cached_text_lies_inside_the_text() -> None:
    tokens = {
        "input_tokens": 10,
        "audio.input_tokens": 6,
        "cache_read.input_tokens": 5,
        "text.cache_read.input_tokens": 5,
    }
    assert refused({**CHAT, **{U + key: number for key, number in tokens.items()}}) == (
        "part_exceeds_whole",
        "text cache_read 5 > text input 4",
    )


def test_a_contradiction_costs_no_other_span() -> None:
    good, bad = span(used(input_tokens=5)), span(used(input_tokens=5, cache_read__input_tokens=6))
    kinds = [type(found) for found in read(good, bad, good)]
    assert kinds == [Call, ContradictedCall, Call]


def test_who_what_and_when() -> None:
    attributes = {
        **used(input_tokens=5, cost=0.25),
        "gen_ai.response.model": "gpt-4o-2024-08-06",
        "gen_ai.response.time_to_first_chunk": 0.5,
        "openai.request.service_tier": "auto",
        "openai.response.service_tier": "flex",
        "user.id": "u-1",
        "gen_ai.conversation.id": "c-1",
    }
    [call] = read(span(attributes), service_name="assistant-api", deployment_environment_name="prod")
    assert isinstance(call, Call)
    assert (call.provider, call.model, call.response_model) == ("openai", "gpt-4o", "gpt-4o-2024-08-06")
    assert (call.service_tier, call.user_id, call.trace_id) == ("flex", "u-1", TRACE)
    assert call.occurred_at == datetime(2026, 9, 10, 12, tzinfo=UTC)
    assert call.first_token_at == datetime(2026, 9, 10, 12, 0, 0, 500_000, UTC)
    assert call.completed_at == datetime(2026, 9, 10, 12, 0, 1, 200_000, UTC)
    assert call.reported_cost_usd == Decimal("0.25")
    assert call.tags == {
        "service.name": "assistant-api",
        "deployment.environment.name": "prod",
        "gen_ai.conversation.id": "c-1",
    }


def test_earlier_names_of_provider_and_user() -> None:
    call = one(
        {"gen_ai.system": "az.ai.openai", "gen_ai.response.model": "m", f"{U}input_tokens": 1, "enduser.id": "u"}
    )
    assert (call.provider, call.model, call.response_model, call.user_id) == ("az.ai.openai", "m", None, "u")
    assert one({**used(input_tokens=1), "gen_ai.provider.name": ""}).provider == "unknown"
    [known] = read(span(used(input_tokens=1)), context=Context(provider="azure"))
    assert isinstance(known, Call)
    assert known.provider == "azure"


def test_the_provider_s_response_id_comes_before_the_span_s_own() -> None:
    def ids(response_id: str) -> tuple[str | None, str | None]:
        call = one({**used(input_tokens=1), "gen_ai.response.id": response_id})
        return call.response_id, call.event_id

    assert ids("chatcmpl-1") == ("chatcmpl-1", None)
    assert ids("run_1") == (None, f"{TRACE}-{SPAN}")


def test_a_failed_call_may_lack_usage() -> None:
    failed = one(CHAT, status={"code": 2})
    assert (failed.usage, failed.status) == (None, "error")
    assert one({**CHAT, "error.type": "TimeoutError"}, status={"code": 2}).status == "timeout"
    assert counts(one(used(input_tokens=0, output_tokens=0))) == {}


TOTALS = {f"{U}input_tokens": 113, f"{U}output_tokens": 11}


@pytest.mark.parametrize(
    "attributes",
    [
        {"gen_ai.operation.name": "invoke_agent", "gen_ai.request.model": "gpt-4o", **TOTALS},
        {"gen_ai.operation.name": "execute_tool", **TOTALS},
        {"gen_ai.agent.name": "joke_agent", **TOTALS},
        {"gen_ai.agent.name": "joke_agent", "gen_ai.aggregated_usage.input_tokens": 113},
        {"ai.operationId": "ai.generateText", "gen_ai.request.model": "gpt-4o", **TOTALS},
        {"traceloop.span.kind": "workflow", "gen_ai.request.model": "gpt-4o", **TOTALS},
        {"openinference.span.kind": "CHAIN", "llm.token_count.prompt": 113},
        {"langfuse.observation.type": "agent", **TOTALS},
    ],
)
def test_totals_carried_by_other_spans_are_aggregates(attributes: dict[str, Any]) -> None:
    call = one(attributes)
    assert (call.aggregate, call.usage) == (True, None)


@pytest.mark.parametrize(
    "attributes",
    [
        {"ai.operationId": "ai.generateText.doGenerate", "gen_ai.request.model": "gpt-4o", **TOTALS},
        {"gen_ai.operation.name": "my_own_word", "gen_ai.request.model": "gpt-4o", **TOTALS},
        {"gen_ai.request.model": "gpt-4o", **TOTALS},
        {"gen_ai.operation.name": "embeddings", "gen_ai.request.model": "e-3", f"{U}input_tokens": 113},
        {"langfuse.observation.type": "generation", **TOTALS},
    ],
)
def test_single_calls_are_leaves(attributes: dict[str, Any]) -> None:
    call = one(attributes)
    assert (call.aggregate, counts(call)["input_tokens"]) == (False, 113)


@pytest.mark.parametrize(
    "attributes",
    [
        {},
        {"http.request.method": "POST"},
        {"gen_ai.operation.name": "execute_tool"},
        {"gen_ai.request.model": "gpt-4o"},
    ],
)
def test_other_spans_are_no_calls(attributes: dict[str, Any]) -> None:
    assert read(span(attributes)) == []


INFERENCE = {"openinference.span.kind": "LLM", "llm.provider": "anthropic", "llm.model_name": "claude-sonnet-4-5"}
T = "llm.token_count."


def test_openinference_counts() -> None:
    tokens = {"prompt": 100, "completion": 20, "total": 120, "prompt_details.cache_read": 60, "prompt_details.audio": 5}
    tokens |= {"prompt_details.cache_write": 30, "completion_details.reasoning": 7, "completion_details.audio": 2}
    call = one({**INFERENCE, **{T + key: number for key, number in tokens.items()}, "llm.cost.total": 0.5})
    assert counts(call) == {
        "input_tokens": 100,
        "cache_read_tokens": 60,
        "cache_write_tokens": 30,
        "audio_input_tokens": 5,
        "output_tokens": 20,
        "reasoning_tokens": 7,
        "audio_output_tokens": 2,
    }
    assert (call.provider, call.model, call.reported_cost_usd) == ("anthropic", "claude-sonnet-4-5", Decimal("0.5"))


def test_a_total_above_its_parts_leaves_tokens_unclassified() -> None:
    call = one({**INFERENCE, f"{T}prompt": 4_299, f"{T}completion": 631, f"{T}total": 58_291})
    assert (counts(call), call.unclassified_tokens) == ({"input_tokens": 4_299, "output_tokens": 631}, 53_361)
    assert [finding.reason for finding in call.findings] == ["tokens_do_not_add_up"]


def test_a_total_below_its_parts_is_a_contradiction() -> None:
    assert refused({**INFERENCE, f"{T}prompt": 5, f"{T}completion": 6, f"{T}total": 10}) == (
        "tokens_do_not_add_up",
        "llm.token_count.total 10 <> prompt 5 + completion 6 = 11",
    )


def test_langfuse_s_own_attributes() -> None:
    attributes = {
        "langfuse.observation.type": "generation",
        "langfuse.observation.model.name": "gpt-4o",
        "langfuse.observation.usage_details": json.dumps({"input": 3, "input_cached_tokens": 4, "output": 5}),
        "langfuse.observation.cost_details": json.dumps({"total": 0.25}),
    }
    call = one(attributes)
    assert counts(call) == {"input_tokens": 7, "cache_read_tokens": 4, "output_tokens": 5}
    assert (call.model, call.reported_cost_usd) == ("gpt-4o", Decimal("0.25"))


CHAT_USAGE = {"prompt_tokens": 1_000, "completion_tokens": 100, "total_tokens": 1_100}
RESPONSE_USAGE = {"input_tokens": 1_000, "output_tokens": 100, "total_tokens": 1_100}


@pytest.mark.parametrize(
    "usage",
    [
        CHAT_USAGE,
        CHAT_USAGE | {"prompt_tokens_details": None, "completion_tokens_details": None},
        CHAT_USAGE
        | {"prompt_tokens_details": {"cached_tokens": 0}, "completion_tokens_details": {"reasoning_tokens": 0}},
        RESPONSE_USAGE | {"input_tokens_details": {"cached_tokens": 0}},
        RESPONSE_USAGE,
    ],
)
def test_a_vendor_s_own_object_in_langfuse_s_details_is_read_as_that(usage: dict[str, Any]) -> None:
    """Langfuse's wrappers write it there unchanged."""
    attributes = {"langfuse.observation.type": "generation", "langfuse.observation.usage_details": json.dumps(usage)}
    call = one(attributes)
    assert call.usage is not None
    assert (call.usage.input_tokens, call.usage.output_tokens, call.unclassified_tokens) == (1_000, 100, 0)
    [again] = otlp_attributes.read(call.usage_body, NOBODY)
    assert again.usage == call.usage


@pytest.mark.parametrize(
    "attributes",
    [used(input_tokens=12, cache_read__input_tokens=4), {**INFERENCE, f"{T}prompt": 5}, {**CHAT}],
)
def test_evidence_reads_again_to_the_same_call(attributes: dict[str, Any]) -> None:
    call = one(attributes)
    [again] = otlp_attributes.read(call.usage_body, NOBODY)
    assert (again.usage, again.usage_body, again.occurred_at) == (call.usage, call.usage_body, call.occurred_at)
    assert (again.provider, again.model) == (call.provider, call.model)


def test_a_request_is_recognised_by_what_its_spans_speak() -> None:
    by_otel, by_openinference = request(span(used(input_tokens=1))), request(span({**INFERENCE, f"{T}prompt": 5}))
    assert [otlp_attributes.recognises(body) for body in (by_otel, by_openinference)] == [True, False]
    assert [openinference.recognises(body) for body in (by_otel, by_openinference)] == [False, True]


def test_a_request_comes_apart_into_spans() -> None:
    body = request(span(used(input_tokens=1)), span(used(input_tokens=2)), service_name="s")
    pieces = otlp_attributes.split(body)
    found = [call for piece in pieces for call in otlp_attributes.read(piece, NOBODY)]
    assert found == otlp_attributes.read(body, NOBODY)
    assert len(pieces) == 2
