"""OpenAI Chat Completions: input holds the cache, output holds reasoning, and the last chunk of a stream counts."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from accounting.usage.formats import openai_chat
from accounting.usage.wire import Context
from tests.accounting.usage.formats.family import chat, contradiction, counts, only


def test_cached_and_written_tokens_lie_inside_the_prompt() -> None:
    body = chat(2_600, 100, 2_700, prompt_tokens_details={"cached_tokens": 2_000, "cache_write_tokens": 400})
    assert counts(only(openai_chat, body)) == {
        "input_tokens": 2_600,
        "cache_read_tokens": 2_000,
        "cache_write_tokens": 400,
        "output_tokens": 100,
    }


def test_reasoning_and_rejected_predictions_lie_inside_the_completion() -> None:
    details = {"reasoning_tokens": 540, "accepted_prediction_tokens": 10, "rejected_prediction_tokens": 90}
    body = chat(33, 1_603, 1_636, completion_tokens_details=details)
    assert counts(only(openai_chat, body)) == {"input_tokens": 33, "output_tokens": 1_603, "reasoning_tokens": 540}


def test_audio_is_a_part_of_input_and_output() -> None:
    body = chat(
        64,
        29,
        93,
        prompt_tokens_details={"audio_tokens": 44, "text_tokens": 20},
        completion_tokens_details={"audio_tokens": 20},
    )
    assert counts(only(openai_chat, body)) == {
        "input_tokens": 64,
        "audio_input_tokens": 44,
        "output_tokens": 29,
        "audio_output_tokens": 20,
    }


def test_details_that_are_null_or_absent_are_none() -> None:
    expected = {"input_tokens": 10, "output_tokens": 2}
    assert counts(only(openai_chat, chat(10, 2))) == expected
    assert counts(only(openai_chat, chat(10, 2, 12, prompt_tokens_details={"cached_tokens": None}))) == expected


def test_the_body_says_which_call_it_was() -> None:
    body = chat(10, 2, 12) | {"service_tier": "flex"}
    call = only(openai_chat, body, Context(model="m", user_id="u"))
    assert (call.provider, call.surface, call.model, call.response_model) == ("openai", "chat_completions", "m", "m-1")
    assert (call.response_id, call.service_tier, call.batch) == ("chatcmpl-1", "flex", None)
    assert call.occurred_at == datetime(2026, 5, 28, 20, 26, 40, tzinfo=UTC)


def test_the_tier_served_counts_and_not_the_one_asked_for_except_where_the_body_never_tells() -> None:
    body = chat(10, 2, 12) | {"service_tier": "default"}
    asked = Context(requested_service_tier="priority")
    assert only(openai_chat, body, asked).service_tier == "default"
    asked = Context(requested_service_tier="priority", provider="openai_codex")
    assert only(openai_chat, body, asked).service_tier == "priority"


def test_running_totals_of_a_stream_are_not_added() -> None:
    chunks = [
        {"id": "", "object": "chat.completion.chunk", "model": "", "choices": []},
        {"id": "c", "object": "chat.completion.chunk", "model": "m-1", "choices": [], "usage": None},
        {"id": "c", "model": "m-1", "usage": {"prompt_tokens": 1_200, "completion_tokens": 50, "total_tokens": 1_250}},
        {"id": "c", "model": "m-1", "usage": {"prompt_tokens": 1_200, "completion_tokens": 180, "total_tokens": 1_380}},
    ]
    call = only(openai_chat, chunks)
    assert counts(call) == {"input_tokens": 1_200, "output_tokens": 180}
    assert (call.response_id, call.model) == ("c", "m-1")


def test_a_stream_without_usage_is_a_call_whose_usage_is_missing() -> None:
    chunks = [
        {"id": "c", "object": "chat.completion.chunk", "model": "m-1", "choices": [{"delta": {"content": "canary"}}]}
    ]
    call = only(openai_chat, chunks)
    assert (call.usage, call.model, call.status) == (None, "m-1", None)
    assert only(openai_chat, chat(1, 1) | {"usage": None}).usage is None
    assert only(openai_chat, chat(1, 1) | {"usage": {}}).usage is None


def test_an_error_is_a_failed_call_without_usage() -> None:
    call = only(openai_chat, {"error": {"message": "canary", "type": "server_error", "code": "overloaded"}})
    assert (call.status, call.usage) == ("error", None)
    assert call.usage_body == {"error": {"code": "overloaded", "type": "server_error"}}


def test_two_calls_in_one_stream_are_not_merged() -> None:
    assert contradiction(openai_chat, [chat(1, 1), chat(2, 2) | {"id": "chatcmpl-2"}]) == (
        "mixed_responses",
        "2 chunks carry 2 different ids",
    )


@pytest.mark.parametrize(
    ("body", "reason", "equation"),
    [
        (
            chat(2_006, 301, 2_306),
            "tokens_do_not_add_up",
            "total_tokens 2306 <> prompt_tokens 2006 + completion_tokens 301 = 2307",
        ),
        (
            chat(5_000, 100, 5_100, prompt_tokens_details={"cached_tokens": 8_000}),
            "cached_exceeds_input",
            "prompt_tokens_details.cached_tokens 8000 > prompt_tokens 5000",
        ),
        (
            chat(10, 2, 12, prompt_tokens_details={"cached_tokens": 6, "cache_write_tokens": 5}),
            "cached_exceeds_input",
            "prompt_tokens_details.cached_tokens 6 + prompt_tokens_details.cache_write_tokens 5 = 11 > prompt_tokens 10",
        ),
        (
            chat(10, 2, 12, completion_tokens_details={"reasoning_tokens": 3}),
            "part_exceeds_whole",
            "completion_tokens_details.reasoning_tokens 3 > completion_tokens 2",
        ),
        (
            chat(10, 2, 12, prompt_tokens_details={"audio_tokens": 6, "text_tokens": 5}),
            "part_exceeds_whole",
            "prompt_tokens_details.text_tokens 5 + prompt_tokens_details.audio_tokens 6 = 11 > prompt_tokens 10",
        ),
        (chat(-1, 2), "negative_count", "prompt_tokens -1 < 0"),
        (chat(10, True), "not_a_count", "completion_tokens is true"),
        (chat(10, "canary"), "not_a_count", "completion_tokens is a string of 6 characters"),
        (chat(10, None, 10), "count_missing", "completion_tokens is absent"),
        (chat(10, 2, prompt_tokens_details=["canary"]), "not_an_object", "prompt_tokens_details is an array"),
        (chat(1, 1) | {"usage": "canary"}, "not_an_object", "usage is a string of 6 characters"),
        (chat(1, 1) | {"model": ["canary"]}, "not_a_name", "model is an array"),
        ({"canary": 1}, "unknown_format", "neither usage nor any of choices, data, error, object, output, status"),
        ([], "unknown_format", "neither usage nor any of choices, data, error, object, output, status"),
        (["canary"], "not_an_object", "chunk 0 is a string of 6 characters"),
    ],
)
def test_a_body_that_contradicts_itself_says_with_which_numbers(body: Any, reason: str, equation: str) -> None:
    assert contradiction(openai_chat, body) == (reason, equation)


def test_cached_tokens_of_a_mixed_prompt_are_text_as_far_as_that_goes_and_this_is_said() -> None:
    body = chat(1_000, 1, 1_001, prompt_tokens_details={"cached_tokens": 700, "audio_tokens": 400})
    call = only(openai_chat, body)
    assert counts(call) == {
        "input_tokens": 1_000,
        "cache_read_tokens": 700,
        "audio_input_tokens": 300,
        "audio_cache_read_tokens": 100,
        "output_tokens": 1,
    }
    assert [finding.reason for finding in call.findings] == ["modality_of_cache_unstated"]
    assert call.findings[0].detail == (
        "prompt_tokens_details.cached_tokens 700, prompt_tokens_details.audio_tokens 400: 100 taken as cached"
    )


def test_two_modalities_that_must_share_cached_tokens_can_not_be_told_apart() -> None:
    details = {"cached_tokens": 900, "audio_tokens": 400, "image_tokens": 300}
    assert contradiction(openai_chat, chat(1_000, 1, prompt_tokens_details=details))[0] == "modality_of_cache_unstated"
