"""Do our list prices agree with what several public price lists say, where those agree with each other?"""

from __future__ import annotations

import csv
from collections import Counter

from accounting.money import format_minor, format_plain, parse_amount
from accounting.pricing.genai_prices_source import list_price_book
from accounting.pricing.rate import rate
from accounting.pricing.reasons import REASONS
from tests.accounting.pricing.rating import batch
from tests.shared_data import shared

AT = "2026-08-20T20:00:00+00:00"
"""The day between the lists' own (2026-08-05 to 08-22) that no price of theirs changed on; at night, as DeepSeek's rows are."""

OTHERS = ("litellm_1.97.0_before_2026-08-22", "langfuse_6275144_2026-08-22")
"""Lists of sellers' own prices that are not our source."""

LISTS = (*OTHERS, "genai_prices_47df840_2026-08-21", "openrouter_via_genai_prices")

COLUMNS = {
    "in": "uncached_input_tokens",
    "cr": "cache_read_tokens",
    "cw": "cache_write_tokens",
    "cw1h": "cache_write_1h_tokens",
    "out": "output_tokens",
}
SELLERS = {
    "gpt": "openai",
    "o1": "openai",
    "o3": "openai",
    "o4": "openai",
    "claude": "anthropic",
    "gemini": "google",
    "deepseek": "deepseek",
    "mistral": "mistral",
    "grok": "x-ai",
    "kimi": "moonshotai",
}
NAMES = {"kimi-k2-0905": "kimi-k2-0905-preview", "mistral-small": "mistral-small-3.2-24b-instruct"}
"""Exact names, where the data set's is none: `mistral-small` is a family of versions at different prices."""

OTHERWISE = {
    ("deepseek-chat", "cw"): "a write is no class of DeepSeek's: priced as fresh input here, as nothing by one list",
}
"""(model, field) -> why ours is none of the prices stated."""


def rows(disagreeing: bool, lists: tuple[str, ...]) -> list[tuple[str, str, set[str]]]:
    """(model, field, prices) of the lines on which the lists agree, or do not."""
    with shared("price-crosscheck/crosscheck_2026-08.csv").open(encoding="utf-8") as file:
        lines = [line for line in csv.DictReader(file) if bool(line["verdict"]) == disagreeing]
    found = []
    for line in lines:
        prices = {format_plain(parse_amount(line[name])) for name in lists if line[name] not in ("-", "absent")}
        if prices:
            found.append((line["model"], line["field_usd_per_mtok"], prices))
    return found


def ours(model: str, field: str) -> tuple[str, str]:
    """Seller, and the price of a million tokens or the reason there is none."""
    seller = SELLERS[model.split("-", maxsplit=1)[0]]
    name = NAMES.get(model, model.replace(".", "-") if seller == "anthropic" else model)
    out = rate(list_price_book(), batch([{"provider": seller, "model": name, "at": AT, COLUMNS[field]: 1_000}]))
    return seller, REASONS[out.reason[0]] or format_minor(int(out.list_cost[0]) * 1_000)


def test_every_price_on_which_the_lists_agree_is_ours() -> None:
    found = {(model, field): (ours(model, field)[1], stated) for model, field, stated in rows(False, OTHERS)}
    assert {place for place, (price, stated) in found.items() if price not in stated} == OTHERWISE.keys()


def test_where_the_lists_disagree_ours_is_a_price_that_one_of_them_states() -> None:
    found = {(model, field): (ours(model, field)[1], stated) for model, field, stated in rows(True, LISTS)}
    assert {place: one for place, one in found.items() if one[0] not in one[1]} == {}


def test_at_least_three_prices_of_every_provider_are_compared() -> None:
    places = [(model, field) for disagreeing in (False, True) for model, field, _ in rows(disagreeing, LISTS)]
    compared = Counter(ours(model, field)[0] for model, field in places)
    assert compared.keys() == set(SELLERS.values())
    assert min(compared.values()) >= 3
