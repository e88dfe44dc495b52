"""Which scenarios of the data set need no database? Names, prices, windows and sums."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from accounting.errors import MoneyError, PriceBookError
from accounting.ledger.stated_total import Stated, compare
from accounting.money import exact_sum, format_minor, format_plain, from_minor, parse_unit_price, split, to_minor
from accounting.pricing.book import PriceBook
from accounting.pricing.contract import Contract, PriceRule, Scope
from accounting.pricing.contracted import contracted_rows
from accounting.pricing.entry import tariff_from_entry
from accounting.pricing.layers import rate_layers
from accounting.pricing.rate import rate
from accounting.pricing.reasons import REASONS
from accounting.pricing.tariff import Alias, Tariff
from accounting.reports.base import Column, Node
from accounting.reports.footing import printed
from accounting.reports.query import ReportQuery
from accounting.revenue.recurring import Recurring, monthly_recurring
from accounting.usage.formats.fields import amount
from accounting.usage.items import contexts
from accounting.usage.prepare_wire import prepare_wire
from accounting.usage.wire import Context
from tests.accounting.pricing.rating import batch
from tests.cases.rows import cases, row


@cases("B4")
def test_a_negative_price_is_refused_and_its_model_stays_unpriced(case_id: str) -> None:
    scenario, expected = row(case_id)["scenario"], row(case_id)["expected"]
    entry, model = scenario["entry"], scenario["entry"]["model"]
    assert (expected["entry_status"], expected["reason"]) == ("rejected", "negative_price")
    assert entry["unit"] == "per_million_tokens"
    with pytest.raises(MoneyError, match=r"uncached_input='-636\.385': a unit price can't be negative"):
        tariff_from_entry({"seller": "sber", **{name: text for name, text in entry.items() if name != "unit"}})
    with pytest.raises(PriceBookError, match="price of output is -636385000000"):
        Tariff(seller="sber", model=model, prices={"output": -636_385_000_000})
    event = {"provider": "sber", "model": model, "at": row(case_id)["event_time"], **scenario["then_usage"]}
    rated = rate(PriceBook([], [Alias("sber", model.lower(), model, "case")]), batch([event]))
    assert (expected["usage_status"], expected["cost_usd"]) == ("unpriced", None)
    assert (REASONS[rated.reason[0]], rated.sku_index[0]) == ("no_token_price", -1)


@cases("J4")
def test_names_match_a_contract_before_the_list_and_exactly_or_without_a_date_of_the_calendar(case_id: str) -> None:
    scenario = row(case_id)["scenario"]
    price = {"uncached_input": 1}
    own = [Tariff(seller="case", model=name, prices=price, tenant="acme") for name in scenario["contract_prices"]]
    listed = [Tariff(seller="case", model=name, prices=price) for name in scenario["list_prices"]]
    names = [Alias("case", name, name, "case") for name in scenario["list_prices"]]
    book = PriceBook(*contracted_rows(listed, names, [], own))
    at = row(case_id)["event_time"]
    events = [{"provider": "case", "model": name, "at": at, "output_tokens": 0} for name in scenario["names"]]
    places = rate(book, batch(events)).sku_index.tolist()
    rows = [None if place < 0 else book.rows[place] for place in places]
    found = [one and f"{'list' if one.tenant is None else 'contract'}:{one.model}" for one in rows]
    assert dict(zip(scenario["names"], found, strict=True)) == row(case_id)["expected"]["matches"]


@cases("E8")
def test_the_first_price_of_a_catalogue_is_no_list_price(case_id: str) -> None:
    """Each endpoint is a row of its own seller and tier, whatever the order; the tag says which."""
    scenario, expected = row(case_id)["scenario"], row(case_id)["expected"]
    rows = []
    for endpoint in scenario["endpoints"]:
        seller, _, tier = endpoint["tag"].partition("/")
        prices = {name: endpoint[name] for name in ("uncached_input", "output")}
        entry = {
            "seller": seller,
            "model": scenario["model"],
            "service_tier": tier,
            "source": endpoint["tag"],
            **prices,
        }
        rows.append(tariff_from_entry(entry, rows))
    names = [Alias(one.seller, one.model, one.model, "case") for one in rows if one.service_tier == "default"]
    event = {"at": row(case_id)["event_time"], "model": scenario["model"], **scenario["usage"]}
    event |= {name: scenario["wanted"][name] for name in ("provider", "service_tier")}
    for order in (rows, rows[::-1]):
        book = PriceBook(order, names)
        rated = rate(book, batch([event, event | {"service_tier": "flex"}]))
        assert book.rows[rated.sku_index[0]].source == expected["chosen_tag"]
        assert [format_minor(cost) for cost in rated.list_cost.tolist()] == [expected["cost_usd"], "0.02"]


@cases("L4")
def test_a_month_of_a_zone_begins_and_ends_at_its_own_midnight(case_id: str) -> None:
    scenario = row(case_id)["scenario"]
    assert scenario["month"] == "2025-01"
    query = ReportQuery.parse("2025-01-01", "2025-02-01", scenario["timezone"])
    found = {"start_utc": query.parameters()["since"], "end_utc": query.parameters()["until"]}
    assert found == row(case_id)["expected"]


@cases("M3")
def test_a_runs_total_never_counts_beside_its_calls(case_id: str) -> None:
    """Each run as its tracer sends it: the span of its one call, and the agent's span with the total that the next run carries on."""
    readings, expected = row(case_id)["scenario"]["readings"], row(case_id)["expected"]
    own: list[int] = []
    for reading in readings:
        own.append(reading["reported_tokens"] - (own[-1] if reading["includes_earlier"] else 0))
    assert own == expected["per_run_tokens"]
    spans = [
        span
        for number, (reading, tokens) in enumerate(zip(readings, own, strict=True))
        for span in (
            _span(number, "chat", {"gen_ai.usage.input_tokens": tokens}),
            _span(number, "invoke_agent", {"gen_ai.aggregated_usage.input_tokens": reading["reported_tokens"]}),
        )
    ]
    body = {"resourceSpans": [{"scopeSpans": [{"spans": spans}]}]}
    prepared = prepare_wire("otlp", [(body, Context())], datetime(2026, 9, 2, tzinfo=UTC))
    booked = prepared.batch["uncached_input_tokens"].to_pylist()
    assert (booked, sum(booked)) == (expected["per_run_tokens"], expected["total_tokens"])
    assert prepared.aggregates == len(readings)


@cases("M3")
def test_a_total_that_the_sender_calls_carried_is_counted_as_an_aggregate_and_never_added(case_id: str) -> None:
    """The same without spans: one body a call, and a body with each run's total, which says itself whose tokens it counts."""
    readings, expected = row(case_id)["scenario"]["readings"], row(case_id)["expected"]
    known: dict[str, Any] = {"occurred_at": "2026-09-01T00:00:00Z"}
    items = [
        {"response": _chat(f"call-{number}", tokens), "context": known}
        for number, tokens in enumerate(expected["per_run_tokens"])
    ]
    items += [
        {"response": _chat(f"run-{number}", reading["reported_tokens"]), "context": known | {"totals": "carried"}}
        for number, reading in enumerate(readings)
    ]
    prepared = prepare_wire("openai_chat", contexts(items, "openai_chat"), datetime(2026, 9, 2, tzinfo=UTC))
    booked = prepared.batch["uncached_input_tokens"].to_pylist()
    assert (booked, sum(booked)) == (expected["per_run_tokens"], expected["total_tokens"])
    assert (prepared.aggregates, prepared.rejected, prepared.suspended) == (len(readings), [], [])


def _chat(response_id: str, tokens: int) -> dict[str, Any]:
    usage = {"prompt_tokens": tokens, "completion_tokens": 0, "total_tokens": tokens}
    return {"id": response_id, "object": "chat.completion", "model": "gpt-4o", "usage": usage}


def _span(run: int, operation: str, counts: dict[str, int]) -> dict[str, Any]:
    words = {"gen_ai.operation.name": operation, "gen_ai.provider.name": "openai", "gen_ai.request.model": "gpt-4o"}
    attributes = [{"key": key, "value": {"stringValue": word}} for key, word in words.items()]
    attributes += [{"key": key, "value": {"intValue": str(count)}} for key, count in counts.items()]
    own = f"{run + 1:015x}{0 if operation == 'chat' else 1}"
    times = {"startTimeUnixNano": "1788220800000000000", "endTimeUnixNano": "1788220801000000000"}
    return {"traceId": f"{run + 1:032x}", "spanId": own, "name": operation, "attributes": attributes, **times}


@cases("M16")
def test_a_cost_split_over_teams_adds_up_to_itself(case_id: str) -> None:
    scenario, expected = row(case_id)["scenario"], row(case_id)["expected"]
    teams = scenario["teams"]
    parts = split(to_minor(scenario["cost_usd"]), [1] * len(teams), teams)
    assert [format_minor(part) for part in parts] == [expected["each_usd"]] * 5
    assert format_minor(sum(parts)) == expected["sum_usd"]


@cases("N2")
def test_ten_equal_amounts_add_up_exactly(case_id: str) -> None:
    amounts = np.array([to_minor(text) for text in row(case_id)["scenario"]["amounts_usd"]], np.int64)
    assert format_minor(exact_sum(amounts)) == row(case_id)["expected"]["total_usd"]


@cases("N4")
def test_an_amount_just_below_two_cents_is_printed_as_two(case_id: str) -> None:
    """Twenty decimals are more than any amount has here: a cost with them is refused, a reported one is kept with 18, never cut."""
    scenario, expected = row(case_id)["scenario"], row(case_id)["expected"]
    with pytest.raises(MoneyError, match="more than 15 decimals can't be held exactly"):
        to_minor(scenario["amount_usd"])
    kept = amount({"cost": Decimal(scenario["amount_usd"])}, "cost", {})
    assert kept == Decimal("0.019999999999999999")
    [(_, cents)] = printed([Node({"row": "total", "effective_cost": kept})], [Column("effective_cost", "money")])
    assert (scenario["round_to"], cents) == ("0.01", {"effective_cost": int(Decimal(expected["shown_usd"]) * 100)})


@cases("N5")
def test_a_price_that_does_not_end_keeps_its_unit(case_id: str) -> None:
    """A credit at a cent, through a divisor of 1.2: 1/120 dollar. A million credits are 8,333.333333333 dollars at the price scale."""
    scenario, expected = row(case_id)["scenario"], row(case_id)["expected"]
    exact = Fraction(scenario["credit_price_usd"]) / Fraction(scenario["markup_divisor"])
    assert exact == Fraction(expected["cost_per_credit_usd_fraction"])
    price = parse_unit_price("8333.333333333333")
    tariff = Tariff(seller="case", model="credit", prices={"uncached_input": price})
    event = {"provider": "case", "model": "credit", "at": row(case_id)["event_time"], "uncached_input_tokens": 1}
    rated = rate(PriceBook([tariff], [Alias("case", "credit", "credit", "case")]), batch([event]))
    cost = from_minor(int(rated.list_cost[0]))
    assert format_plain(cost) == "0.008333333333333"
    assert abs(Fraction(cost) - exact) < Fraction(1, 10**15)
    assert format_plain(round(cost, 6)) == expected["rounded_6dp_usd"]


@cases("N12", "N12b")
def test_recurring_revenue_spreads_years_over_months_and_counts_no_comped_seat(case_id: str) -> None:
    scenario, expected = row(case_id)["scenario"], row(case_id)["expected"]
    sold = [
        Recurring(one["plan"], to_minor(one["amount_usd"]), one["interval_months"], one["count"], one.get("comped", 0))
        for one in scenario["subscriptions"]
    ]
    found = monthly_recurring(sold)
    assert {plan: format_minor(amount) for plan, amount in found.items()} == expected["by_plan_usd"]
    assert format_minor(sum(found.values())) == expected["mrr_usd"]


@cases("K2")
def test_a_markup_is_taken_on_the_list_price_and_never_on_a_price_already_raised(case_id: str) -> None:
    """24 for a million, raised by half: 36. Rows that a contract made are refused as its list, so that no price is raised twice."""
    scenario, expected = row(case_id)["scenario"], row(case_id)["expected"]
    listed = [Tariff("openrouter", "m", {"uncached_input": int(scenario["real_cost_usd"]) * 10**9})]
    names = [Alias("openrouter", "m", "m", "case")]
    since = datetime(2026, 1, 1, tzinfo=UTC)
    contract = Contract(
        "k",
        "t",
        "openrouter",
        "USD",
        since,
        rules=(PriceRule("markup", "multiplier", Scope(), scenario["markup_factor"]),),
    )
    raised, aliases = contracted_rows(listed, names, [contract])
    event = {
        "provider": "openrouter",
        "model": "m",
        "at": row(case_id)["event_time"],
        "uncached_input_tokens": 1_000_000,
    }
    rated = rate_layers(PriceBook(listed, names), PriceBook(raised, aliases), batch([event]))
    assert format_minor(int(rated.list_cost[0])) == scenario["real_cost_usd"]
    assert format_minor(int(rated.contracted_cost[0])) == expected["charge_usd"]
    with pytest.raises(PriceBookError, match="is a row of t, not of the list"):
        contracted_rows(raised, aliases, [contract])


@cases("I4")
def test_what_a_provider_billed_beyond_the_ledger_was_never_logged(case_id: str) -> None:
    scenario, expected = row(case_id)["scenario"], row(case_id)["expected"]
    found = compare(Decimal(scenario["ledger_usd"]), [Stated("invoice", Decimal(scenario["provider_usd"]), True)])
    assert found.unlogged is not None
    assert found.unlogged_share is not None
    assert (format_plain(found.unlogged), found.reconciled) == (expected["unlogged_usd"], False)
    assert format_plain(round(found.unlogged_share * 100, 1)) == expected["unlogged_share_percent"]


@cases("K5")
def test_a_figure_made_from_our_own_prices_is_never_compared_with(case_id: str) -> None:
    scenario, expected = row(case_id)["scenario"], row(case_id)["expected"]
    figures = [Stated(one["name"], Decimal(one["usd"]), one["independent"]) for one in scenario["references"]]
    found = compare(Decimal(scenario["ledger_usd"]), figures)
    assert found.reference is not None
    assert found.difference is not None
    assert found.reference.name == expected["reference_used"]
    assert (format_plain(found.difference), found.reconciled) == (expected["difference_usd"], expected["reconciled"])
    alone = compare(Decimal(scenario["ledger_usd"]), [one for one in figures if not one.independent])
    assert (alone.reference, alone.difference, alone.reconciled) == (None, None, None)
