"""Does a charge look as the API promises?"""

from typing import Any

from accounting.pricing.charge import charge
from accounting.pricing.genai_prices_source import list_price_book
from accounting.pricing.rate import rate
from tests.accounting.pricing.rating import batch

EVENT = {
    "provider": "anthropic",
    "model": "claude-opus-4-6",
    "at": "2026-11-01T00:00:00+00:00",
    "uncached_input_tokens": 1_000,
    "cache_write_5m_tokens": 100,
    "output_tokens": 10,
    "reasoning_tokens": 4,
    "web_search_requests": 2,
}


def told(event: dict[str, Any], **more: str) -> dict[str, Any]:
    inp = batch([event])
    return charge(list_price_book(), inp, rate(list_price_book(), inp), 0, "evt-1", **more)


def test_a_priced_charge() -> None:
    found = told(EVENT)
    assert found.pop("sku_price_id") == "4343305a027c5825"
    assert found == {
        "event_id": "evt-1",
        "status": "priced",
        "billing_currency": "USD",
        "list_cost": "0.025875",
        "contracted_cost": "0.025875",
        "effective_cost": "0.025875",
        "billed_cost": "0.025875",
        "components": [
            {
                "token_class": "uncached_input",
                "quantity": 1_000,
                "list_unit_price": "5",
                "effective_unit_price": "5",
                "effective_cost": "0.005",
            },
            {
                "token_class": "cache_write_5m",
                "quantity": 100,
                "list_unit_price": "6.25",
                "effective_unit_price": "6.25",
                "effective_cost": "0.000625",
                "fallback": "cache_write",
            },
            {
                "token_class": "output",
                "quantity": 10,
                "list_unit_price": "25",
                "effective_unit_price": "25",
                "effective_cost": "0.00025",
            },
            {
                "token_class": "web_search",
                "quantity": 2,
                "list_unit_price": "10",
                "effective_unit_price": "10",
                "effective_cost": "0.02",
            },
        ],
        "effective_from": "2026-03-13T00:00:00Z",
        "basis": "price_list",
    }


def test_an_unpriced_charge_has_null_amounts_and_a_reason() -> None:
    assert told(EVENT | {"model": "claude-opus-99"}) == {
        "event_id": "evt-1",
        "status": "unpriced",
        "billing_currency": None,
        "list_cost": None,
        "contracted_cost": None,
        "effective_cost": None,
        "billed_cost": None,
        "components": [],
        "sku_price_id": None,
        "effective_from": None,
        "basis": None,
        "reason": "unknown_model",
    }


def test_an_event_of_a_pool_waits_for_settlement_without_any_price() -> None:
    found = told(EVENT, deployment="pool-a")
    assert found["status"] == "pending_settlement"
    assert found["list_cost"] is found["effective_cost"] is found["sku_price_id"] is None
    assert "reason" not in found


def test_a_free_event_costs_zero_which_is_not_null() -> None:
    free = {
        "provider": "openrouter",
        "model": "google/gemini-2.0-flash-exp:free",
        "at": EVENT["at"],
        "output_tokens": 5,
    }
    assert told(free)["list_cost"] == "0"
    assert told(EVENT | {"at": "2026-01-01T00:00:00+00:00"})["effective_from"] is None
