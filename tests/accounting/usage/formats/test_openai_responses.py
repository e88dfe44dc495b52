"""OpenAI Responses: inclusive totals, cache writes by lifetime, searches counted from output items, images by their own model."""

from __future__ import annotations

from typing import Any

import pytest

from accounting.usage.formats import openai_responses
from accounting.usage.wire import Context
from tests.accounting.usage.formats.family import NOBODY, contradiction, counts, only, response


def test_cache_writes_are_told_apart_by_lifetime() -> None:
    details = {
        "cached_tokens": 12_000,
        "cache_write_tokens": 6_500,
        "cache_write_tokens_details": {"ttl_30m_tokens": 4_000, "ttl_12h_tokens": 2_000},
    }
    body = response(20_000, 800, 20_800, input_tokens_details=details, output_tokens_details={"reasoning_tokens": 300})
    assert counts(only(openai_responses, body)) == {
        "input_tokens": 20_000,
        "cache_read_tokens": 12_000,
        "cache_write_30m_tokens": 4_000,
        "cache_write_12h_tokens": 2_000,
        "cache_write_tokens": 500,
        "output_tokens": 800,
        "reasoning_tokens": 300,
    }


def _search(action: dict[str, Any] | None) -> dict[str, Any]:
    return {"type": "web_search_call", "id": "ws", "status": "completed"} | ({"action": action} if action else {})


def test_each_search_counts_and_reading_its_pages_does_not() -> None:
    output = [
        _search({"type": "search", "query": "canary"}),
        _search({"type": "open_page", "url": "https://canary"}),
        _search({"type": "find_in_page", "pattern": "canary"}),
        _search(None),
        {"type": "message", "content": [{"type": "output_text", "text": "canary"}]},
        "canary",
    ]
    call = only(openai_responses, response(10, 2, 12, output))
    assert counts(call) == {"input_tokens": 10, "output_tokens": 2, "web_search_requests": 2}
    assert call.findings == ()


def test_a_count_of_searches_in_usage_is_not_taken() -> None:
    body = response(10, 2, 12, server_tool_use={"web_search_requests": 7})
    assert "web_search_requests" not in counts(only(openai_responses, body))


def test_another_count_of_billable_searches_is_only_compared() -> None:
    body = response(10, 2, 12, [_search({"type": "search"})]) | {"tool_usage": {"web_search": {"num_requests": 3}}}
    call = only(openai_responses, body)
    assert counts(call)["web_search_requests"] == 1
    assert [finding.detail for finding in call.findings] == [
        "1 searches among the output items <> tool_usage.web_search.num_requests 3"
    ]


def test_a_stream_counts_by_its_last_event_and_not_twice() -> None:
    created = response(None, None) | {"status": "in_progress", "usage": None}
    events = [
        {"type": "response.created", "response": created},
        {"type": "response.output_text.delta", "delta": "canary"},
        {"type": "response.completed", "response": response(10, 2, 12, [_search({"type": "search"})])},
    ]
    call = only(openai_responses, events)
    assert counts(call) == {"input_tokens": 10, "output_tokens": 2, "web_search_requests": 1}
    assert (call.response_id, call.model, call.status, call.surface) == ("resp_1", "m-1", "ok", "responses")
    assert counts(only(openai_responses, events[2])) == counts(call)


def test_a_stream_that_broke_off_has_no_usage() -> None:
    created = {"type": "response.created", "response": response(None, None) | {"usage": None}}
    call = only(openai_responses, [created, {"type": "response.output_text.delta", "delta": "canary"}])
    assert (call.usage, call.response_id) == (None, "resp_1")


@pytest.mark.parametrize(("status", "said"), [("failed", "error"), ("cancelled", "cancelled"), ("incomplete", "ok")])
def test_how_the_call_ended_is_as_the_body_says(status: str, said: str) -> None:
    assert only(openai_responses, response(10, 2, 12) | {"status": status}).status == said


def test_a_compaction_is_read_as_any_response() -> None:
    body = response(10, 2, 12) | {"object": "response.compaction"}
    assert openai_responses.recognises(body)
    assert counts(only(openai_responses, body)) == {"input_tokens": 10, "output_tokens": 2}


def test_who_and_how_hard_stand_in_the_body() -> None:
    call = only(openai_responses, response(10, 2, 12) | {"user": "u-1", "reasoning": {"effort": "high"}})
    assert (call.user_id, call.reasoning_effort) == ("u-1", "high")


def test_images_drawn_for_a_response_are_a_call_of_the_image_model() -> None:
    body = response(10, 2, 12) | {
        "tools": [{"type": "image_generation", "model": "gpt-image-2"}, {"type": "function", "description": "canary"}],
        "tool_usage": {
            "web_search": {"num_requests": 0},
            "image_gen": {
                "input_tokens": 50,
                "input_tokens_details": {"text_tokens": 20, "image_tokens": 30},
                "output_tokens": 1_000,
                "total_tokens": 1_050,
            },
        },
    }
    main, image = openai_responses.read(body, NOBODY)
    assert counts(main) == {"input_tokens": 10, "output_tokens": 2}
    assert (image.part, image.model, image.surface, image.response_id) == (
        "image_generation",
        "gpt-image-2",
        "images",
        "resp_1",
    )
    assert counts(image) == {
        "input_tokens": 50,
        "cache_read_tokens": None,
        "image_input_tokens": 30,
        "output_tokens": 1_000,
        "image_output_tokens": 1_000,
    }
    assert "canary" not in str(main.usage_body)
    assert [call.usage for call in openai_responses.read(image.usage_body, NOBODY)] == [main.usage, image.usage]


def test_drawings_in_text_are_calls_of_the_model_they_name() -> None:
    drawn = {"input_tokens": 5, "output_tokens": 70, "reasoning_tokens": 60, "total_tokens": 75, "model": "gpt-5.6-sol"}
    body = response(10, 2, 12, [{"type": "image_generation_call", "result": "canary", "svg_usage": drawn}])
    _, svg = openai_responses.read(body, NOBODY)
    assert (svg.part, svg.model) == ("svg-1", "gpt-5.6-sol")
    assert counts(svg) == {"input_tokens": 5, "output_tokens": 70, "reasoning_tokens": 60}
    assert [call.usage for call in openai_responses.read(svg.usage_body, NOBODY)][1] == svg.usage


@pytest.mark.parametrize(
    ("body", "reason", "equation"),
    [
        (response(10, 2, 13), "tokens_do_not_add_up", "total_tokens 13 <> input_tokens 10 + output_tokens 2 = 12"),
        (
            response(10, 2, 12, input_tokens_details={"cached_tokens": 11}),
            "cached_exceeds_input",
            "input_tokens_details.cached_tokens 11 > input_tokens 10",
        ),
        (
            response(
                10,
                2,
                input_tokens_details={"cache_write_tokens": 3, "cache_write_tokens_details": {"ttl_30m_tokens": 4}},
            ),
            "part_exceeds_whole",
            "input_tokens_details.cache_write_tokens_details.ttl_30m_tokens 4 + "
            "input_tokens_details.cache_write_tokens_details.ttl_12h_tokens 0 = 4 > "
            "input_tokens_details.cache_write_tokens 3",
        ),
        (
            response(10, 2, output_tokens_details={"reasoning_tokens": 3}),
            "part_exceeds_whole",
            "output_tokens_details.reasoning_tokens 3 > output_tokens 2",
        ),
        (["canary"], "not_an_object", "event is a string of 6 characters"),
    ],
)
def test_a_body_that_contradicts_itself_says_with_which_numbers(body: Any, reason: str, equation: str) -> None:
    assert contradiction(openai_responses, body) == (reason, equation)


def test_another_seller_of_the_same_surface_is_named_by_the_context() -> None:
    assert only(openai_responses, response(10, 2, 12), Context(provider="aws")).provider == "aws"
