"""Langfuse: buckets that exclude each other, OpenAI's style, the earlier style; generations count, spans repeat them."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import pytest

from accounting.usage.formats import langfuse
from tests.accounting.usage.formats.family import NOBODY, contradiction, counts, only
from tests.shared_data import shared


def generation(**more: Any) -> dict[str, Any]:
    return {
        "id": "o-1",
        "traceId": "t-1",
        "type": "GENERATION",
        "startTime": "2026-01-02T03:04:05.006Z",
        "model": "gpt-4o",
        "input": "canary",
        "output": {"canary": 5},
        "metadata": {"attributes": {"gen_ai.system": "openai", "gen_ai.prompt": "canary"}},
        **more,
    }


def test_buckets_add_up_to_input_and_output() -> None:
    details = {
        "input": 5,
        "input_cached_tokens": 100,
        "input_cache_creation": 7,
        "input_cache_creation_1h": 8,
        "input_audio_tokens": 9,
        "input_cached_audio_tokens": 11,
        "output": 20,
        "output_reasoning_tokens": 30,
        "output_audio_tokens": 4,
        "total": 194,
    }
    assert counts(only(langfuse, generation(usageDetails=details))) == {
        "input_tokens": 140,
        "cache_read_tokens": 111,
        "audio_cache_read_tokens": 11,
        "cache_write_tokens": 7,
        "cache_write_1h_tokens": 8,
        "audio_input_tokens": 9,
        "output_tokens": 54,
        "reasoning_tokens": 30,
        "audio_output_tokens": 4,
    }


def test_a_true_zero_stays_zero() -> None:
    details = {"input": 0, "input_cached_tokens": 25_182, "output": 20, "total": 25_202}
    assert counts(only(langfuse, generation(usageDetails=details))) == {
        "input_tokens": 25_182,
        "cache_read_tokens": 25_182,
        "output_tokens": 20,
    }


def test_keys_with_a_dot_are_parts_not_buckets() -> None:
    details = {"input": 10, "prompt_details.cache_read": 4, "output": 9, "completion_details.reasoning": 8, "total": 19}
    assert counts(only(langfuse, generation(usageDetails=details))) == {
        "input_tokens": 10,
        "cache_read_tokens": 4,
        "output_tokens": 9,
        "reasoning_tokens": 8,
    }


def test_lifetimes_of_cache_writes_as_langchain_spells_them() -> None:
    details = {"input": 10, "input_ephemeral_5m_input_tokens": 4, "input_ephemeral_1h_input_tokens": 3, "output": 9}
    assert counts(only(langfuse, generation(usageDetails=details))) == {
        "input_tokens": 17,
        "cache_write_5m_tokens": 4,
        "cache_write_1h_tokens": 3,
        "output_tokens": 9,
    }


def test_a_total_that_is_not_the_sum_is_a_contradiction() -> None:
    assert contradiction(langfuse, generation(usageDetails={"input": 10, "output": 9, "total": 20})) == (
        "tokens_do_not_add_up",
        "total 20 <> input 10 + output 9 = 19",
    )


def test_a_bucket_that_no_rule_knows_is_unclassified() -> None:
    call = only(langfuse, generation(usageDetails={"input": 10, "tool_calls": 3, "total": 13}))
    assert (counts(call), call.unclassified_tokens) == ({"input_tokens": 10}, 3)
    assert [finding.reason for finding in call.findings] == ["unknown_bucket"]


def test_openai_s_style_is_known_whatever_keys_are_added() -> None:
    usage = {
        "prompt_tokens": 12_412,
        "completion_tokens": 206,
        "total_tokens": 12_618,
        "prompt_tokens_details": {"cached_tokens": 11_904},
        "cost": 0.004183,
    }
    for key in ("usage", "usageDetails"):
        call = only(langfuse, generation(**{key: usage}))
        assert counts(call) == {"input_tokens": 12_412, "cache_read_tokens": 11_904, "output_tokens": 206}
        assert call.reported_cost_usd == Decimal("0.004183")


def test_gemini_s_and_responses_style_are_known_too() -> None:
    gemini = {"promptTokenCount": 7, "candidatesTokenCount": 2, "thoughtsTokenCount": 3, "totalTokenCount": 12}
    assert counts(only(langfuse, generation(usageDetails=gemini))) == {
        "input_tokens": 7,
        "output_tokens": 5,
        "reasoning_tokens": 3,
    }
    responses = {"input_tokens": 7, "output_tokens": 2, "total_tokens": 9, "input_tokens_details": {"cached_tokens": 4}}
    assert counts(only(langfuse, generation(usage=responses)))["cache_read_tokens"] == 4


def test_the_earlier_style_does_not_say_what_was_cached() -> None:
    unknown = {"input_tokens": 3, "cache_read_tokens": None, "output_tokens": 4}
    assert counts(only(langfuse, generation(usage={"input": 3, "output": 4, "total": 7, "unit": "TOKENS"}))) == unknown
    assert counts(only(langfuse, generation(usage={"promptTokens": 3, "completionTokens": 4}))) == unknown
    assert counts(only(langfuse, generation(inputUsage=3, outputUsage=4, totalUsage=7))) == unknown


def test_a_total_of_the_earlier_style_is_checked() -> None:
    assert contradiction(langfuse, generation(usage={"input": 3, "output": 4, "total": 0})) == (
        "tokens_do_not_add_up",
        "total 0 <> input 3 + output 4 = 7",
    )


def test_units_that_are_no_tokens_are_refused() -> None:
    assert contradiction(langfuse, generation(usage={"input": 3, "output": 4, "unit": "SECONDS"})) == (
        "not_tokens",
        "usage.unit is SECONDS",
    )


def test_zeros_of_an_export_without_details_are_missing_usage() -> None:
    assert only(langfuse, generation(usageDetails={}, inputUsage=0, outputUsage=0, totalUsage=0)).usage is None
    assert counts(only(langfuse, generation(usageDetails={"input": 0, "output": 0, "total": 0}))) == {}


def test_a_cost_is_reported_only_by_whoever_sent_it() -> None:
    details = {"usageDetails": {"input": 1, "total": 1}, "costDetails": {"total": 0.5}}
    assert only(langfuse, generation(**details)).reported_cost_usd == Decimal("0.5")
    assert only(langfuse, generation(**details, providedCostDetails={"total": 0})).reported_cost_usd is None
    assert only(langfuse, generation(**details, providedCostDetails={"total": 2.5e-05})).reported_cost_usd == Decimal(
        "0.000025"
    )


def test_an_observation_has_the_id_of_its_span() -> None:
    call = only(langfuse, generation(usageDetails={"input": 1}))
    assert (call.event_id, call.response_id, call.provider) == ("t-1-o-1", None, "openai")
    named = {"attributes": {"gen_ai.response.id": "chatcmpl-1", "gen_ai.system": "openai"}}
    call = only(langfuse, generation(usageDetails={"input": 1}, metadata=json.dumps(named)))
    assert (call.event_id, call.response_id) == (None, "chatcmpl-1")


def test_the_events_of_a_batch_are_put_together() -> None:
    def event(kind: str, **body: Any) -> dict[str, Any]:
        return {"id": kind, "type": kind, "timestamp": "2026-01-02T03:04:06Z", "body": body}

    batch = [
        event("trace-create", id="t-1", userId="u-1", tags=["a"]),
        event("generation-create", id="g-1", traceId="t-1", model="gpt-4o", startTime="2026-01-02T03:04:05Z"),
        event("span-create", id="s-1", traceId="t-1", name="canary"),
        event("generation-update", id="g-1", traceId="t-1", usageDetails={"input": 3, "output": 4, "total": 7}),
    ]
    [call] = langfuse.read({"batch": batch}, NOBODY)
    assert (call.user_id, call.tags, counts(call)) == ("u-1", {"a": ""}, {"input_tokens": 3, "output_tokens": 4})
    [alone] = langfuse.read(batch[3], NOBODY)
    assert counts(alone) == {"input_tokens": 3, "output_tokens": 4}


REAL: dict[str, list[tuple[str, str, int, int | None, int]]] = {
    "autogen-2025-06-06": [("unknown", "gpt-4o", 41, 0, 3)],
    "google-gemini-2025-08-01": [("google", "gemini-2.5-flash", 6, 0, 2_055)],
    "google-vertex-tools-langchain-2025-09-19": [("unknown", "gemini-2.5-flash", 1_200, None, 15)],
    "koog-2025-08-26": [("openai", "gpt-4o", 168, 0, 19), ("openai", "gpt-4o", 47, 0, 106)],
    "llamaindex-2025-06-05": [("openai", "gpt-4o", 13, 0, 81)],
    "microsoft-agent-2025-10-14": [("openai", "gpt-4o", 631, 0, 35), ("openai", "gpt-4o", 25, 0, 70)],
    "openai-agents-2025-09-30": [
        ("openai", "gpt-4.1-2025-04-14", 85, 0, 29),
        ("openai", "gpt-4.1-2025-04-14", 55, 0, 15),
    ],
    "openai-assistants-2024-05-29": [("unknown", "gpt-4", 49, 0, 40)],
    "pydantic-ai-tools-2025-12-04": [
        ("openai", "gpt-4o-mini-2024-07-18", 417, 0, 53),
        ("openai", "gpt-4o-mini-2024-07-18", 131, 0, 69),
        ("openai", "gpt-4o-mini-2024-07-18", 502, 0, 14),
        ("openai", "gpt-4o-mini-2024-07-18", 265, 0, 73),
    ],
}


@pytest.mark.parametrize("name", REAL)
def test_real_exports_hold_these_calls(name: str) -> None:
    body = json.loads(shared(f"langfuse-traces/{name}.json").read_text(encoding="utf-8"))
    assert langfuse.recognises(body)
    found = []
    for call in langfuse.read(body, NOBODY):
        if not call.aggregate:
            assert call.usage is not None
            usage = call.usage
            found.append((call.provider, call.model, usage.input_tokens, usage.cache_read_tokens, usage.output_tokens))
    assert found == REAL[name]


def test_an_agent_s_totals_are_an_aggregate() -> None:
    body = json.loads(shared("langfuse-traces/microsoft-agent-2025-10-14.json").read_text(encoding="utf-8"))
    calls = langfuse.read(body, NOBODY)
    assert [call.aggregate for call in calls] == [True, False, False]
    assert len({call.event_id for call in calls}) == 3
