"""Does machine code give the numpy path's answer, bit by bit? Skipped where the extra `fast` is not installed."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from dataclasses import fields, replace
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from accounting.money import from_minor
from accounting.pricing import compiled
from accounting.pricing.book import PriceBook
from accounting.pricing.contracted import contracted_rows
from accounting.pricing.encode import encode, encode_together
from accounting.pricing.rate import Rated, RateInput, rate
from accounting.pricing.reasons import REASONS
from accounting.pricing.tariff import Alias, Tariff, fallbacks_for
from accounting.usage.classes import USAGE_COLUMNS
from tests.accounting.pricing.naive import naive_cost
from tests.accounting.pricing.rating import batch, list_book
from tests.accounting.pricing.test_against_naive import (
    random_conditions,
    random_contract,
    random_event,
    random_rows,
)

pytest.importorskip("numba")

AT = "2026-06-01T00:00:00+00:00"
NEVER = sys.maxsize


@pytest.fixture
def both(monkeypatch: pytest.MonkeyPatch) -> Callable[[PriceBook, RateInput], Rated]:
    """Rates by machine code, and fails where any field differs from the numpy path's."""

    def run(book: PriceBook, inp: RateInput) -> Rated:
        monkeypatch.setattr(compiled, "LEAST_ROWS", NEVER)
        expected = rate(book, inp)
        monkeypatch.setattr(compiled, "LEAST_ROWS", 0)
        out = rate(book, inp)
        for field in fields(Rated):
            ours, theirs = getattr(out, field.name), getattr(expected, field.name)
            if isinstance(ours, pa.Array):
                assert ours.type == theirs.type, field.name
                assert ours.equals(theirs), field.name
                assert ours.dictionary.equals(theirs.dictionary), field.name
            else:
                assert ours.dtype == theirs.dtype, field.name
                np.testing.assert_array_equal(ours, theirs, field.name)
        return out

    return run


@pytest.mark.parametrize("seed", range(1_000, 1_040))
def test_both_paths_and_the_naive_rater_agree(seed: int, both: Callable[[PriceBook, RateInput], Rated]) -> None:
    random = Random(seed)
    rows = random_rows(random)
    events = [random_event(random) for _ in range(400)]
    out = both(PriceBook(rows, [Alias("s", f"m{at}", f"m{at}", "test") for at in range(3)]), batch(events))
    for at, event in enumerate(events):
        expected, reason = naive_cost(rows, event), REASONS[out.reason[at]]
        if isinstance(expected, str):
            assert reason.split(":")[0] == expected, event
        else:
            assert (reason, from_minor(int(out.list_cost[at]))) == ("", expected), event


@pytest.mark.parametrize("seed", range(20, 32))
def test_surfaces_regions_deciders_and_contracts_agree(
    seed: int, both: Callable[[PriceBook, RateInput], Rated]
) -> None:
    random = Random(seed)
    rows, own, contract = random_conditions(random), random_conditions(random, "t"), random_contract(random)
    names = [Alias("s", f"m{at}", f"m{at}", "test") for at in range(3)]
    both(PriceBook(*contracted_rows(rows, names, [contract], own)), batch([random_event(random) for _ in range(400)]))


@pytest.mark.parametrize("seed", range(20))
def test_hostile_events_at_list_prices_agree(seed: int, both: Callable[[PriceBook, RateInput], Rated]) -> None:
    both(list_book(), hostile(seed, 9_000))


@pytest.mark.parametrize("seed", range(10))
def test_two_currencies_and_missing_columns_agree(seed: int, both: Callable[[PriceBook, RateInput], Rated]) -> None:
    random = Random(seed)
    rows = [replace(row, currency="EUR" if row.model == "m1" else "USD") for row in random_rows(random)]
    book = PriceBook(rows, [Alias("s", f"m{at}", f"m{at}", "test") for at in range(3)])
    inp = batch([random_event(random) for _ in range(500)])
    kept = {name: column for name, column in inp.quantities.items() if random.random() < 0.6}
    both(book, replace(inp, quantities=kept, batch=None, cache_read_known=None))


def test_costs_round_the_limit_agree(both: Callable[[PriceBook, RateInput], Rated]) -> None:
    prices = {"uncached_input": 10**15, "output": 3, "audio_input": 1}
    book = PriceBook(
        [Tariff(seller="s", model="m", prices=prices, fallbacks=fallbacks_for(prices))], [Alias("s", "m", "m", "test")]
    )
    counts = [0, 1, 4_499, 4_500, 4_501, 8_999, 9_000, 9_001, 9_224, 18_447, 2**40, 2**50 - 1, 2**50, 2**62, -1]
    event = {"provider": "s", "model": "m", "at": AT}
    out = both(book, batch([event | {"uncached_input_tokens": count} for count in counts]))
    assert [REASONS[code] for code in out.reason] == [""] * 7 + ["over_limit"] * 7 + ["inconsistent"]
    assert out.list_cost[:7].tolist() == [count * 10**15 for count in counts[:7]]


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string()])
@pytest.mark.parametrize("rows", [slice(0, None), slice(13, 20_001), slice(20_400, None), slice(5, 6)])
def test_texts_get_the_codes_of_the_numpy_path(rows: slice, kind: pa.DataType, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = Random(1)
    stem = "häß-名前-" * 9
    texts = [
        None,
        "",
        "\0",
        "\0\0",
        "a",
        "a\0",
        "1234567",
        "12345678",
        "123456789",
        "é" * 4,
        *(stem[:n] for n in range(50)),
    ]
    texts += [
        f"{'x' * size}{end}" for size in (23, 24, 31, 32, 33, 40, 64) for end in ("", "y", "yyyyyyyyz", "zzzzzzzzz")
    ]
    texts += ["x" * 30 + middle + "x" * 30 for middle in "abc"]
    drawn = [rng.choice(texts) if rng.random() < 0.7 else f"m{rng.randrange(9_000)}" for _ in range(20_500)]
    column = pa.array(drawn, kind)[rows]
    monkeypatch.setattr(compiled, "LEAST_ROWS", NEVER)
    expected = encode("model", column)
    monkeypatch.setattr(compiled, "LEAST_ROWS", 0)
    found = encode("model", column)
    assert found.texts == expected.texts
    np.testing.assert_array_equal(found.codes, expected.codes)


@pytest.mark.parametrize("texts", [["", "", ""], [None, None], ["a"], ["", "ab", None, "abc"]])
def test_hardly_any_bytes_are_read_within_their_bounds(
    texts: list[str | None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compiled, "LEAST_ROWS", 0)
    found = encode("model", pa.array(texts, pa.string()))
    assert [found.texts[code] for code in found.codes] == texts


def test_texts_made_to_collide_fall_back(monkeypatch: pytest.MonkeyPatch) -> None:
    from accounting.pricing.compiled import text  # noqa: PLC0415

    monkeypatch.setattr(compiled, "LEAST_ROWS", 0)
    monkeypatch.setattr(text, "_PATIENCE", 0)
    column = pa.array([f"m{at}" for at in range(3_000)], pa.string())
    assert text.text_codes(column) is None
    assert encode("model", column).texts == column.to_pylist()


def together(providers: list[str | None], models: list[str | None], tiers: list[str | None]) -> list[tuple[Any, ...]]:
    """The three texts of each row, as found again from their codes; fails where one pass could not do it."""
    columns = {"provider": providers, "model": models, "service_tier": tiers}
    (found,) = encode_together({name: pa.array(texts, pa.string()) for name, texts in columns.items()})
    assert len(set(found.texts)) == len(found.texts)
    return [found.texts[code] for code in found.codes]


@pytest.mark.parametrize("seed", range(8))
def test_three_texts_are_told_apart_in_one_pass(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiled, "LEAST_ROWS", 0)
    random, stem = Random(seed), "häß-名前-" * 9
    models = ["", "\0", *(stem[:n] for n in range(50)), *(f"m{at}" for at in range(6_000))]
    models += [f"{'x' * size}{end}" for size in (15, 16, 17, 24, 32, 33, 63, 64) for end in ("", "y", "yyyyyyyyz")]
    models += [f"{'x' * 64}{'y' * at}z{'y' * (19 - at)}" for at in range(20)]
    short: list[str] = ["", "\0", "\0\0", "a", "1234567", "12345678", "123456789", "1234567890123456", "é" * 8]
    drawn = [(random.choice(short), random.choice(models), random.choice([*short, None])) for _ in range(30_000)]
    providers, names, tiers = map(list, zip(*drawn, strict=True))
    assert together(providers, names, tiers) == drawn


def test_bytes_that_move_between_the_texts_make_another_combination(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiled, "LEAST_ROWS", 0)
    rows = [("ab", "c", ""), ("a", "bc", ""), ("", "abc", ""), ("", "", "abc"), ("a", "b", "c"), ("a", "b", None)]
    providers, models, tiers = map(list, zip(*rows, strict=True))
    assert together(providers, models, tiers) == rows


@pytest.mark.parametrize(
    ("provider", "model", "tier"),
    [(None, "m", "t"), ("p", None, "t"), ("p" * 17, "m", "t"), ("p", "m", "t" * 17)],
)
def test_what_one_pass_cannot_hold_is_looked_up_by_columns(
    provider: str | None, model: str | None, tier: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compiled, "LEAST_ROWS", 0)
    columns = {"provider": ["p", provider], "model": ["m", model], "service_tier": ["t", tier]}
    found = encode_together({name: pa.array(texts, pa.string()) for name, texts in columns.items()})
    assert [[part.texts[code] for code in part.codes] for part in found] == [
        [("p",), (provider,)],
        [("m",), (model,)],
        [("t",), (tier,)],
    ]


def test_too_many_combinations_are_looked_up_by_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    from accounting.pricing.compiled import names  # noqa: PLC0415

    monkeypatch.setattr(compiled, "LEAST_ROWS", 0)
    monkeypatch.setattr(names, "_MOST_ENTRIES", names._ENTRIES)
    texts = pa.array([f"m{at}" for at in range(5_000)], pa.string())
    assert len(encode_together({"provider": texts, "model": texts, "service_tier": texts})) == 3


def test_small_batches_do_not_load_numba() -> None:
    program = (
        "import sys; from tests.accounting.pricing.rating import batch, list_book; from accounting.pricing.rate import rate\n"
        f"rate(list_book(), batch([{{'provider': 'openai', 'model': 'gpt-5', 'at': {AT!r}}}] * 1000))\n"
        "assert 'numba' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", program], check=True, cwd=Path(__file__).parents[3])


def test_a_cache_that_cannot_be_written_is_done_without(monkeypatch: pytest.MonkeyPatch) -> None:
    import numba  # noqa: PLC0415
    from numba import types  # noqa: PLC0415

    from accounting.pricing.compiled import jit  # noqa: PLC0415

    njit = numba.njit

    def unwritable(*args: Any, **options: Any) -> Any:
        if options.pop("cache", False):
            raise RuntimeError("cannot cache function: no locator available")
        return njit(*args, **options)

    monkeypatch.setattr(jit.numba, "njit", unwritable)
    assert jit.compiled(types.int64)(lambda number: number + 1)(41) == 42


def hostile(seed: int, count: int) -> RateInput:
    """Events at list prices: known and unknown names, all tiers, long contexts, contradictions and absurd counts."""
    random, rng = Random(seed), np.random.default_rng(seed)
    rows = random.sample(list_book().rows, 300) + [
        row for row in list_book().rows if row.window_start or row.above_input_tokens
    ]
    drawn = random.choices(rows, k=count)
    start = int(datetime(2024, 6, 1, tzinfo=UTC).timestamp()) * 1_000_000
    quantities = {}
    for name in USAGE_COLUMNS:
        column = rng.lognormal(random.choice([3.0, 8.0, 11.0]), 1.0, count).astype(np.int64)
        quantities[name] = np.where(rng.random(count) < random.choice([0.0, 0.02, 0.5]), column, 0)
    for whole in ("uncached_input_tokens", "cache_read_tokens", "output_tokens"):
        quantities[whole] += np.where(rng.random(count) < 0.9, 10**6, 0)
    strange = rng.integers(0, count, 40)
    for at in strange.tolist():
        quantities[random.choice(USAGE_COLUMNS)][at] = random.choice([-1, 2**50, 2**63 - 1, -(2**63), 2**44])
    return RateInput(
        provider=pa.array(
            [row.seller if random.random() < 0.97 else random.choice([None, "", "nobody"]) for row in drawn]
        ),
        model=pa.array([row.model if random.random() < 0.97 else random.choice([None, "", "m-2"]) for row in drawn]),
        service_tier=pa.array(
            [random.choice([row.service_tier, None, "default", "flex"]) for row in drawn], pa.string()
        ),
        batch=rng.random(count) < 0.1,
        occurred_at=start + rng.integers(0, 900 * 86_400_000_000, count),
        quantities=quantities,
        cache_read_known=rng.random(count) < 0.95,
    )
