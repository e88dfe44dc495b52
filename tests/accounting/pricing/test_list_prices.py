"""Do events cost what the sellers' price lists said on their day? Amounts worked out by hand."""

from typing import Any

import pytest

from accounting.money import format_minor
from accounting.pricing.genai_prices_source import list_price_book
from accounting.pricing.rate import rate
from accounting.pricing.reasons import REASONS
from tests.accounting.pricing.rating import batch


def cost(provider: str, model: str, at: str, **counts: Any) -> str:
    """Cost of one event as plain decimal text, or the reason it has none."""
    out = rate(list_price_book(), batch([{"provider": provider, "model": model, "at": at, **counts}]))
    return REASONS[out.reason[0]] or format_minor(int(out.list_cost[0]))


@pytest.mark.parametrize(
    ("at", "amount"),
    [
        ("2025-06-09T23:59:59.999999+00:00", "10"),
        ("2025-06-10T00:00:00+00:00", "2"),
        ("2025-06-09T20:00:00-05:00", "2"),
    ],
)
def test_o3_got_cheaper_on_2025_06_10(at: str, amount: str) -> None:
    assert cost("openai", "o3", at, uncached_input_tokens=1_000_000) == amount


@pytest.mark.parametrize(
    ("at", "amount"),
    [
        ("2026-07-29T12:00:00+00:00", "0.8"),
        ("2026-07-30T00:00:00+00:00", "0.16"),
        ("2026-07-29T20:00:00-05:00", "0.16"),
    ],
)
def test_gpt_5_6_luna_got_cheaper_on_2026_07_30_utc(at: str, amount: str) -> None:
    assert cost("openai", "gpt-5.6-luna", at, uncached_input_tokens=200_000, output_tokens=100_000) == amount


@pytest.mark.parametrize(
    ("at", "amount"), [("2026-03-12T23:59:59+00:00", "3.0375"), ("2026-03-13T00:00:00+00:00", "1.525")]
)
def test_opus_4_6_lost_its_long_context_price_on_2026_03_13(at: str, amount: str) -> None:
    assert cost("anthropic", "claude-opus-4-6", at, uncached_input_tokens=300_000, output_tokens=1_000) == amount


@pytest.mark.parametrize(("tokens", "amount"), [(200_000, "0.6"), (200_001, "1.200006")])
def test_sonnet_4_5_prices_the_whole_request_higher_beyond_200_000(tokens: int, amount: str) -> None:
    at = "2026-02-01T00:00:00+00:00"
    assert cost("anthropic", "claude-sonnet-4-5", at, uncached_input_tokens=tokens) == amount


def test_cached_tokens_count_towards_the_threshold() -> None:
    counts = {
        "uncached_input_tokens": 1,
        "cache_read_tokens": 150_000,
        "cache_write_tokens": 50_000,
        "output_tokens": 1_000,
    }
    # 1 x 6 + 150,000 x 0.6 + 50,000 x 7.5 + 1,000 x 22.5, each for a million
    assert cost("anthropic", "claude-sonnet-4-5", "2026-02-01T00:00:00+00:00", **counts) == "0.487506"


@pytest.mark.parametrize(
    ("at", "amount"), [("2025-06-01T16:00:00+00:00", "0.27"), ("2025-06-01T16:30:00+00:00", "0.135")]
)
def test_deepseek_chat_is_half_price_from_16_30(at: str, amount: str) -> None:
    assert cost("deepseek", "deepseek-chat", at, uncached_input_tokens=1_000_000) == amount


def test_a_five_minute_write_takes_the_write_price_and_a_one_hour_write_its_own() -> None:
    counts = {"cache_write_5m_tokens": 1_000_000, "cache_write_1h_tokens": 1_000_000}
    assert cost("anthropic", "claude-opus-4-6", "2026-11-01T00:00:00+00:00", **counts) == "16.25"


def test_batch_has_its_own_price_from_the_day_the_source_states_one() -> None:
    counts = {"uncached_input_tokens": 1_000_000, "output_tokens": 100_000}
    assert cost("openai", "gpt-5.6-luna", "2026-10-14T00:00:00+00:00", batch=True, **counts) == "0.29"
    assert cost("openai", "gpt-5.6-luna", "2026-10-13T23:59:59+00:00", batch=True, **counts) == "no_price_in_force"


def test_a_batch_price_that_leaves_cached_input_out_keeps_its_standard_price() -> None:
    counts = {"uncached_input_tokens": 1_000_000, "cache_read_tokens": 1_000_000, "service_tier": "batch"}
    assert cost("openai", "o3", "2026-11-01T00:00:00+00:00", **counts) == "1.5"


def test_a_tier_without_a_price_never_takes_the_default_price() -> None:
    at = "2026-11-01T00:00:00+00:00"
    assert cost("openai", "gpt-4o-mini", at, service_tier="flex", output_tokens=1) == "no_price_for_tier"
    assert cost("openai", "gpt-4o-mini", at, service_tier="auto", output_tokens=1) == "no_price_for_tier"
    assert cost("openai", "o3", at, service_tier="flex", batch=True, output_tokens=1) == "no_price_for_tier"


def test_fast_speed_is_a_tier_of_its_own() -> None:
    at = "2026-11-01T00:00:00+00:00"
    assert cost("anthropic", "claude-opus-4-8", at, service_tier="fast", uncached_input_tokens=1_000_000) == "10"


def test_searches_are_priced_by_the_thousand() -> None:
    at = "2026-11-01T00:00:00+00:00"
    assert cost("anthropic", "claude-sonnet-4-5", at, web_search_requests=3) == "0.03"


def test_anthropic_charges_nothing_for_a_fetch_and_nobody_else_is_assumed_to() -> None:
    at = "2026-11-01T00:00:00+00:00"
    assert cost("anthropic", "claude-sonnet-4-5", at, web_fetch_requests=5) == "0"
    assert cost("openai", "gpt-5", at, web_fetch_requests=5) == "no_price_for_class:web_fetch"


def test_a_request_that_costs_something_by_itself() -> None:
    # 1,000 x 1 + 500 x 1 for a million, and 12 for a thousand requests
    counts = {"uncached_input_tokens": 1_000, "output_tokens": 500}
    assert cost("perplexity", "sonar", "2026-06-01T00:00:00+00:00", **counts) == "0.0135"


def test_reasoning_has_its_own_price_only_where_one_is_stated() -> None:
    at, counts = "2026-06-01T00:00:00+00:00", {"output_tokens": 1_000, "reasoning_tokens": 400}
    # 600 x 8 + 400 x 3 for a million
    assert cost("openrouter", "perplexity/sonar-deep-research", at, **counts) == "0.006"
    assert cost("openai", "gpt-5", at, **counts) == "0.01"


def test_audio_is_taken_out_of_text() -> None:
    counts = {
        "uncached_input_tokens": 1_000,
        "audio_input_tokens": 900,
        "cache_read_tokens": 300,
        "audio_cache_read_tokens": 200,
    }
    # 100 x 0.3 + 900 x 1 + 100 x 0.03 + 200 x 0.1 for a million
    assert cost("google", "gemini-2.5-flash", "2026-06-01T00:00:00+00:00", **counts) == "0.000953"


def test_azure_sells_openai_models_at_openai_prices_but_at_the_standard_tier_only() -> None:
    at = "2026-11-01T00:00:00+00:00"
    assert cost("azure.ai.openai", "gpt-5-2025-08-07", at, uncached_input_tokens=1_000_000) == "1.25"
    assert cost("azure.ai.openai", "gpt-5", at, batch=True, output_tokens=1) == "no_price_for_tier"


def test_a_free_variant_is_priced_at_nothing_and_a_model_without_prices_is_not_priced() -> None:
    at = "2026-06-01T00:00:00+00:00"
    assert cost("openrouter", "google/gemini-2.0-flash-exp:free", at, uncached_input_tokens=8, output_tokens=17) == "0"
    assert cost("cerebras", "qwen-3-coder-480b", at, output_tokens=1) == "no_token_price"
    assert cost("openai", "whisper-1", at, uncached_input_tokens=1) == "no_token_price"


def test_a_price_that_can_not_be_held_leaves_its_class_without_price() -> None:
    at = "2026-11-01T00:00:00+00:00"
    assert cost("openrouter", "google/gemini-2.5-flash", at, cache_write_tokens=1) == "no_price_for_class:cache_write"
    assert cost("openrouter", "google/gemini-2.5-flash", at, uncached_input_tokens=1_000_000) == "0.3"


def test_cached_images_that_may_hide_among_cached_tokens_leave_those_without_price() -> None:
    at = "2026-06-01T00:00:00+00:00"
    assert cost("openai", "gpt-realtime", at, cache_read_tokens=1) == "no_price_for_class:cache_read"
    assert cost("openai", "gpt-realtime", at, uncached_input_tokens=1_000_000) == "4"
