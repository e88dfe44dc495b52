"""Does vectorised rating agree with the naive rater, on books and events that nobody chose?"""

from __future__ import annotations

from datetime import UTC, datetime, time, timedelta
from decimal import Decimal
from itertools import pairwise
from random import Random
from typing import Any

import numpy as np
import pytest

from accounting.money import from_minor
from accounting.pricing import rate as rating
from accounting.pricing.book import PriceBook
from accounting.pricing.rate import components, exact_sum, rate
from accounting.pricing.reasons import REASONS
from accounting.pricing.tariff import Alias, Tariff, fallbacks_for
from accounting.usage.classes import PARTS, PRICED_CLASSES, USAGE_COLUMNS
from tests.accounting.pricing.naive import naive_cost
from tests.accounting.pricing.rating import batch

DAY_0 = datetime(2026, 1, 1, tzinfo=UTC)
BOOKS = 50
_ALWAYS = ("uncached_input", "output", "web_search", "web_fetch")
EVENTS = 400


def random_rows(random: Random) -> list[Tariff]:
    rows: list[Tariff] = []
    for model in ("m0", "m1", "m2"):
        for tier in random.sample(["default", "batch", "flex"], random.choice([2, 3, 3, 3])):
            dates = [DAY_0 + timedelta(hours=random.randint(0, 24 * 60)) for _ in range(random.randint(0, 3))]
            limits = [None, *sorted(set(dates)), None]
            spans = list(pairwise(limits))
            if len(spans) > 1 and random.random() < 0.3:
                del spans[random.randrange(len(spans))]
            for start, end in spans:
                rows += random_span(random, model, tier, {"effective_from": start, "effective_until": end})
    return rows


def random_span(random: Random, model: str, tier: str, dates: dict[str, Any]) -> list[Tariff]:
    times = sorted({time(random.randint(0, 23), random.choice([0, 30])) for _ in range(random.choice([0, 0, 2, 3]))})
    windows = list(zip(times, [*times[1:], *times[:1]], strict=True)) if len(times) > 1 else [(None, None)]
    rows = []
    for start, end in windows:
        thresholds = [0, *sorted(random.sample(range(1, 3_000), random.choice([0, 0, 1, 2])))]
        for threshold in thresholds:
            stated = [name for name in PRICED_CLASSES if random.random() < (0.97 if name in _ALWAYS else 0.6)]
            prices = {name: random.choice([0, random.randint(1, 10**11)]) for name in stated or ["output"]}
            withheld = frozenset(
                name for name in ("cache_write", "cache_read") if name not in prices and random.random() < 0.1
            )
            row = Tariff(
                seller="s",
                model=model,
                prices=prices,
                fallbacks=fallbacks_for(prices, withheld),
                service_tier=tier,
                above_input_tokens=threshold,
                operator=random.choice([">", ">="]),
                window_start=start,
                window_end=end,
                **dates,
            )
            rows.append(row)
    return rows


def random_event(random: Random) -> dict[str, Any]:
    event: dict[str, Any] = {
        "provider": "s",
        "model": random.choice(["m0", "m1", "m2", "m3"] if random.random() < 0.1 else ["m0", "m1", "m2"]),
        "tier": random.choice(["default", "batch", "flex"]),
        "at": DAY_0 + timedelta(minutes=random.randint(-5_000, 100_000), microseconds=random.choice([0, 1])),
    }
    event["service_tier"] = (
        event["tier"] if event["tier"] != "default" else random.choice([None, "standard", "default"])
    )
    largest, share = random.choice([10, 3_000, 3_000, 30_000_000]), random.random()
    for name in USAGE_COLUMNS:
        event[name] = random.randint(0, largest) if random.random() < share else 0
    for whole, parts in PARTS.items():
        event[whole] += sum(event[part] for part in parts) if random.random() < 0.98 else 0
    event["output_tokens"] += event["reasoning_tokens"]
    if random.random() < 0.01:
        event[random.choice(USAGE_COLUMNS)] = -1
    return event


@pytest.mark.parametrize("seed", range(BOOKS))
def test_cost_and_reason_are_those_of_the_naive_rater(seed: int) -> None:
    random = Random(seed)
    rows = random_rows(random)
    book = PriceBook(rows, [Alias("s", f"m{at}", f"m{at}", "test") for at in range(3)])
    events = [random_event(random) for _ in range(EVENTS)]
    inp = batch(events)
    out = rate(book, inp)
    for at, event in enumerate(events):
        expected = naive_cost(rows, event)
        reason = REASONS[out.reason[at]]
        if isinstance(expected, str):
            assert reason.split(":")[0] == expected, event
            assert (out.sku_index[at], out.sku_price_id[at], out.list_cost[at]) == (-1, 0, 0)
        else:
            assert (reason, from_minor(int(out.list_cost[at]))) == ("", expected), event
            parts = components(book, inp, out, at)
            assert sum(Decimal(part["effective_cost"]) for part in parts) == expected
            assert book.rows[out.sku_index[at]].sku_price_id == out.sku_price_id[at]
    assert exact_sum(out.list_cost) == sum(out.list_cost.tolist())


def test_order_and_division_into_batches_change_nothing() -> None:
    random = Random(1)
    rows = random_rows(random)
    book = PriceBook(rows, [Alias("s", f"m{at}", f"m{at}", "test") for at in range(3)])
    events = [random_event(random) for _ in range(500)]
    whole = rate(book, batch(events))
    order = np.random.default_rng(0).permutation(len(events))
    shuffled = rate(book, batch([events[at] for at in order]))
    assert (shuffled.list_cost == whole.list_cost[order]).all()
    assert (shuffled.reason == whole.reason[order]).all()
    for start in range(0, len(events), 7):
        some = rate(book, batch(events[start : start + 7]))
        assert (some.list_cost == whole.list_cost[start : start + 7]).all()
        assert (some.sku_price_id == whole.sku_price_id[start : start + 7]).all()


@pytest.mark.parametrize("size", [1, 13, 64])
def test_the_size_of_a_block_changes_nothing(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    random = Random(2)
    book = PriceBook(random_rows(random), [Alias("s", f"m{at}", f"m{at}", "test") for at in range(3)])
    inp = batch([random_event(random) for _ in range(300)])
    whole = rate(book, inp)
    monkeypatch.setattr(rating, "BLOCK", size)
    again = rate(book, inp)
    assert (again.list_cost == whole.list_cost).all()
    assert (again.reason == whole.reason).all()
    assert (again.sku_index == whole.sku_index).all()
