"""What does a contract make of list prices? Every figure worked by hand."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from accounting.errors import PriceBookError
from accounting.money import format_minor
from accounting.pricing.book import PriceBook
from accounting.pricing.contract import Contract, PriceRule, Scope
from accounting.pricing.contracted import bound_rules, contracted_rows, unmet_rules
from accounting.pricing.layers import rate_layers
from accounting.pricing.rate import Rated
from accounting.pricing.reasons import REASONS
from accounting.pricing.tariff import Alias, Tariff, fallbacks_for
from tests.accounting.pricing.rating import batch

MARCH, APRIL = datetime(2026, 3, 1, tzinfo=UTC), datetime(2026, 4, 1, tzinfo=UTC)
BILLION = 10**9
PRICES = {
    "uncached_input": 10 * BILLION,
    "cache_read": 8 * BILLION,
    "cache_write_5m": 12_500_000_000,
    "output": 40 * BILLION,
    "web_search": 10 * 1_000 * BILLION,
}
LIST = Tariff(seller="s", model="m", prices=PRICES, fallbacks=fallbacks_for(PRICES))
NAMES = [Alias("s", "m", "m", "test"), Alias("s", "m-latest", "m", "test")]
IN_MARCH = "2026-03-10T12:00:00+00:00"


def rule(kind: str, value: str, rule_id: str = "", **scope: Any) -> PriceRule:
    names = {name: frozenset([one]) for name, one in scope.items()}
    return PriceRule(rule_id or kind, kind, Scope(**names), value)  # type: ignore[arg-type]


def contract(*rules: PriceRule, **changes: Any) -> Contract:
    stated = {"contract_id": "c", "tenant": "t", "seller": "s", "currency": "USD"}
    return Contract(**(stated | {"effective_from": MARCH, "effective_until": APRIL, "rules": rules} | changes))


def rated(events: list[dict[str, Any]], *agreed: Contract, rows: Any = (LIST,), own: Any = ()) -> Rated:
    book = PriceBook(rows, NAMES)
    both = PriceBook(*contracted_rows(rows, NAMES, agreed, own))
    return rate_layers(book, both, batch([{"provider": "s", "model": "m", "at": IN_MARCH} | event for event in events]))


def costs(out: Rated) -> list[tuple[str, str]]:
    """(list, contracted) of each event."""
    return [
        (format_minor(listed), format_minor(paid))
        for listed, paid in zip(out.list_cost.tolist(), out.contracted_cost.tolist(), strict=True)
    ]


def test_a_discount_a_cap_a_floor_and_a_fixed_price_hold_at_once() -> None:
    """1,000 fresh, 2,000 cached, 400 written, 500 out, 3 searches.

    list:       0.010 + 0.016 + 0.0050 + 0.020 + 0.030 = 0.0810
    contracted: 9 -> 0.009; 7.2, capped at 7 -> 0.014; 11.25, but at least 11.5 -> 0.0046; fixed at 30 -> 0.015; 9 a thousand -> 0.027
    """
    agreed = contract(
        rule("discount", "0.10"),
        rule("cap", "7", token_classes="cache_read"),
        rule("floor", "11.5", token_classes="cache_write_5m"),
        rule("fixed", "30", token_classes="output"),
    )
    event = {
        "uncached_input_tokens": 1_000,
        "cache_read_tokens": 2_000,
        "cache_write_5m_tokens": 400,
        "output_tokens": 500,
        "web_search_requests": 3,
    }
    assert costs(rated([event], agreed)) == [("0.081", "0.0696")]


def test_a_fixed_price_is_capped_and_a_floor_has_the_last_word() -> None:
    event = {"output_tokens": 1_000_000}
    fixed, cap, floor = rule("fixed", "30"), rule("cap", "25"), rule("floor", "28")
    assert costs(rated([event], contract(fixed, cap))) == [("40", "25")]
    assert costs(rated([event], contract(cap, floor, fixed))) == [("40", "28")]


def test_discounts_and_multipliers_multiply_and_are_rounded_once_half_to_even() -> None:
    """In billionths: 3 x 0.5 x 1.8 is 2.7, so 3; with the half rounded by itself (1.5, so 2) it would be 3.6, so 4."""
    tiny = Tariff(seller="s", model="m", prices={"uncached_input": 5, "output": 3, "cache_read": 1})
    half, fifth = rule("discount", "0.5", "half"), rule("multiplier", "1.8", "more")
    made = contracted_rows([tiny], NAMES, [contract(half)])[0][1]
    assert dict(made.prices) == {"uncached_input": 2, "output": 2, "cache_read": 0}  # 2.5 and 1.5 and 0.5 billionths
    assert made.price_texts["uncached_input"] == "0.0000000025"
    both = contracted_rows([tiny], NAMES, [contract(half, fifth)])[0][1]
    assert dict(both.prices) == {"uncached_input": 4, "output": 3, "cache_read": 1}  # 4.5, 2.7 and 0.9


def test_the_list_row_keeps_its_id_before_and_after_the_contract() -> None:
    times = ["2026-02-28T23:59:59.999999+00:00", "2026-03-01T00:00:00+00:00", "2026-03-31T23:59:59.999999+00:00"]
    times += ["2026-04-01T00:00:00+00:00"]
    out = rated([{"at": at, "output_tokens": 1_000_000} for at in times], contract(rule("discount", "0.25")))
    assert costs(out) == [("40", "40"), ("40", "30"), ("40", "30"), ("40", "40")]
    assert (out.sku_price_id == LIST.sku_price_id).tolist() == [True, False, False, True]
    assert (out.list_sku_price_id == LIST.sku_price_id).all()


def test_a_scope_reaches_only_what_it_names() -> None:
    batch_row = Tariff(seller="s", model="m", prices={"output": 20 * BILLION}, service_tier="batch")
    other = Tariff(seller="s", model="n", prices={"output": 40 * BILLION})
    agreed = contract(rule("discount", "0.5", models="m-latest", service_tiers="batch"))
    rows = contracted_rows([LIST, batch_row, other], NAMES, [agreed])[0]
    assert [(row.model, row.service_tier) for row in rows if row.tenant] == [("m", "batch")]


def test_a_rule_about_a_region_makes_a_row_of_it_and_leaves_the_others() -> None:
    events = [{"region": region, "output_tokens": 1_000_000} for region in ("eu", "EU", "us", None)]
    out = rated(events, contract(rule("multiplier", "1.1", regions="eu")))
    assert costs(out) == [("40", "44"), ("40", "44"), ("40", "40"), ("40", "40")]


def test_a_class_that_takes_anothers_price_takes_its_contracted_price_unless_a_rule_names_it() -> None:
    fixed = rule("fixed", "2", token_classes="uncached_input")
    event = {"cache_write_1h_tokens": 1_000_000}
    assert costs(rated([event], contract(fixed))) == [("10", "2")]
    named = rule("discount", "0.2", token_classes="cache_write_1h")
    assert costs(rated([event], contract(fixed, named))) == [("10", "8")]


def test_own_rows_come_before_rules_and_list_and_end_with_the_contract() -> None:
    own = Tariff(
        seller="s", model="m", prices={"output": 5 * BILLION}, tenant="t", effective_from=MARCH, effective_until=APRIL
    )
    events = [{"at": at, "output_tokens": 1_000_000} for at in (IN_MARCH, "2026-04-02T00:00:00+00:00")]
    out = rated(events, contract(rule("discount", "0.5"), effective_until=None), own=[own])
    assert costs(out) == [("40", "5"), ("40", "20")]


def test_a_model_that_only_the_contract_knows_has_no_list_cost() -> None:
    own = Tariff(seller="s", model="private", prices={"output": 5 * BILLION}, tenant="t")
    out = rated([{"model": "private-20260101", "output_tokens": 2}, {"output_tokens": 2}], own=[own])
    assert costs(out) == [("0", "0.00001"), ("0.00008", "0.00008")]
    assert out.list_known.tolist() == [False, True]
    assert out.list_sku_price_id.tolist() == [0, LIST.sku_price_id]


def test_a_list_cost_in_another_currency_is_not_known() -> None:
    own = Tariff(seller="s", model="m", prices={"output": 5 * BILLION}, tenant="t", currency="EUR")
    out = rated([{"output_tokens": 1_000_000}], own=[own])
    assert (costs(out), out.list_known.tolist(), out.currency.to_pylist()) == ([("0", "5")], [False], ["EUR"])


def test_what_neither_layer_prices_has_one_reason() -> None:
    out = rated([{"model": "n", "output_tokens": 1}], contract(rule("discount", "0.5")))
    assert [REASONS[code] for code in out.reason] == ["unknown_model"]
    assert out.list_known.tolist() == [False]


def test_two_fixed_prices_for_one_class_are_refused() -> None:
    agreed = contract(rule("fixed", "1", "a"), rule("fixed", "2", "b", token_classes="output"))
    with pytest.raises(PriceBookError, match="a and b both fix the price of output of s/m"):
        contracted_rows([LIST], NAMES, [agreed])


def test_a_price_in_another_currency_than_the_list_is_refused() -> None:
    with pytest.raises(
        PriceBookError, match="contract c, rule cap: a price in EUR can't be applied to s/m, priced in USD"
    ):
        contracted_rows([LIST], NAMES, [contract(rule("cap", "1"), currency="EUR")])


def test_statements_of_two_tenants_are_refused() -> None:
    with pytest.raises(PriceBookError, match=r"of one tenant are expected, not of \['t', 'u'\]"):
        contracted_rows([LIST], NAMES, [contract(), contract(tenant="u", contract_id="d")])


def test_a_rule_for_a_model_that_is_not_listed_is_told_to_whoever_approves_it() -> None:
    agreed = contract(rule("discount", "0.1", models="m-9"), rule("cap", "1", models="m-latest"))
    assert unmet_rules([agreed], [LIST], NAMES) == ["rule discount of c: s lists no model 'm-9'"]


def test_a_rule_that_changes_no_price_makes_no_row() -> None:
    cap = rule("cap", "50", token_classes="output")
    assert contracted_rows([LIST], NAMES, [contract(cap)])[0] == [LIST]


def test_a_rule_that_begins_as_its_contract_ends_never_holds() -> None:
    late = PriceRule("late", "discount", Scope(), "0.5", effective_from=APRIL)
    assert bound_rules([contract(late)], NAMES) == []
