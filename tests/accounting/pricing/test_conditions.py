"""Does the row for an event's surface, region and deciding tokens hold, the most specific first, and is there a reason where none does?"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from accounting.errors import PriceBookError
from accounting.pricing.book import PriceBook
from accounting.pricing.rate import rate
from accounting.pricing.reasons import REASONS
from accounting.pricing.tariff import Alias, Tariff
from tests.accounting.pricing.rating import batch

APRIL = datetime(2026, 4, 1, tzinfo=UTC)


def row(price: int, **conditions: Any) -> Tariff:
    return Tariff(seller="aws", model="m", prices={"uncached_input": price, "output": price}, **conditions)


def told(rows: list[Tariff], *events: dict[str, Any]) -> list[int | str]:
    """Cost of one token of output by default, or the reason there is none."""
    book = PriceBook(rows, [Alias("aws", "m", "m", "test")])
    sent = [
        {"provider": "aws", "model": "m", "at": "2026-03-01T00:00:00+00:00", "output_tokens": 1} | e for e in events
    ]
    out = rate(book, batch(sent))
    return [REASONS[code] or cost for code, cost in zip(out.reason.tolist(), out.list_cost.tolist(), strict=True)]


def places(*pairs: tuple[str | None, str | None]) -> list[dict[str, Any]]:
    return [{"surface": surface, "region": region} for surface, region in pairs]


def test_surface_and_region_then_surface_then_region_then_all() -> None:
    rows = [row(1), row(2, region="eu"), row(3, surface="responses"), row(4, surface="responses", region="eu")]
    events = places(
        (None, None), ("chat", "us"), (None, "EU"), ("Responses", None), ("responses", "us"), ("responses", "eu")
    )
    assert told(rows, *events) == [1, 1, 2, 3, 3, 4]


def test_a_surface_comes_before_a_region() -> None:
    assert told([row(2, region="eu"), row(3, surface="responses")], *places(("responses", "eu"))) == [3]


def test_without_a_row_for_all_another_region_or_surface_has_no_price() -> None:
    regions = [row(2, region="eu"), row(3, region="us")]
    assert told(regions, *places((None, "eu"), (None, "ap"), (None, None))) == [2, *["no_price_for_region"] * 2]
    surfaces = [row(2, surface="chat"), row(3, surface="responses", region="eu")]
    assert told(surfaces, *places(("chat", "ap"), ("messages", "eu"), ("responses", "ap"))) == [
        2,
        "no_price_for_surface",
        "no_price_for_region",
    ]


def test_a_regions_row_that_has_ended_leaves_the_row_for_all_in_force() -> None:
    rows = [row(1), row(2, region="eu", effective_until=APRIL)]
    assert told(rows, {"region": "eu"}, {"region": "eu", "at": "2026-04-01T00:00:00+00:00"}) == [2, 1]


def test_the_beginning_of_a_name_decides_over_the_region_logged() -> None:
    rows = [row(1), row(2, region="eu"), row(3, region="us")]
    assert told(rows, {"model": "us.m", "region": "eu"}, {"model": "m", "region": "eu"}, {"model": "jp.m"}) == [3, 2, 1]


@pytest.mark.parametrize(
    ("decided_by", "costs"),
    [
        ("total_input", [1_001, 2_402, 1_401, 2_602]),
        ("uncached_input", [1_001, 1_201, 1_401, 2_602]),
        ("output", [1_001, 1_201, 2_802, 1_301]),
        ("total", [2_002, 2_402, 2_802, 2_602]),
    ],
)
def test_the_stated_tokens_decide_a_threshold(decided_by: str, costs: list[int]) -> None:
    """A token costs 1, of the whole request 2 beyond 1,000 of the deciding ones; cached input costs as fresh."""
    fallbacks = {"cache_read": "uncached_input"}
    rows = [row(1, fallbacks=fallbacks), row(2, above_input_tokens=1_000, decided_by=decided_by, fallbacks=fallbacks)]
    counts = [(600, 400, 1), (600, 600, 1), (0, 400, 1_001), (1_300, 0, 1)]
    names = ("uncached_input_tokens", "cache_read_tokens", "output_tokens")
    assert told(rows, *(dict(zip(names, count, strict=True)) for count in counts)) == costs


def test_two_deciders_in_one_row_of_thresholds_are_refused() -> None:
    rows = [row(1), row(2, above_input_tokens=10, decided_by="output"), row(3, above_input_tokens=20)]
    with pytest.raises(PriceBookError, match="output and total_input decide"):
        PriceBook(rows, [])
