"""How many events a second does a core rate, beside `genai_prices.calc_price` on the same events in the same run?

The workload: events of the 600 models for which the price list states most prices, at times over two years, with plain (not encoded)
Arrow text columns, all count columns present, and a count in each column for which the event's model has a price. Both sides match
seller and model by text, date, tier and thresholds, and sum all components. A sample is checked to cost the same on both sides.

`calc_price` gets what one call for one event needs, so building its `Usage` is part of it; the rate of bare calls with ready-made
`Usage` objects stands beside. Time is the processor time of the process, so that other processes distort it least; both sides
work on one thread. `ratio` is what a bulk user gets: by machine code where the extra `fast` is installed, whose one-time loading
stands apart. Run as a script it prints its figures as JSON.
"""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from functools import cache
from typing import Any
from unittest.mock import patch

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from genai_prices import Usage, calc_price
from genai_prices.data import providers

from accounting.money import from_minor
from accounting.pricing import compiled
from accounting.pricing.book import PriceBook
from accounting.pricing.encode import encode
from accounting.pricing.genai_prices_source import load_list_tariffs
from accounting.pricing.rate import Rated, RateInput, rate
from accounting.pricing.tariff import Alias, Tariff
from accounting.usage.classes import USAGE_COLUMNS

ROWS = 2_000_000
SAMPLE = 5_000
MODELS = 600
FIRST_DAY = datetime(2024, 11, 29, tzinfo=UTC)
DAYS = 730

_TEXTS = ("provider", "model", "service_tier")
_TYPICAL = {  # Column -> natural logarithm of a typical count, and what calc_price calls it.
    "uncached_input_tokens": (8.0, "input_tokens"),
    "cache_read_tokens": (8.5, "cache_read_tokens"),
    "cache_write_tokens": (6.5, "cache_write_tokens"),
    "cache_write_1h_tokens": (6.0, "cache_write_1h_tokens"),
    "output_tokens": (6.0, "output_tokens"),
    "reasoning_tokens": (5.5, "output_reasoning_tokens"),
    "audio_input_tokens": (6.0, "input_audio_tokens"),
    "audio_cache_read_tokens": (5.0, "cache_audio_read_tokens"),
    "audio_output_tokens": (5.0, "output_audio_tokens"),
    "image_input_tokens": (6.5, "input_image_tokens"),
    "image_output_tokens": (6.5, "output_image_tokens"),
    "video_input_tokens": (7.0, "input_video_tokens"),
    "web_search_requests": (0.5, "web_searches"),
}
_INSIDE = {
    "uncached_input_tokens": ("audio_input_tokens", "image_input_tokens", "video_input_tokens"),
    "cache_read_tokens": ("audio_cache_read_tokens",),
    "output_tokens": ("audio_output_tokens", "image_output_tokens", "reasoning_tokens"),
}
_CONTEXT = {None: None, "standard": None, "default": {"service_tier": "default"}, "batch": {"processing": "batch"}}

Call = tuple[dict[str, int], str, str, datetime, dict[str, str] | None]


def run() -> dict[str, Any]:
    """Rows a second of `rate` for plain and for dictionary-encoded text, of `calc_price`, and their ratios."""
    pa.set_cpu_count(1)
    rows, names, summary = load_list_tariffs()
    book = PriceBook(rows, names)
    noisy = {(seller, model) for seller, model, _, _ in summary.findings.normalised}  # calc_price keeps float noise.
    plain, models = workload([row for row in rows if (row.seller, row.model) not in noisy], names, ROWS)
    encoded = replace(plain, **{name: getattr(plain, name).dictionary_encode() for name in _TEXTS})
    machine_code = compiled.worthwhile(ROWS)
    rated = rate(book, plain)
    calls = calls_of(plain)
    seconds = in_turns(
        {
            "plain": lambda: rate(book, plain),
            "encoded": lambda: rate(book, encoded),
            "plain numpy": _by_numpy(lambda: rate(book, plain)),
            "encoded numpy": _by_numpy(lambda: rate(book, encoded)),
            "text": lambda: [encode(name, getattr(plain, name)) for name in _TEXTS],
            "peer": lambda: [price(Usage(**counts), *rest) for counts, *rest in calls],
            "bare": _bare(calls),
        }
    )
    ours = {name: ROWS / one for name, one in seconds.items()}
    peer, bare = SAMPLE / seconds["peer"], SAMPLE / seconds["bare"]
    return {
        "ratio": round(ours["plain"] / peer, 1),
        "ratio_without_compiled": round(ours["plain numpy"] / peer, 1),
        "ratio_dictionary_input": round(ours["encoded"] / peer, 1),
        "ratio_dictionary_input_without_compiled": round(ours["encoded numpy"] / peer, 1),
        "compiled": machine_code,
        "rows_per_s": round(ours["plain"]),
        "rows_per_s_without_compiled": round(ours["plain numpy"]),
        "rows_per_s_dictionary_input": round(ours["encoded"]),
        "rows_per_s_dictionary_input_without_compiled": round(ours["encoded numpy"]),
        "genai_prices_rows_per_s": round(peer),
        "genai_prices_bare_calls_per_s": round(bare),
        "ratio_to_bare_calls": round(ours["plain"] / bare, 1),
        "share_of_time_in_text": round(ours["plain"] / ours["text"], 2),
        "load_seconds_first_time": _load_seconds()[0] if machine_code else None,
        "load_seconds_later": _load_seconds()[1] if machine_code else None,
        "rows": ROWS,
        "models": models,
        "components_per_row": round(float(sum((c != 0).mean() for c in plain.quantities.values())), 2),
        "unpriced": int((rated.reason != 0).sum()),
        "sample": SAMPLE,
        "sample_differing": _differing(calls, rated),
        "conditions": importlib.import_module("tests.bench.bench_pricing_conditions").run(),
    }


def in_turns(work: dict[str, Callable[[], object]], turns: int = 7) -> dict[str, float]:
    """Processor seconds of the fastest try of each, taken in turns, so that a busy machine is as busy for one as for another."""
    best = dict.fromkeys(work, float("inf"))
    for _ in range(turns):
        for name, call in work.items():
            start = time.process_time()
            call()
            best[name] = min(best[name], time.process_time() - start)
    return best


def _by_numpy(call: Callable[[], object]) -> Callable[[], object]:
    def run_without_machine_code() -> object:
        with patch.object(compiled, "LEAST_ROWS", ROWS + 1):
            return call()

    return run_without_machine_code


@cache
def _load_seconds() -> tuple[float, float]:
    """Seconds a fresh process takes to have the machine code, with an empty cache on disk and with a full one."""
    program = (
        "import time; t = time.perf_counter(); from accounting.pricing import compiled; compiled.worthwhile(10**9); "
    )
    program += "print(time.perf_counter() - t)"
    with tempfile.TemporaryDirectory() as folder:
        command, environment = [sys.executable, "-c", program], os.environ | {"NUMBA_CACHE_DIR": folder}
        runs = [subprocess.run(command, env=environment, check=True, capture_output=True) for _ in range(2)]
    first, later = (round(float(run.stdout), 2) for run in runs)
    return first, later


def workload(rows: list[Tariff], names: list[Alias], count: int) -> tuple[RateInput, int]:
    """`count` random events and the number of models among them; the seed is fixed."""
    rng = np.random.default_rng(20261129)
    alias = _shared_names(names)
    chosen = _richest([row for row in rows if (row.seller, row.model) in alias])
    of = rng.integers(0, len(chosen), count)
    times = int(FIRST_DAY.timestamp()) * 1_000_000 + rng.integers(0, DAYS * 86_400_000_000, count)
    take = pa.array(of)
    inp = RateInput(
        provider=pa.array([row.seller for row in chosen]).take(take),
        model=pa.array([alias[row.seller, row.model] for row in chosen]).take(take),
        service_tier=_tiers(rng, rows, chosen, of, times),
        batch=np.zeros(count, np.bool_),
        occurred_at=times,
        quantities=_counts(rng, chosen, of),
        cache_read_known=np.ones(count, np.bool_),
    )
    return inp, len(chosen)


def _richest(rows: list[Tariff]) -> list[Tariff]:
    """First row of each of the models with most prices."""
    first: dict[tuple[str, str], Tariff] = {}
    for row in rows:
        if (
            row.service_tier == "default"
            and row.source == "genai-prices"
            and {"uncached_input", "output"} <= row.prices.keys()
        ):
            first.setdefault((row.seller, row.model), row)
    priced = [row for row in first.values() if "cache_read" in {*row.prices, *row.fallbacks}]
    return sorted(priced, key=lambda row: (-len(row.prices), row.seller, row.model))[:MODELS]


def _counts(
    rng: np.random.Generator, chosen: list[Tariff], of: npt.NDArray[np.int64]
) -> dict[str, npt.NDArray[np.int64]]:
    counts = {name: np.zeros(len(of), np.int64) for name in USAGE_COLUMNS}
    for name, (size, _) in _TYPICAL.items():
        token_class = name.removesuffix("_tokens").removesuffix("_requests")
        stated = np.array([token_class in row.prices for row in chosen])[of]
        counts[name] += np.where(stated, rng.lognormal(size, 1.0, len(of)).astype(np.int64), 0)
    memo = ~np.array(["reasoning" in row.prices for row in chosen])[of] & (rng.integers(0, 2, len(of)) == 0)
    counts["reasoning_tokens"] += np.where(memo, counts["output_tokens"] // 2, 0)
    for whole, parts in _INSIDE.items():
        for part in parts:
            counts[whole] += counts[part]
    return counts


def _tiers(
    rng: np.random.Generator,
    rows: list[Tariff],
    chosen: list[Tariff],
    of: npt.NDArray[np.int64],
    times: npt.NDArray[np.int64],
) -> pa.Array:
    """Tiers as logged: none, default or standard; half of the events that have a batch price at their time are batch jobs."""
    starts = {
        (row.seller, row.model): int(row.effective_from.timestamp()) * 1_000_000 if row.effective_from else 0
        for row in rows
        if row.service_tier == "batch" and row.effective_until is None and row.above_input_tokens == 0
    }
    since = np.array([starts.get((row.seller, row.model), 2**62) for row in chosen])[of]
    batch = (times >= since) & (rng.integers(0, 2, len(of)) == 0)
    code = np.where(batch, 3, rng.integers(0, 3, len(of)))
    return pa.array([None, "default", "standard", "batch"]).take(pa.array(code))


def _shared_names(names: list[Alias]) -> dict[tuple[str, str], str]:
    """(seller, model) -> an exact name under which genai-prices finds the model too."""
    found: dict[tuple[str, str], str] = {}
    sellers = {one.id: one for one in providers}
    for name in names:
        model = sellers[name.seller].find_model(name.alias)
        if model is not None and model.id == name.model:
            found[name.seller, name.model] = name.alias
    return found


def calls_of(inp: RateInput) -> list[Call]:
    """What `calc_price` gets for each of the first events."""
    return [_call(inp, at) for at in range(SAMPLE)]


def _bare(calls: list[Call]) -> Callable[[], object]:
    """The calls alone, with ready-made `Usage` objects."""
    ready = [(Usage(**counts), *rest) for counts, *rest in calls]
    return lambda: [price(*one) for one in ready]


def _differing(calls: list[Call], rated: Rated) -> int:
    """How many of the first events cost another amount there."""
    totals = [price(Usage(**counts), *rest) for counts, *rest in calls]
    return sum(from_minor(cost) != total for cost, total in zip(rated.list_cost.tolist(), totals, strict=False))


def price(usage: Usage, model: str, seller: str, moment: datetime, context: dict[str, str] | None) -> Decimal:
    return calc_price(
        usage, model, provider_id=seller, genai_request_timestamp=moment, price_context=context
    ).total_price


def _call(inp: RateInput, at: int) -> Call:
    counts = {key: int(inp.quantities[name][at]) for name, (_, key) in _TYPICAL.items()}
    counts["cache_write_tokens"] += counts["cache_write_1h_tokens"]
    counts["input_tokens"] += counts["cache_read_tokens"] + counts["cache_write_tokens"]
    counts["input_audio_tokens"] += counts["cache_audio_read_tokens"]
    moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=int(inp.occurred_at[at]))
    usage = {key: value for key, value in counts.items() if value}
    context = _CONTEXT[inp.service_tier[at].as_py()]
    return usage, inp.model[at].as_py(), inp.provider[at].as_py(), moment, context


if __name__ == "__main__":
    print(json.dumps(run()))
