"""Does rating keep its promises at the edges: limits, contradictions, unknown names, forms of input?"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from accounting.errors import InvalidInput, NoPriceInForce
from accounting.pricing import match
from accounting.pricing.book import PriceBook
from accounting.pricing.genai_prices_source import list_price_book
from accounting.pricing.rate import RateInput, components, exact_sum, rate
from accounting.pricing.reasons import REASONS
from accounting.pricing.tariff import Alias, Tariff, fallbacks_for
from tests.accounting.pricing.rating import batch

AT = "2026-06-01T00:00:00+00:00"
DOLLAR_EACH = 10**15
PRICES = {"uncached_input": DOLLAR_EACH, "output": 3, "cache_read": 1, "web_search": 10}


def book(**prices: int) -> PriceBook:
    stated = prices or PRICES
    row = Tariff(seller="s", model="m", prices=stated, fallbacks=fallbacks_for(stated))
    return PriceBook([row], [Alias("s", "m", "m", "test")])


def reason(priced_by: PriceBook, **event: Any) -> str:
    out = rate(priced_by, batch([{"provider": "s", "model": "m", "at": AT} | event]))
    unpriced = out.reason[0] != 0
    assert unpriced == (out.sku_index[0] == -1) == (out.sku_price_id[0] == 0) == (out.currency[0].as_py() is None)
    assert not unpriced or out.list_cost[0] == 0
    return REASONS[out.reason[0]]


def test_nine_thousand_is_allowed_and_the_next_unit_is_refused() -> None:
    out = rate(book(), batch([{"provider": "s", "model": "m", "at": AT, "uncached_input_tokens": 9_000}]))
    assert out.list_cost.tolist() == [9_000 * 10**15]
    assert reason(book(), uncached_input_tokens=9_000, output_tokens=1) == "over_limit"
    assert reason(book(), uncached_input_tokens=9_001) == "over_limit"


@pytest.mark.parametrize("tokens", [9_224, 18_447, 36_894, 2**40, 2**50 - 1])
def test_a_cost_that_an_int64_would_wrap_is_refused(tokens: int) -> None:
    assert reason(book(), uncached_input_tokens=tokens) == "over_limit"


@pytest.mark.parametrize("tokens", [2**50, 2**62, 2**63 - 1])
def test_an_absurd_count_is_refused_even_where_it_costs_nothing(tokens: int) -> None:
    assert reason(book(uncached_input=0, output=0), uncached_input_tokens=tokens) == "over_limit"


def test_an_absurd_count_leaves_its_neighbours_alone() -> None:
    events = [
        {"uncached_input_tokens": 2},
        {"uncached_input_tokens": 2**62},
        {"uncached_input_tokens": -1},
        {"output_tokens": 5},
    ]
    out = rate(book(), batch([{"provider": "s", "model": "m", "at": AT} | event for event in events]))
    assert [REASONS[code] for code in out.reason] == ["", "over_limit", "inconsistent", ""]
    assert out.list_cost.tolist() == [2 * DOLLAR_EACH, 0, 0, 15]


def test_many_events_at_the_limit_sum_past_an_int64() -> None:
    event = {"provider": "s", "model": "m", "at": AT, "uncached_input_tokens": 9_000}
    out = rate(book(), batch([event] * 3_000))
    assert exact_sum(out.list_cost) == 27_000_000 * 10**15


@pytest.mark.parametrize(
    ("event", "expected"),
    [
        ({"provider": None}, "unknown_seller"),
        ({"provider": "S2"}, "unknown_seller"),
        ({"model": None}, "unknown_model"),
        ({"model": "m-mini"}, "unknown_model"),
        ({"service_tier": "flex"}, "no_price_for_tier"),
        ({"batch": True}, "no_price_for_tier"),
        ({"cache_read_known": False}, "cache_read_unknown"),
        ({"output_tokens": -1}, "inconsistent"),
        ({"uncached_input_tokens": 5, "audio_input_tokens": 3, "image_input_tokens": 3}, "inconsistent"),
        ({"audio_input_tokens": 1}, "inconsistent"),
        ({"cache_read_tokens": 1, "audio_cache_read_tokens": 2}, "inconsistent"),
        ({"output_tokens": 1, "reasoning_tokens": 2}, "inconsistent"),
        ({"web_fetch_requests": 1}, "no_price_for_class:web_fetch"),
        ({"provider": None, "output_tokens": -1}, "unknown_seller"),
        ({"cache_read_known": False, "output_tokens": -1}, "cache_read_unknown"),
        ({"output_tokens": -1, "web_fetch_requests": 1}, "inconsistent"),
        ({"uncached_input_tokens": 10**6, "web_fetch_requests": 1}, "no_price_for_class:web_fetch"),
    ],
)
def test_the_first_reason_in_the_stated_order_is_given(event: dict[str, Any], expected: str) -> None:
    assert reason(book(), **event) == expected


@pytest.mark.parametrize(
    ("stated", "event", "expected"),
    [
        ({"output": 1}, {"uncached_input_tokens": 1}, "no_price_for_class:uncached_input"),
        ({"output": 1}, {"cache_read_tokens": 1}, "no_price_for_class:cache_read"),
        ({"uncached_input": 1}, {"output_tokens": 1}, "no_price_for_class:output"),
        ({"uncached_input": 1}, {"output_tokens": 1, "image_output_tokens": 1}, "no_price_for_class:image_output"),
        ({"audio_input": 1}, {"uncached_input_tokens": 2, "audio_input_tokens": 2}, ""),
        (
            {"audio_input": 1},
            {"uncached_input_tokens": 3, "audio_input_tokens": 2},
            "no_price_for_class:uncached_input",
        ),
        ({"reasoning": 1}, {"output_tokens": 2, "reasoning_tokens": 2}, ""),
        ({"reasoning": 1}, {"output_tokens": 3, "reasoning_tokens": 2}, "no_price_for_class:output"),
        (
            {"reasoning": 1, "output": 1},
            {"output_tokens": 3, "reasoning_tokens": 2, "audio_output_tokens": 2},
            "inconsistent",
        ),
    ],
)
def test_a_missing_price_is_never_zero(stated: dict[str, int], event: dict[str, int], expected: str) -> None:
    assert reason(book(**stated), **event) == expected


def test_tokens_nobody_used_need_no_price() -> None:
    assert reason(book(output=1)) == ""


def test_the_seller_is_known_even_where_the_price_is_not() -> None:
    events = [{"provider": "AWS.Bedrock", "model": "no-such-model"}, {"provider": "nobody", "model": "gpt-5"}]
    out = rate(list_price_book(), batch([event | {"at": AT} for event in events]))
    assert out.seller.to_pylist() == ["aws", None]
    assert out.currency.to_pylist() == [None, None]


def test_plain_and_encoded_text_rate_alike() -> None:
    models = ["gpt-5", "o3", None, "gpt-5-2025-08-07", "nobody"] * 20
    plain = batch([{"provider": "openai", "model": model, "at": AT, "output_tokens": 7} for model in models])
    expected = rate(list_price_book(), plain)
    encoded = replace(
        plain,
        provider=plain.provider.cast(pa.large_string()),
        model=plain.model.dictionary_encode(),
        service_tier=pa.DictionaryArray.from_arrays(pa.array([0] * 100, pa.int8()), pa.array([None], pa.string())),
    )
    sliced = replace(plain, model=pa.concat_arrays([plain.model[:3], plain.model]).dictionary_encode()[3:])
    wide = replace(plain, model=plain.model.dictionary_encode().cast(pa.dictionary(pa.uint64(), pa.string())))
    chunked = replace(plain, model=pa.chunked_array([plain.model[:30], plain.model[30:]]))
    for other in (encoded, sliced, wide, chunked):
        out = rate(list_price_book(), other)
        assert (out.list_cost == expected.list_cost).all()
        assert (out.reason == expected.reason).all()
        assert out.seller.equals(expected.seller)


def test_columns_that_are_left_out_are_zero() -> None:
    whole = batch([{"provider": "s", "model": "m", "at": AT, "output_tokens": 5}])
    bare = replace(
        whole, batch=None, cache_read_known=None, quantities={"output_tokens": whole.quantities["output_tokens"]}
    )
    assert rate(book(), bare).list_cost.tolist() == [15]
    assert rate(book(), replace(bare, quantities={})).list_cost.tolist() == [0]


def test_nothing_in_nothing_out() -> None:
    out = rate(book(), batch([]))
    assert (len(out.list_cost), len(out.seller), len(out.currency)) == (0, 0, 0)


def test_more_events_than_one_block_and_names_first_seen_late() -> None:
    count = 150_000
    models = np.where(np.arange(count) < count - 3, "m", "late")
    inp = RateInput(
        provider=pa.array(["s"] * count),
        model=pa.array(models),
        service_tier=pa.nulls(count, pa.string()),
        batch=None,
        occurred_at=np.full(count, 1_780_000_000_000_000, np.int64),
        quantities={"output_tokens": np.arange(count, dtype=np.int64)},
    )
    out = rate(book(), inp)
    assert exact_sum(out.list_cost) == 3 * sum(range(count - 3))
    assert [REASONS[code] for code in out.reason[-4:]] == ["", "unknown_model", "unknown_model", "unknown_model"]


def test_too_many_distinct_names_for_a_table_rate_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    events = [{"provider": "s", "model": f"m-2026-01-{day:02}", "at": AT, "output_tokens": day} for day in range(1, 32)]
    events += [{"provider": f"s{n}", "model": "m", "at": AT} for n in range(5)]
    expected = rate(book(), batch(events))
    monkeypatch.setattr(match, "_TABLE_LIMIT", 0)
    out = rate(book(), batch(events))
    assert out.list_cost.tolist() == expected.list_cost.tolist() == [3 * day for day in range(1, 32)] + [0] * 5
    assert (out.reason == expected.reason).all()


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"quantities": {"tokens": np.zeros(1, np.int64)}}, "quantities='tokens'"),
        ({"quantities": {"output_tokens": np.zeros(1, np.float64)}}, "output_tokens="),
        ({"quantities": {"output_tokens": np.zeros(2, np.int64)}}, "output_tokens="),
        ({"occurred_at": np.zeros(1, np.int32)}, "occurred_at="),
        ({"batch": np.zeros(1, np.int8)}, "batch="),
        ({"model": pa.array([1])}, "model="),
        ({"model": pa.array(["m", "m"])}, "model=2"),
    ],
)
def test_a_column_of_the_wrong_kind_is_refused_by_name(change: dict[str, Any], named: str) -> None:
    with pytest.raises(InvalidInput, match=named):
        rate(book(), replace(batch([{"provider": "s", "model": "m", "at": AT}]), **change))


def test_every_currency_keeps_its_name() -> None:
    rows = [Tariff(seller="s", model=name, prices={"output": 1}, currency=name) for name in ("EUR", "USD")]
    both = PriceBook(rows, [Alias("s", name, name, "test") for name in ("EUR", "USD")])
    out = rate(
        both, batch([{"provider": "s", "model": name, "at": AT, "output_tokens": 1} for name in ("usd", "eur", "gbp")])
    )
    assert out.currency.to_pylist() == ["USD", "EUR", None]


def test_an_event_without_a_price_has_no_components() -> None:
    inp = batch([{"provider": "s", "model": "m2", "at": AT}])
    with pytest.raises(NoPriceInForce, match="unknown_model"):
        components(book(), inp, rate(book(), inp), 0)
