"""Vendors with OpenAI's chat shape: what each of them counts differently."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from accounting.usage.formats import (
    cohere,
    deepseek,
    groq,
    mistral,
    openai_compatible,
    sglang,
    snowflake_cortex,
    vllm,
    xai,
)
from accounting.usage.wire import Context
from tests.accounting.usage.formats.family import chat, contradiction, counts, only, response


def test_mistral_states_cached_tokens_under_either_name() -> None:
    expected = {"input_tokens": 1_013, "cache_read_tokens": 1_008, "output_tokens": 30}
    assert counts(only(mistral, chat(1_013, 30, 1_043, num_cached_tokens=1_008))) == expected
    body = chat(1_013, 30, 1_043, num_cached_tokens=1_008, prompt_tokens_details={"cached_tokens": 1_008})
    assert counts(only(mistral, body)) == expected
    body = chat(1_013, 30, 1_043, num_cached_tokens=1_000, prompt_tokens_details={"cached_tokens": 1_008})
    assert contradiction(mistral, body) == (
        "sources_disagree",
        "prompt_tokens_details.cached_tokens 1008 <> num_cached_tokens 1000",
    )
    assert contradiction(mistral, chat(10, 1, num_cached_tokens=11)) == (
        "cached_exceeds_input",
        "num_cached_tokens 11 > prompt_tokens 10",
    )


def test_mistral_audio_seconds_have_no_class_and_this_is_said() -> None:
    call = only(mistral, chat(10, 2, 12, prompt_audio_seconds=7))
    assert [(finding.reason, finding.detail) for finding in call.findings] == [
        ("unit_without_class", "prompt_audio_seconds 7")
    ]
    assert only(mistral, chat(10, 2, 12, prompt_audio_seconds={})).findings == ()


def test_mistral_tells_the_tier_inside_usage() -> None:
    assert only(mistral, chat(10, 2, 12, service_tier="flex")).service_tier == "flex"


def test_deepseek_hits_and_misses_make_up_the_prompt() -> None:
    body = chat(563, 116, 679, prompt_cache_hit_tokens=512, prompt_cache_miss_tokens=51)
    body["usage"]["completion_tokens_details"] = {"reasoning_tokens": 60}
    assert counts(only(deepseek, body)) == {
        "input_tokens": 563,
        "cache_read_tokens": 512,
        "output_tokens": 116,
        "reasoning_tokens": 60,
    }
    body = chat(563, 116, prompt_cache_hit_tokens=512, prompt_cache_miss_tokens=52)
    assert contradiction(deepseek, body) == (
        "tokens_do_not_add_up",
        "prompt_tokens 563 <> prompt_cache_hit_tokens 512 + prompt_cache_miss_tokens 52 = 564",
    )


def test_deepseek_a_second_count_of_the_hits_that_disagrees_is_said_and_not_taken() -> None:
    body = chat(
        33_100,
        410,
        33_510,
        prompt_cache_hit_tokens=31_744,
        prompt_cache_miss_tokens=1_356,
        prompt_tokens_details={"cached_tokens": 0},
    )
    call = only(deepseek, body)
    assert counts(call)["cache_read_tokens"] == 31_744
    assert [finding.reason for finding in call.findings] == ["sources_disagree"]


def test_deepseek_without_any_count_of_hits_does_not_know_them() -> None:
    assert counts(only(deepseek, chat(10, 2, 12)))["cache_read_tokens"] is None


def test_xai_reasoning_lies_beside_the_completion_of_a_chat() -> None:
    body = chat(32, 9, 135, num_sources_used=0, completion_tokens_details={"reasoning_tokens": 94})
    assert counts(only(xai, body)) == {"input_tokens": 32, "output_tokens": 103, "reasoning_tokens": 94}
    body = chat(32, 9, 41, completion_tokens_details={"reasoning_tokens": 5})
    assert contradiction(xai, body) == (
        "tokens_do_not_add_up",
        "total_tokens 41 <> prompt_tokens 32 + completion_tokens 9 + completion_tokens_details.reasoning_tokens 5 = 46",
    )


def test_xai_reasoning_lies_inside_the_output_of_a_response() -> None:
    body = response(32, 103, 135, num_sources_used=0, output_tokens_details={"reasoning_tokens": 94})
    call = only(xai, body)
    assert counts(call) == {"input_tokens": 32, "output_tokens": 103, "reasoning_tokens": 94}
    assert (call.provider, call.surface) == ("xai", "responses")


def test_xai_text_tokens_hold_the_cached_ones() -> None:
    details = {"text_tokens": 616, "audio_tokens": 0, "image_tokens": 0, "cached_tokens": 615}
    call = only(xai, chat(616, 100, 716, prompt_tokens_details=details))
    assert counts(call) == {"input_tokens": 616, "cache_read_tokens": 615, "output_tokens": 100}
    assert call.findings == ()


def test_xai_states_its_cost_in_ticks_of_which_ten_thousand_million_are_a_dollar() -> None:
    call = only(xai, chat(1_000, 200, 1_200, cost_in_usd_ticks=117_500_000, num_server_side_tools_used=2))
    assert call.reported_cost_usd == Decimal("0.01175")
    assert only(xai, chat(1, 1, 2, cost_in_usd_ticks=25_000_000_000)).reported_cost_usd == Decimal("2.5")
    assert only(xai, chat(1, 1, 2)).reported_cost_usd is None
    assert contradiction(xai, chat(1, 1, 2, cost_in_usd_ticks=-1)) == ("not_an_amount", "cost_in_usd_ticks is -1")


def test_groq_carries_the_usage_of_a_stream_in_its_own_envelope() -> None:
    usage = {
        "prompt_tokens": 254,
        "completion_tokens": 174,
        "total_tokens": 428,
        "queue_time": 0.0049,
        "total_time": 0.37,
    }
    chunks: list[dict[str, Any]] = [
        {"id": "c", "object": "chat.completion.chunk", "model": "m-1", "choices": [], "x_groq": {"id": "req_1"}},
        {"id": "c", "object": "chat.completion.chunk", "model": "m-1", "choices": [], "x_groq": {"usage": usage}},
    ]
    call = only(groq, chunks)
    assert counts(call) == {"input_tokens": 254, "output_tokens": 174}
    assert call.usage_body["usage"] == usage
    assert all(groq.recognises(chunk) for chunk in chunks)


@pytest.mark.parametrize("module", [vllm, sglang])
@pytest.mark.parametrize("details", [None, {}, {"cached_tokens": None}])
def test_an_own_server_that_does_not_state_cached_tokens_does_not_mean_none(module: Any, details: Any) -> None:
    body = chat(10, 2, 12)
    body["usage"]["prompt_tokens_details"] = details
    assert counts(only(module, body)) == {"input_tokens": 10, "cache_read_tokens": None, "output_tokens": 2}


@pytest.mark.parametrize("module", [vllm, sglang])
def test_an_own_server_that_states_cached_tokens_is_believed(module: Any) -> None:
    assert counts(only(module, chat(10, 2, 12, prompt_tokens_details={"cached_tokens": 8}))) == {
        "input_tokens": 10,
        "cache_read_tokens": 8,
        "output_tokens": 2,
    }
    assert "cache_read_tokens" not in counts(only(module, chat(10, 2, 12, prompt_tokens_details={"cached_tokens": 0})))


def test_vllm_writes_zero_into_a_response_for_what_it_does_not_count() -> None:
    body = response(10, 2, 12, input_tokens_details={"cached_tokens": 0})
    assert counts(only(vllm, body))["cache_read_tokens"] is None
    body = response(10, 2, 12, input_tokens_details={"cached_tokens": 8})
    assert counts(only(vllm, body))["cache_read_tokens"] == 8


def test_sglang_counts_reasoning_at_the_top_of_usage() -> None:
    assert counts(only(sglang, chat(10, 9, 19, reasoning_tokens=4)))["reasoning_tokens"] == 4
    assert contradiction(sglang, chat(10, 9, 19, reasoning_tokens=10)) == (
        "part_exceeds_whole",
        "reasoning_tokens 10 > completion_tokens 9",
    )


def test_snowflake_counts_cached_tokens_beside_the_prompt() -> None:
    call = only(snowflake_cortex, chat(7, 6, 4_818, prompt_tokens_details={"cached_tokens": 4_805}))
    assert counts(call) == {"input_tokens": 4_812, "cache_read_tokens": 4_805, "output_tokens": 6}
    assert call.provider == "snowflake"
    body = chat(7, 6, 13, prompt_tokens_details={"cached_tokens": 5})
    assert contradiction(snowflake_cortex, body) == (
        "tokens_do_not_add_up",
        "total_tokens 13 <> prompt_tokens 7 + prompt_tokens_details.cached_tokens 5 + completion_tokens 6 = 18",
    )


def test_snowflake_totals_beyond_what_an_event_holds_are_refused() -> None:
    body = chat(2_000_000_000, 1, prompt_tokens_details={"cached_tokens": 2_000_000_000})
    assert contradiction(snowflake_cortex, body) == (
        "count_out_of_range",
        "input_tokens 4000000000 > the largest count 2147483647",
    )


def test_cached_tokens_at_the_top_of_usage_are_inside_the_prompt() -> None:
    body = chat(100, 2, 102, cached_tokens=64)
    assert openai_compatible.recognises(body)
    call = only(openai_compatible, body, Context(provider="huggingface"))
    assert counts(call) == {"input_tokens": 100, "cache_read_tokens": 64, "output_tokens": 2}
    assert call.provider == "huggingface"


def test_google_keeps_thinking_in_the_total_alone_where_it_is_unclassified() -> None:
    body = chat(35, 12, 109)
    call = only(openai_compatible, body, Context(provider="google"))
    assert counts(call) == {"input_tokens": 35, "output_tokens": 12}
    assert call.unclassified_tokens == 62
    assert [(finding.reason, finding.detail) for finding in call.findings] == [
        ("tokens_do_not_add_up", "total_tokens 109 <> prompt_tokens 35 + completion_tokens 12 = 47")
    ]
    assert contradiction(openai_compatible, body, Context(provider="together"))[0] == "tokens_do_not_add_up"
    assert contradiction(openai_compatible, chat(35, 12, 46), Context(provider="google"))[0] == "tokens_do_not_add_up"


def test_cohere_charges_billed_units() -> None:
    usage = {
        "billed_units": {"input_tokens": 41, "output_tokens": 28},
        "cached_tokens": 1_040,
        "tokens": {"input_tokens": 1_442, "output_tokens": 29},
    }
    call = only(cohere, {"id": "c", "message": {"content": "canary"}, "usage": usage}, Context(model="command-a"))
    assert counts(call) == {"input_tokens": 41, "output_tokens": 28}
    assert (call.provider, call.surface, call.model) == ("cohere", "chat", "command-a")
    usage["cached_tokens"] = 1_443
    assert contradiction(cohere, {"usage": usage}) == (
        "part_exceeds_whole",
        "cached_tokens 1443 > tokens.input_tokens 1442",
    )


def test_cohere_embeddings_count_images_beside_text_and_searches_have_no_class() -> None:
    billed = {"image_tokens": 9, "input_tokens": 4, "search_units": 2}
    call = only(cohere, {"meta": {"api_version": {"version": "2"}, "billed_units": billed}})
    assert counts(call) == {"input_tokens": 13, "image_input_tokens": 9}
    assert (call.surface, [finding.detail for finding in call.findings]) == (
        "embeddings",
        ["billed_units.search_units 2"],
    )
