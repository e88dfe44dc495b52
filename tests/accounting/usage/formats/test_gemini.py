"""Gemini: the prompt holds the cache, thoughts stand beside the candidates, and every count has modalities."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from accounting.usage.formats import gemini
from accounting.usage.wire import Context
from tests.accounting.usage.formats.family import NOBODY, contradiction, counts, only


def body(**usage: Any) -> dict[str, Any]:
    return {
        "modelVersion": "gemini-2.5-flash",
        "responseId": "r-1",
        "candidates": [{"content": {"role": "model", "parts": [{"text": "canary-answer"}]}, "index": 0}],
        "usageMetadata": usage,
    }


def modalities(**tokens: int) -> list[dict[str, Any]]:
    return [{"modality": name, "tokenCount": number} for name, number in tokens.items()]


def test_cached_content_lies_inside_the_prompt() -> None:
    given = body(
        promptTokenCount=3_520,
        cachedContentTokenCount=3_512,
        candidatesTokenCount=2,
        thoughtsTokenCount=51,
        totalTokenCount=3_573,
    )
    assert counts(only(gemini, given)) == {
        "input_tokens": 3_520,
        "cache_read_tokens": 3_512,
        "output_tokens": 53,
        "reasoning_tokens": 51,
    }


def test_the_tokens_of_tool_use_are_input() -> None:
    given = body(
        promptTokenCount=17,
        candidatesTokenCount=201,
        thoughtsTokenCount=213,
        toolUsePromptTokenCount=119,
        totalTokenCount=550,
    )
    assert counts(only(gemini, given)) == {"input_tokens": 136, "output_tokens": 414, "reasoning_tokens": 213}


def test_the_total_says_that_candidates_hold_the_thoughts_already() -> None:
    given = body(promptTokenCount=640, candidatesTokenCount=450, thoughtsTokenCount=310, totalTokenCount=1_090)
    assert counts(only(gemini, given)) == {"input_tokens": 640, "output_tokens": 450, "reasoning_tokens": 310}


def test_a_total_that_fits_neither_reading_is_a_contradiction() -> None:
    given = body(promptTokenCount=640, candidatesTokenCount=450, thoughtsTokenCount=310, totalTokenCount=1_200)
    assert contradiction(gemini, given) == (
        "tokens_do_not_add_up",
        "totalTokenCount 1200 <> promptTokenCount 640 + candidatesTokenCount 450 + thoughtsTokenCount 310 = 1400, "
        "nor without thoughts 1090",
    )


def test_each_modality_is_split_into_cached_and_fresh() -> None:
    given = body(
        promptTokenCount=1_000,
        cachedContentTokenCount=300,
        candidatesTokenCount=70,
        totalTokenCount=1_070,
        promptTokensDetails=modalities(TEXT=400, AUDIO=350, IMAGE=100, DOCUMENT=50, VIDEO=100),
        cacheTokensDetails=modalities(AUDIO=200, IMAGE=40, TEXT=60),
        candidatesTokensDetails=modalities(TEXT=10, AUDIO=20, IMAGE=40),
    )
    assert counts(only(gemini, given)) == {
        "input_tokens": 1_000,
        "cache_read_tokens": 300,
        "audio_input_tokens": 150,
        "audio_cache_read_tokens": 200,
        "image_input_tokens": 110,
        "video_input_tokens": 100,
        "output_tokens": 70,
        "audio_output_tokens": 20,
        "image_output_tokens": 40,
    }


def test_cached_tokens_of_unstated_modality_are_text_first_and_said() -> None:
    given = body(
        promptTokenCount=100,
        cachedContentTokenCount=70,
        totalTokenCount=100,
        promptTokensDetails=modalities(TEXT=60, AUDIO=40),
    )
    call = only(gemini, given)
    assert counts(call)["audio_cache_read_tokens"] == 10
    assert counts(call)["audio_input_tokens"] == 30
    assert [finding.detail for finding in call.findings] == [
        "cachedContentTokenCount 70 of TEXT 60, AUDIO 40 taken as TEXT 60, AUDIO 10"
    ]


def test_a_part_above_its_whole_is_a_contradiction() -> None:
    given = body(promptTokenCount=10, totalTokenCount=10, promptTokensDetails=modalities(AUDIO=11))
    assert contradiction(gemini, given) == ("part_exceeds_whole", "promptTokensDetails AUDIO 11 > promptTokenCount 10")
    assert contradiction(gemini, body(promptTokenCount=10, cachedContentTokenCount=11)) == (
        "cached_exceeds_input",
        "cachedContentTokenCount 11 > promptTokenCount 10",
    )


def test_a_live_session_answers_in_response_tokens() -> None:
    given = body(
        promptTokenCount=77,
        responseTokenCount=47,
        thoughtsTokenCount=38,
        totalTokenCount=162,
        promptTokensDetails=modalities(TEXT=17, AUDIO=60),
        responseTokensDetails=modalities(AUDIO=47),
    )
    assert counts(only(gemini, given)) == {
        "input_tokens": 77,
        "audio_input_tokens": 60,
        "output_tokens": 85,
        "reasoning_tokens": 38,
        "audio_output_tokens": 47,
    }


def test_the_tier_is_the_word_of_vertex_or_of_the_gemini_api() -> None:
    vertex = body(promptTokenCount=1, totalTokenCount=1, trafficType="PROVISIONED_THROUGHPUT")
    assert only(gemini, vertex).service_tier == "PROVISIONED_THROUGHPUT"
    assert only(gemini, body(promptTokenCount=1, totalTokenCount=1, serviceTier="flex")).service_tier == "flex"


def test_streamed_chunks_are_cumulative() -> None:
    chunks = [
        body(promptTokenCount=9, totalTokenCount=9),
        body(promptTokenCount=9, candidatesTokenCount=4, totalTokenCount=13),
        body(promptTokenCount=9, candidatesTokenCount=11, totalTokenCount=20)
        | {"createTime": "2026-05-01T10:00:00.5Z"},
    ]
    [call] = gemini.read(chunks, NOBODY)
    assert counts(call) == {"input_tokens": 9, "output_tokens": 11}
    assert (call.response_id, call.occurred_at) == ("r-1", datetime(2026, 5, 1, 10, 0, 0, 500_000, UTC))


def test_a_batch_line_and_the_package_s_own_spelling_are_read() -> None:
    [line] = gemini.read({"key": "k", "response": body(promptTokenCount=3, totalTokenCount=3)}, NOBODY)
    assert (line.batch, counts(line)) == (True, {"input_tokens": 3})
    dumped = {"usage_metadata": {"prompt_token_count": 3, "candidates_token_count": 4, "total_token_count": 7}}
    assert counts(only(gemini, dumped, Context(model="m"))) == {"input_tokens": 3, "output_tokens": 4}


def test_searches_of_grounding_are_a_finding() -> None:
    given = body(promptTokenCount=3, totalTokenCount=3)
    given["candidates"][0]["groundingMetadata"] = {"webSearchQueries": ["canary one", "canary two"]}
    [call] = gemini.read(given, NOBODY)
    assert [finding.detail for finding in call.findings] == ["2 search queries of grounding are not priced"]


def test_no_counts_are_missing_usage() -> None:
    assert only(gemini, body(trafficType="ON_DEMAND")).usage is None
    assert counts(only(gemini, body(promptTokenCount=7))) == {"input_tokens": 7}
