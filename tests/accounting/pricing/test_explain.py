"""Does the derivation of a cost name every decision, and do its lines add up to the cost?"""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from accounting.pricing.book import PriceBook
from accounting.pricing.contract import Contract, PriceRule, Scope
from accounting.pricing.contracted import bound_rules, contracted_rows
from accounting.pricing.explain import explain
from accounting.pricing.tariff import Alias, Tariff
from tests.accounting.pricing.rating import batch

BILLION = 10**9
ROWS = [
    Tariff(
        seller="aws",
        model="anthropic.m",
        prices={"uncached_input": 2 * BILLION if above else BILLION, "output": 5 * BILLION, "web_search": 10**13},
        fallbacks={"cache_read": "uncached_input"},
        above_input_tokens=above,
        region=region,
        source="list",
        source_version="7",
    )
    for region in (None, "eu")
    for above in (0, 1_000)
]
NAMES = [Alias("aws", "anthropic.m", "anthropic.m", "test")]
AGREED = Contract(
    contract_id="c",
    tenant="t",
    seller="aws",
    currency="USD",
    effective_from=datetime(2026, 1, 1, tzinfo=UTC),
    rules=(
        PriceRule("ten", "discount", Scope(), "0.1"),
        PriceRule("cap", "cap", Scope(token_classes=frozenset({"output"})), "4"),
    ),
    approved_by="bob",
)
EVENT = {
    "provider": "bedrock",
    "model": "eu.anthropic.m-20260101",
    "service_tier": "standard",
    "region": "us-east-1",
    "at": "2026-03-01T00:00:00+00:00",
    "uncached_input_tokens": 900,
    "cache_read_tokens": 101,
    "output_tokens": 10,
    "web_search_requests": 1,
}


def told(contracts: list[Contract], *events: dict[str, Any]) -> list[dict[str, Any]]:
    books = PriceBook(ROWS, NAMES), PriceBook(*contracted_rows(ROWS, NAMES, contracts)) if contracts else None
    inp = batch(events)
    return [explain(*books, inp, number, bound_rules(contracts, NAMES)) for number in range(len(events))]


def test_every_decision_has_a_line() -> None:
    (found,) = told([AGREED], EVENT)
    steps = {line["step"]: line for line in found["lines"]}
    assert list(steps) == [
        *("seller", "model", "service_tier", "surface", "region", "row", "list_row", "threshold", "class", "total"),
    ]
    assert (steps["seller"]["logged"], steps["seller"]["found"]) == ("bedrock", "aws")
    assert (steps["model"]["found"], steps["model"]["how"]) == ("anthropic.m", "without region and date")
    assert (steps["service_tier"]["found"], steps["region"]["found"]) == ("default", "eu")
    assert (steps["row"]["layer"], steps["row"]["region"], steps["row"]["approved_by"]) == (
        "contract rules",
        "eu",
        "bob",
    )
    assert steps["row"]["derived_from"] == steps["list_row"]["sku_price_id"] == ROWS[3].sku_price_text
    assert (steps["list_row"]["source"], steps["list_row"]["source_version"]) == ("list", "7")
    assert (steps["threshold"]["tokens"], steps["threshold"]["above_input_tokens"]) == (1_001, 1_000)


def test_the_lines_of_the_classes_add_up() -> None:
    """900 x 1.8 + 101 x 1.8 + 10 x 4 (4.5, capped) for a million, and 9 a thousand; the list: 2, 2, 5 and 10."""
    (found,) = told([AGREED], EVENT)
    lines = [line for line in found["lines"] if line["step"] == "class"]
    assert [(line["token_class"], line["quantity"], line["list_cost"], line["contracted_cost"]) for line in lines] == [
        ("uncached_input", 900, "0.0018", "0.00162"),
        ("cache_read", 101, "0.000202", "0.0001818"),
        ("output", 10, "0.00005", "0.00004"),
        ("web_search", 1, "0.01", "0.009"),
    ]
    assert [line["rules"] for line in lines] == [
        ["c/ten discount 0.1"],
        ["c/ten discount 0.1"],
        ["c/ten discount 0.1", "c/cap cap 4"],
        ["c/ten discount 0.1"],
    ]
    assert lines[1]["fallback"] == "uncached_input"
    for cost in ("list_cost", "contracted_cost"):
        assert sum(Decimal(line[cost]) for line in lines) == Decimal(found[cost])
    assert (found["list_cost"], found["contracted_cost"], found["currency"]) == ("0.012052", "0.0108418", "USD")


def test_without_a_contract_the_row_stands_once() -> None:
    (found,) = told([], EVENT | {"cache_read_tokens": 0})
    steps = [line["step"] for line in found["lines"]]
    assert ("list_row" in steps, found["list_cost"]) == (False, found["contracted_cost"])
    row = next(line for line in found["lines"] if line["step"] == "row")
    assert (row["layer"], row["sku_price_id"]) == ("list", ROWS[2].sku_price_text)


def test_an_event_without_a_price_is_explained_as_far_as_it_goes() -> None:
    seller, model, tier = told(
        [], EVENT | {"provider": "nobody"}, EVENT | {"model": "m-2"}, EVENT | {"service_tier": "flex"}
    )
    assert [line["step"] for line in seller["lines"]] == ["seller", "total"]
    assert [line["step"] for line in model["lines"]] == ["seller", "model", "total"]
    assert [one["reason"] for one in (seller, model, tier)] == ["unknown_seller", "unknown_model", "no_price_for_tier"]
    assert (tier["status"], tier["list_cost"], tier["contracted_cost"]) == ("unpriced", None, None)


def test_a_class_that_only_the_list_prices_apart_keeps_its_list_cost() -> None:
    listed = Tariff(seller="aws", model="r", prices={"output": 8 * BILLION, "reasoning": 3 * BILLION})
    own = Tariff(seller="aws", model="r", prices={"output": 2 * BILLION}, tenant="t")
    names = [Alias("aws", "r", "r", "test")]
    event = {"provider": "aws", "model": "r", "at": EVENT["at"], "output_tokens": 10, "reasoning_tokens": 4}
    found = explain(
        PriceBook([listed], names), PriceBook(*contracted_rows([listed], names, [], [own])), batch([event]), 0
    )
    lines = [line for line in found["lines"] if line["step"] == "class"]
    assert [(line["token_class"], line["list_cost"], line["contracted_cost"]) for line in lines] == [
        ("output", "0.000048", "0.00002"),
        ("reasoning", "0.000012", None),
    ]
    assert (found["list_cost"], found["contracted_cost"]) == ("0.00006", "0.00002")
