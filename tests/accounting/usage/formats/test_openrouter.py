"""OpenRouter states what it charged; only with one's own key does the vendor's charge come on top."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from accounting.usage.formats import anthropic_messages, openrouter
from tests.accounting.usage.formats.family import NOBODY, chat, contradiction, counts, only, response


@pytest.mark.parametrize(
    ("usage", "reported"),
    [
        (
            {"is_byok": False, "cost": 1.979964e-06, "cost_details": {"upstream_inference_cost": 1.979964e-06}},
            "0.000001979964",
        ),
        ({"is_byok": True, "cost": 0.0006, "cost_details": {"upstream_inference_cost": 0.012}}, "0.0126"),
        ({"is_byok": True, "cost": 0, "cost_details": {"upstream_inference_cost": 0.0003253}}, "0.0003253"),
        ({"cost": 0.0160614, "cost_details": {"upstream_inference_cost": 0.0001764}}, "0.0160614"),
    ],
)
def test_the_reported_cost_is_what_the_caller_paid_in_all(usage: dict[str, Any], reported: str) -> None:
    call = only(openrouter, chat(12, 4, 16, **usage))
    assert openrouter.recognises(chat(12, 4, 16, **usage))
    assert (call.provider, call.reported_cost_usd) == ("openrouter", Decimal(reported))


def test_a_vendors_charge_that_is_not_stated_leaves_the_reported_cost_unknown() -> None:
    call = only(openrouter, chat(12, 4, 16, is_byok=True, cost=0.0006, cost_details={"upstream_inference_cost": None}))
    assert call.reported_cost_usd is None
    assert [finding.reason for finding in call.findings] == ["reported_cost_incomplete"]


def test_no_cost_is_not_a_cost_of_zero() -> None:
    assert only(openrouter, chat(12, 4, 16, is_byok=False)).reported_cost_usd is None


def test_a_negative_cost_is_a_contradiction() -> None:
    assert contradiction(openrouter, chat(12, 4, 16, is_byok=False, cost=-0.1)) == ("not_an_amount", "cost is -0.1")


def test_cache_and_video_are_parts_of_the_prompt() -> None:
    body = chat(
        2_649,
        100,
        2_749,
        is_byok=False,
        prompt_tokens_details={"cached_tokens": 2_000, "cache_write_tokens": 79, "video_tokens": 0},
    )
    assert counts(only(openrouter, body)) == {
        "input_tokens": 2_649,
        "cache_read_tokens": 2_000,
        "cache_write_tokens": 79,
        "output_tokens": 100,
    }
    body = chat(270, 28, 298, is_byok=False, prompt_tokens_details={"video_tokens": 258})
    assert counts(only(openrouter, body))["video_input_tokens"] == 258


def test_responses_are_read_by_their_shape() -> None:
    body = response(4_020, 5, 4_025, is_byok=False, cost=0.025265, input_tokens_details={"cache_write_tokens": 4_012})
    call = only(openrouter, body)
    assert (call.surface, call.reported_cost_usd) == ("responses", Decimal("0.025265"))
    assert counts(call) == {"input_tokens": 4_020, "cache_write_tokens": 4_012, "output_tokens": 5}


def test_messages_keep_their_shape_and_their_cost() -> None:
    body = {
        "id": "gen-1",
        "type": "message",
        "model": "anthropic/claude-sonnet-4.6",
        "usage": {"input_tokens": 3, "cache_read_input_tokens": 7, "output_tokens": 2, "is_byok": False, "cost": 0.25},
    }
    [call] = openrouter.read(body, NOBODY)
    assert (call.provider, call.surface, call.reported_cost_usd) == ("openrouter", "messages", Decimal("0.25"))
    assert counts(call) == {"input_tokens": 10, "cache_read_tokens": 7, "output_tokens": 2}
    assert anthropic_messages.recognises(body)


def test_searches_it_counts_are_units() -> None:
    body = chat(12, 4, 16, is_byok=False, server_tool_use={"web_search_requests": 3})
    assert counts(only(openrouter, body))["web_search_requests"] == 3
