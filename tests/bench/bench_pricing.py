"""How many events a second does a core rate, beside `genai_prices.calc_price` on the same events in the same run?

The workload: models of the list price book that have a price throughout, over two years of event times, with plain (not encoded)
Arrow text columns, and every count present that the model has a price for. Both sides match names, date, tier and thresholds and
sum all components; a sample of the events is checked to cost the same on both sides.

Time is the processor time of the whole process, so that what other processes do at the same time distorts it least; either side
works on one thread. Run as a script it prints its figures as JSON.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import genai_prices
import numpy as np
import pyarrow as pa
from genai_prices.data import providers

from accounting.money import from_minor
from accounting.pricing.book import PriceBook
from accounting.pricing.encode import encode
from accounting.pricing.genai_prices_source import load_list_tariffs
from accounting.pricing.layout import Ints
from accounting.pricing.rate import Rated, RateInput, rate
from accounting.pricing.tariff import Alias, Tariff

ROWS = 2_000_000
SAMPLE = 5_000
MODELS = 800
FIRST_DAY = datetime(2024, 11, 1, tzinfo=UTC)
DAYS = 730

_USAGE_KEY = {
    "uncached_input": "input_tokens",
    "cache_read": "cache_read_tokens",
    "cache_write_1h": "cache_write_1h_tokens",
    "cache_write": "cache_write_tokens",
    "output": "output_tokens",
    "reasoning": "output_reasoning_tokens",
    "audio_input": "input_audio_tokens",
    "audio_cache_read": "cache_audio_read_tokens",
    "audio_output": "output_audio_tokens",
    "image_input": "input_image_tokens",
    "image_output": "output_image_tokens",
    "video_input": "input_video_tokens",
    "web_search": "web_searches",
}


def run() -> dict[str, Any]:
    """Rows a second of `rate` for plain and for dictionary-encoded text, of `calc_price`, and their ratios."""
    pa.set_cpu_count(1)
    rows, names, summary = load_list_tariffs()
    book = PriceBook(rows, names)
    noisy = {
        (seller, model) for seller, model, _, _ in summary.findings.normalised
    }  # calc_price keeps the float noise.
    plain, picked = workload([row for row in rows if (row.seller, row.model) not in noisy], names, ROWS)
    encoded = replace(
        plain,
        provider=plain.provider.dictionary_encode(),
        model=plain.model.dictionary_encode(),
        service_tier=plain.service_tier.dictionary_encode(),
    )
    rated = rate(book, plain)
    seconds = _best(lambda: rate(book, plain))
    text_seconds = _best(lambda: [encode(name, getattr(plain, name)) for name in ("provider", "model", "service_tier")])
    encoded_seconds = _best(lambda: rate(book, encoded))
    peer_seconds, differing = _peer(plain, rated)
    peer = SAMPLE / peer_seconds
    return {
        "ratio": round(ROWS / seconds / peer, 1),
        "rows_per_s": round(ROWS / seconds),
        "ratio_dictionary_input": round(ROWS / encoded_seconds / peer, 1),
        "rows_per_s_dictionary_input": round(ROWS / encoded_seconds),
        "genai_prices_rows_per_s": round(peer),
        "share_of_time_in_text": round(text_seconds / seconds, 2),
        "rows": ROWS,
        "models": picked,
        "unpriced": int((rated.reason != 0).sum()),
        "sample": SAMPLE,
        "sample_differing": differing,
    }


def workload(rows: list[Tariff], names: list[Alias], count: int) -> tuple[RateInput, int]:
    """`count` random events and the number of models among them; the seed is fixed."""
    rng = np.random.default_rng(20261129)
    alias = _shared_names(names)
    models = [row for row in _models(rows) if (row.seller, row.model) in alias]
    chosen = [models[at] for at in rng.permutation(len(models))[:MODELS]]
    of = rng.integers(0, len(chosen), count)
    stated = {name: np.array([name in row.prices for row in chosen])[of] for name in _USAGE_KEY}
    counts = {name: rng.lognormal(size, 1.0, count).astype(np.int64) for name, size in _SIZES.items()}
    counts = {name: np.where(stated[name], column, 0) for name, column in counts.items()}
    thought = np.where(rng.integers(0, 2, count) == 0, counts["output"] // 2, 0)
    wholes = {"uncached_input": ("audio_input", "image_input", "video_input"), "cache_read": ("audio_cache_read",)}
    for whole, parts in (wholes | {"output": ("audio_output", "image_output", "reasoning")}).items():
        counts[whole] += sum(counts[part] for part in parts)
    counts["reasoning"] += np.where(stated["reasoning"], 0, thought)
    times = int(FIRST_DAY.timestamp()) * 1_000_000 + rng.integers(0, DAYS * 86_400_000_000, count)
    take = pa.array(of)
    quantities: dict[str, Ints] = {
        (name + "_requests" if name == "web_search" else name + "_tokens"): column for name, column in counts.items()
    }
    quantities |= {f"cache_write_{life}_tokens": np.zeros(count, np.int64) for life in ("5m", "30m", "12h")}
    quantities["web_fetch_requests"] = np.zeros(count, np.int64)
    inp = RateInput(
        provider=pa.array([row.seller for row in chosen]).take(take),
        model=pa.array([alias[row.seller, row.model] for row in chosen]).take(take),
        service_tier=pa.array(["default", None, "standard"]).take(pa.array(rng.integers(0, 3, count))),
        batch=np.zeros(count, np.bool_),
        occurred_at=times,
        quantities=quantities,
        cache_read_known=np.ones(count, np.bool_),
    )
    return inp, len(chosen)


_SIZES = {
    "uncached_input": 8.0,
    "cache_read": 8.5,
    "cache_write": 6.5,
    "cache_write_1h": 6.0,
    "output": 6.0,
    "reasoning": 5.5,
    "audio_input": 6.0,
    "audio_cache_read": 5.0,
    "audio_output": 5.0,
    "image_input": 6.5,
    "image_output": 6.5,
    "video_input": 7.0,
    "web_search": 0.5,
}


def _models(rows: list[Tariff]) -> list[Tariff]:
    """First row of each model whose uncached input, output and cache rules both sides read alike."""
    first: dict[tuple[str, str], Tariff] = {}
    for row in rows:
        if row.service_tier == "default" and row.source == "genai-prices" and "uncached_input" in row.prices:
            first.setdefault((row.seller, row.model), row)
    return [row for row in first.values() if "output" in row.prices and "cache_read" in {*row.prices, *row.fallbacks}]


def _shared_names(names: list[Alias]) -> dict[tuple[str, str], str]:
    """(seller, model) -> an exact name under which genai-prices finds the model too."""
    found: dict[tuple[str, str], str] = {}
    sellers = {one.id: one for one in providers}
    for name in names:
        model = sellers[name.seller].find_model(name.alias)
        if model is not None and model.id == name.model:
            found[name.seller, name.model] = name.alias
    return found


def _peer(inp: RateInput, rated: Rated) -> tuple[float, int]:
    """Seconds that `calc_price` takes for the first events, and how many of them cost another amount there."""
    calls = [_call(inp, at) for at in range(SAMPLE)]

    def price_all() -> list[Decimal]:
        return [
            genai_prices.calc_price(usage, model, provider_id=seller, genai_request_timestamp=moment).total_price
            for usage, model, seller, moment in calls
        ]

    seconds, totals = _best(price_all, tries=3), price_all()
    ours: list[Decimal] = [from_minor(int(cost)) for cost in rated.list_cost[:SAMPLE]]
    return seconds, sum(mine != total for mine, total in zip(ours, totals, strict=True))


def _call(inp: RateInput, at: int) -> tuple[genai_prices.Usage, str, str, datetime]:
    counts = {name: int(column[at]) for name, column in inp.quantities.items()}
    usage = {key: counts[_column(name)] for name, key in _USAGE_KEY.items()}
    usage["cache_write_tokens"] += usage["cache_write_1h_tokens"]
    usage["input_tokens"] += usage["cache_read_tokens"] + usage["cache_write_tokens"]
    usage["input_audio_tokens"] += usage["cache_audio_read_tokens"]
    moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=int(inp.occurred_at[at]))
    kept = {key: value for key, value in usage.items() if value}
    return genai_prices.Usage(**kept), inp.model[at].as_py(), inp.provider[at].as_py(), moment


def _column(name: str) -> str:
    return name + "_requests" if name == "web_search" else name + "_tokens"


def _best(call: Callable[[], object], tries: int = 5) -> float:
    """Processor seconds of the fastest try."""
    seconds = []
    for _ in range(tries):
        start = time.process_time()
        call()
        seconds.append(time.process_time() - start)
    return min(seconds)


if __name__ == "__main__":
    print(json.dumps(run()))
