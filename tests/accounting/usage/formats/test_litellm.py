"""LiteLLM: one prompt count for every provider, divided by the usage object; the gateway's own cache costs the provider nothing."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest

from accounting.usage.formats import litellm
from tests.accounting.usage.formats.family import contradiction, counts, only
from tests.shared_data import shared


def payload(usage: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    metadata: dict[str, Any] = {
        "user_api_key_team_id": "team-a",
        "user_api_key_alias": "key-3",
        "requester_metadata": "canary",
    }
    return {
        "id": "chatcmpl-1",
        "litellm_call_id": "call-1",
        "trace_id": "t-1",
        "call_type": "acompletion",
        "stream": True,
        "status": "success",
        "custom_llm_provider": "anthropic",
        "model": "anthropic/claude-sonnet-4-6",
        "prompt_tokens": 1_000,
        "completion_tokens": 20,
        "total_tokens": 1_020,
        "response_cost": 0.00022500000000000002,
        "startTime": 1_730_707_200.25,
        "endTime": 1_730_707_203,
        "completionStartTime": 1_730_707_201,
        "cache_hit": None,
        "end_user": "user-07",
        "request_tags": ["env:prod", "beta"],
        "messages": [{"role": "user", "content": "canary", "n": 3}],
        "metadata": metadata if usage is None else {**metadata, "usage_object": usage},
        **more,
    }


def usage_object(**details: Any) -> dict[str, Any]:
    return {"prompt_tokens": 1_000, "completion_tokens": 20, "total_tokens": 1_020, "prompt_tokens_details": details}


def test_writes_lie_inside_the_prompt_by_their_lifetime() -> None:
    lifetimes = {"ephemeral_5m_input_tokens": 100, "ephemeral_1h_input_tokens": 200}
    usage = usage_object(cached_tokens=300, cache_creation_tokens=350, cache_creation_token_details=lifetimes)
    usage |= {"cache_creation_input_tokens": 350, "cache_read_input_tokens": 300}
    assert counts(only(litellm, payload(usage))) == {
        "input_tokens": 1_000,
        "cache_read_tokens": 300,
        "cache_write_5m_tokens": 100,
        "cache_write_1h_tokens": 200,
        "cache_write_tokens": 50,
        "output_tokens": 20,
    }


def test_modalities_reasoning_and_searches_come_from_the_usage_object() -> None:
    usage = usage_object(audio_tokens=400, image_tokens=5)
    usage["completion_tokens_details"] = {"reasoning_tokens": 9, "audio_tokens": 4}
    usage["server_tool_use"] = {"web_search_requests": 2}
    assert counts(only(litellm, payload(usage))) == {
        "input_tokens": 1_000,
        "audio_input_tokens": 400,
        "image_input_tokens": 5,
        "output_tokens": 20,
        "reasoning_tokens": 9,
        "audio_output_tokens": 4,
        "web_search_requests": 2,
    }


def test_who_and_when_come_from_the_payload() -> None:
    call = only(litellm, payload(usage_object(), response={"model": "claude-sonnet-4-6-20260217"}))
    assert (call.provider, call.model, call.response_model) == (
        "anthropic",
        "claude-sonnet-4-6",
        "claude-sonnet-4-6-20260217",
    )
    assert (call.user_id, call.account_id, call.trace_id, call.response_id) == (
        "user-07",
        "team-a",
        "t-1",
        "chatcmpl-1",
    )
    assert call.tags == {"env": "prod", "beta": "", "user_api_key_alias": "key-3"}
    assert call.occurred_at == datetime(2024, 11, 4, 8, 0, 0, 250_000, UTC)
    assert call.first_token_at == datetime(2024, 11, 4, 8, 0, 1, tzinfo=UTC)


def test_a_binary_cost_is_kept_as_the_decimal_it_stands_for() -> None:
    assert only(litellm, payload(usage_object())).reported_cost_usd == Decimal("0.000225")


def test_an_answer_from_the_gateway_s_cache_used_no_provider_tokens() -> None:
    for flag in (True, "True"):
        call = only(litellm, payload(usage_object(), cache_hit=flag, response_cost=0))
        assert (counts(call), call.reported_cost_usd, call.usage_body["prompt_tokens"]) == ({}, 0, 1_000)
        assert (call.response_id, call.event_id) == (None, "call-1")
    assert counts(only(litellm, payload(usage_object(), cache_hit="None")))["input_tokens"] == 1_000


def test_without_a_usage_object_the_cached_part_is_unknown() -> None:
    assert counts(only(litellm, payload()))["cache_read_tokens"] is None
    by_vllm = payload(usage_object(), custom_llm_provider="hosted_vllm")
    assert counts(only(litellm, by_vllm))["cache_read_tokens"] is None
    assert "cache_read_tokens" not in counts(only(litellm, payload(usage_object())))


def test_a_failed_call_without_counts_has_no_usage_and_keeps_its_estimate() -> None:
    none = {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0, "response_cost": 0.0}
    call = only(litellm, payload(None, status="failure", **none) | {"metadata": {"estimated_input_tokens": 1_850}})
    assert (call.usage, call.status, call.event_id) == (None, "error", "call-1")
    assert call.usage_body["metadata"]["estimated_input_tokens"] == 1_850


def test_a_failed_call_with_counts_is_charged_for_them() -> None:
    call = only(litellm, payload(usage_object(), status="failure"))
    assert (call.status, counts(call)["output_tokens"]) == ("error", 20)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (
            payload(usage_object(), total_tokens=1_021),
            ("tokens_do_not_add_up", "total_tokens 1021 <> prompt_tokens 1000 + completion_tokens 20 = 1020"),
        ),
        (
            payload({**usage_object(), "prompt_tokens": 999}),
            ("sources_disagree", "prompt_tokens 1000 <> usage_object.prompt_tokens 999"),
        ),
        (
            payload({**usage_object(cached_tokens=5), "cache_read_input_tokens": 6}),
            ("sources_disagree", "prompt_tokens_details.cached_tokens 5 <> cache_read_input_tokens 6"),
        ),
        (
            payload(usage_object(cached_tokens=900, cache_creation_tokens=101)),
            (
                "cached_exceeds_input",
                "prompt_tokens_details.cached_tokens 900 + prompt_tokens_details.cache_creation_tokens 101 = 1001 "
                "> prompt_tokens 1000",
            ),
        ),
    ],
)
def test_numbers_that_contradict_each_other(body: dict[str, Any], expected: tuple[str, str]) -> None:
    assert contradiction(litellm, body) == expected


def test_the_row_of_the_database_reads_as_the_payload_does() -> None:
    row = json.loads(shared("litellm-samples/spend_logs_payload.trimmed.json").read_text(encoding="utf-8"))
    sent = json.loads(shared("litellm-samples/standard_logging_payload.trimmed.json").read_text(encoding="utf-8"))
    for body in (row, sent):
        assert litellm.recognises(body)
        call = only(litellm, body)
        assert counts(call) == {"input_tokens": 10, "output_tokens": 20}
        assert (call.provider, call.model, call.reported_cost_usd) == ("openai", "gpt-4o", Decimal("0.000225"))
        assert call.occurred_at == datetime(2025, 1, 24, 9, 20, 46, 847_371, UTC)
