"""Does vectorised rating agree with the naive rater, on books and events that nobody chose?"""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, time, timedelta
from decimal import Decimal
from itertools import pairwise
from random import Random
from typing import Any

import numpy as np
import pytest

from accounting.money import from_minor
from accounting.pricing import planned
from accounting.pricing.book import PriceBook
from accounting.pricing.contract import Contract, PriceRule, Scope
from accounting.pricing.contracted import contracted_rows
from accounting.pricing.layers import rate_layers
from accounting.pricing.rate import components, exact_sum, rate
from accounting.pricing.reasons import REASONS
from accounting.pricing.tariff import DECIDED_BY, Alias, Tariff, fallbacks_for
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


def random_conditions(random: Random, tenant: str | None = None) -> list[Tariff]:
    """Rows for some surfaces and regions beside, or instead of, those for all; for a tenant only in a part of them."""
    rows: list[Tariff] = []
    for surface, region in ((None, None), (None, "eu"), (None, "us"), ("messages", None), ("messages", "eu")):
        share = 0.2 if tenant else 0.8 if surface is region is None else 0.5
        of_place = [row for row in random_rows(random) if random.random() < 0.9 or row.above_input_tokens]
        if random.random() < share:
            rows += [replace(row, surface=surface, region=region, tenant=tenant) for row in of_place]
    bases = {_chain(row) for row in rows if not row.above_input_tokens}
    return [row for row in rows if _chain(row) in bases]


def _chain(row: Tariff) -> tuple[object, ...]:
    names = ("tenant", "surface", "region", "model", "service_tier", "effective_from", "window_start")
    return tuple(getattr(row, name) for name in names)


def random_contract(random: Random) -> Contract:
    """Rules of all kinds and scopes over some time; no two fix a price, as that is refused."""
    rules = [random_rule(random, f"r{at}") for at in range(random.randint(0, 6))]
    fixed = [rule for rule in rules if rule.kind == "fixed"]
    start = DAY_0 + timedelta(hours=random.randint(-200, 800))
    return Contract(
        contract_id="c",
        tenant="t",
        seller="s",
        currency="USD",
        effective_from=start,
        effective_until=random.choice([None, start + timedelta(hours=random.randint(1, 900))]),
        rules=tuple(rule for rule in rules if rule not in fixed[1:]),
    )


def random_rule(random: Random, rule_id: str) -> PriceRule:
    def some(names: list[str], share: float) -> frozenset[str] | None:
        return frozenset(random.sample(names, random.randint(1, 2))) if random.random() < share else None

    kind = random.choice(["discount", "discount", "multiplier", "cap", "floor", "fixed"])
    factor = {"discount": f"0.{random.randint(1, 999):03}", "multiplier": f"1.{random.randint(0, 99):02}"}
    start = DAY_0 + timedelta(hours=random.randint(0, 1_000)) if random.random() < 0.2 else None
    return PriceRule(
        rule_id=rule_id,
        kind=kind,  # type: ignore[arg-type]
        scope=Scope(
            models=some(["m0", "m1", "m2"], 0.5),
            service_tiers=some(["default", "batch", "flex"], 0.3),
            token_classes=some(list(PRICED_CLASSES), 0.4),
            surfaces=some(["messages", "responses"], 0.2),
            regions=some(["eu", "us", "apac"], 0.2),
        ),
        value_text=factor.get(kind) or f"{random.randint(0, 90)}.{random.randint(0, 10**9 - 1):09}",
        effective_from=start,
        effective_until=start + timedelta(hours=random.randint(1, 300)) if start and random.random() < 0.5 else None,
    )


def random_span(random: Random, model: str, tier: str, dates: dict[str, Any]) -> list[Tariff]:
    times = sorted({time(random.randint(0, 23), random.choice([0, 30])) for _ in range(random.choice([0, 0, 2, 3]))})
    windows = list(zip(times, [*times[1:], *times[:1]], strict=True)) if len(times) > 1 else [(None, None)]
    rows = []
    for start, end in windows:
        thresholds = [0, *sorted(random.sample(range(1, 3_000), random.choice([0, 0, 1, 2])))]
        decider = random.choice(["total_input", *DECIDED_BY])
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
                decided_by=decider if threshold else "total_input",
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
        "surface": random.choice([None, "messages", "responses"]),
        "region": random.choice([None, "eu", "us", "apac"]),
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


@pytest.mark.parametrize("seed", range(2_000, 2_012))
def test_list_and_contract_cost_under_all_conditions_are_those_of_the_naive_rater(seed: int) -> None:
    compare_under_all_conditions(seed)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(10_000, 10_250))
def test_a_hundred_thousand_pairs_agree(seed: int) -> None:
    compare_under_all_conditions(seed)


def compare_under_all_conditions(seed: int) -> None:
    """400 random events at random list rows, own rows and rules, rated in both layers."""
    random = Random(seed)
    rows, own, contract = random_conditions(random), random_conditions(random, "t"), random_contract(random)
    aliases = [Alias("s", f"m{at}", f"m{at}", "test") for at in range(3)]
    book = PriceBook(rows, aliases)
    contracted = PriceBook(*contracted_rows(rows, aliases, [contract], own))
    since, until = contract.effective_from, contract.effective_until
    rules = [
        replace(rule, effective_from=max(since, rule.effective_from or since))
        for rule in contract.rules
        if rule.effective_until is None or since < rule.effective_until
    ]
    events = [random_event(random) for _ in range(EVENTS)]
    for event in events:
        event["at"] = event["at"].replace(microsecond=0)
    out = rate_layers(book, contracted, batch(events))
    for at, event in enumerate(events):
        in_force = rules if until is None or event["at"] < until else []
        listed, expected = naive_cost(rows, event), naive_cost([*own, *rows], event, in_force)
        reason = REASONS[out.reason[at]]
        if isinstance(expected, str):
            told = "unknown_model" if reason == "no_token_price" else reason.split(":")[0]
            assert told == expected, event
            continue
        assert (reason, from_minor(int(out.contracted_cost[at]))) == ("", expected), event
        assert bool(out.list_known[at]) == isinstance(listed, Decimal), event
        if isinstance(listed, Decimal):
            assert from_minor(int(out.list_cost[at])) == listed, event


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
    monkeypatch.setattr(planned, "BLOCK", size)
    again = rate(book, inp)
    assert (again.list_cost == whole.list_cost).all()
    assert (again.reason == whole.reason).all()
    assert (again.sku_index == whole.sku_index).all()
