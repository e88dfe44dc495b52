"""PostHog: the event's own flag says whether the cache lies inside the input."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from accounting.usage.formats import posthog
from tests.accounting.usage.formats.family import NOBODY, contradiction, counts, only


def event(**properties: Any) -> dict[str, Any]:
    given = {
        "$ai_provider": "anthropic",
        "$ai_model": "claude-sonnet-4-5",
        "$ai_trace_id": "t-1",
        "$ai_input": [{"role": "user", "content": "canary", "n": 5}],
        "canary property": "canary",
    }
    return {
        "event": "$ai_generation",
        "uuid": "e-1",
        "timestamp": "2026-01-21T14:00:00Z",
        "distinct_id": "user-21",
        "properties": {**given, **{f"$ai_{name}": value for name, value in properties.items()}},
    }


CACHED = {"cache_read_input_tokens": 30, "cache_creation_input_tokens": 20, "input_tokens": 60, "output_tokens": 9}


def test_an_exclusive_input_has_the_cache_beside_it() -> None:
    call = only(posthog, event(**CACHED, cache_reporting_exclusive=True))
    assert counts(call) == {
        "input_tokens": 110,
        "cache_read_tokens": 30,
        "cache_write_tokens": 20,
        "output_tokens": 9,
    }


def test_an_inclusive_input_holds_the_cache() -> None:
    assert counts(only(posthog, event(**CACHED, cache_reporting_exclusive=False)))["input_tokens"] == 60


def test_without_the_flag_only_anthropic_s_own_input_is_exclusive() -> None:
    assert counts(only(posthog, event(**CACHED)))["input_tokens"] == 110
    assert counts(only(posthog, event(**CACHED, provider="openai")))["input_tokens"] == 60


def test_an_inclusive_input_below_its_cache_is_a_contradiction() -> None:
    given = event(**{**CACHED, "input_tokens": 49}, cache_reporting_exclusive=False)
    assert contradiction(posthog, given) == (
        "cached_exceeds_input",
        "$ai_cache_read_input_tokens 30 + $ai_cache_creation_input_tokens 20 = 50 > $ai_input_tokens 49",
    )


def test_writes_may_state_their_lifetimes() -> None:
    call = only(posthog, event(**CACHED, cache_creation_5m_input_tokens=5, cache_creation_1h_input_tokens=15))
    assert counts(call)["cache_write_5m_tokens"] == 5
    assert counts(call)["cache_write_1h_tokens"] == 15
    assert "cache_write_tokens" not in counts(call)


def test_reasoning_lies_beside_the_output_of_google_s_package_only() -> None:
    given = {"input_tokens": 9, "output_tokens": 2, "reasoning_tokens": 77, "provider": "gemini"}
    assert counts(only(posthog, event(**given)))["output_tokens"] == 79
    inside = {**given, "output_tokens": 79, "framework": "vercel"}
    assert counts(only(posthog, event(**inside)))["output_tokens"] == 79
    assert contradiction(posthog, event(**{**given, "provider": "openai"})) == (
        "part_exceeds_whole",
        "$ai_reasoning_tokens 77 > $ai_output_tokens 2",
    )


def test_who_when_and_what_it_cost() -> None:
    call = only(posthog, event(**CACHED, total_cost_usd=0.5, web_search_count=2, service_tier="flex", is_error=True))
    assert (call.user_id, call.trace_id, call.event_id, call.service_tier) == ("user-21", "t-1", "e-1", "flex")
    assert (call.status, call.reported_cost_usd) == ("error", Decimal("0.5"))
    assert counts(call)["web_search_requests"] == 2
    assert call.occurred_at == datetime(2026, 1, 21, 14, tzinfo=UTC)


def test_other_events_are_no_calls() -> None:
    trace = {"event": "$ai_trace", "properties": {"$ai_input_tokens": 5}}
    assert posthog.read({"batch": [trace, event(**CACHED)]}, NOBODY)[0].event_id == "e-1"
    assert posthog.read(trace, NOBODY) == []
    assert not posthog.recognises(trace)


def test_missing_counts_are_missing_usage() -> None:
    assert only(posthog, event()).usage is None
    assert counts(only(posthog, event(input_tokens=0, output_tokens=0))) == {}
