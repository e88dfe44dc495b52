"""How many events a second does a core rate with every condition on, in both layers, beside `genai_prices.calc_price` and litellm?

The events of bench_pricing.py, with a surface and a region each. The book has thresholds, tiers and windows of the list, and besides
rows of a region for every model (an uplift of 10 %), rows of a surface for every third, and a contract: 10 % off everything of one
seller in four, a cap on cached input, rows of the tenant's own. Every event gets list and contracted cost. The peers know neither
region nor surface nor contract: they price the same events by the list alone. litellm stands in only where it is installed.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, date, datetime
from typing import Any

import numpy as np
import pyarrow as pa
from genai_prices import Usage

from accounting.pricing.book import PriceBook
from accounting.pricing.contract import Contract, PriceRule, Scope
from accounting.pricing.contracted import contracted_rows
from accounting.pricing.genai_prices_source import load_list_tariffs
from accounting.pricing.layers import rate_layers
from accounting.pricing.rate import RateInput
from accounting.pricing.tariff import Tariff
from accounting.pricing.uplifts import Uplift, uplifted
from tests.bench import bench_pricing as plain

ROWS = 2_000_000
_TEXTS = ("provider", "model", "service_tier", "surface", "region")
START = datetime(2025, 6, 1, tzinfo=UTC)


def run() -> dict[str, Any]:
    """Rows a second of `rate_layers` with every condition, for plain and for dictionary-encoded text, of the peers, and the ratios."""
    pa.set_cpu_count(1)
    listed, names, summary = load_list_tariffs()
    noisy = {(seller, model) for seller, model, _, _ in summary.findings.normalised}
    bare, _ = plain.workload([row for row in listed if (row.seller, row.model) not in noisy], names, ROWS)
    rows = conditions(listed)
    list_book, contract_book = PriceBook(rows, names), PriceBook(*contracted_rows(rows, names, agreed(rows), own(rows)))
    inp = placed(bare)
    encoded = replace(inp, **{name: getattr(inp, name).dictionary_encode() for name in _TEXTS})
    rated = rate_layers(list_book, contract_book, inp)
    calls = plain.calls_of(bare)
    work: dict[str, Callable[[], object]] = {
        "ours": lambda: rate_layers(list_book, contract_book, inp),
        "encoded": lambda: rate_layers(list_book, contract_book, encoded),
        "peer": lambda: [plain.price(Usage(**counts), *rest) for counts, *rest in calls],
    }
    litellm = _litellm(bare)
    seconds = plain.in_turns(work | ({"litellm": litellm} if litellm else {}), turns=5)
    ours, peer = ROWS / seconds["ours"], plain.SAMPLE / seconds["peer"]
    theirs = _LITELLM_CALLS / seconds["litellm"] if litellm else None
    by_contract = rated.contracted_cost != rated.list_cost
    return {
        "ratio": round(ours / peer, 1),
        "ratio_dictionary_input": round(ROWS / seconds["encoded"] / peer, 1),
        "ratio_to_litellm": None if theirs is None else round(ours / theirs, 1),
        "rows_per_s": round(ours),
        "rows_per_s_dictionary_input": round(ROWS / seconds["encoded"]),
        "genai_prices_rows_per_s": round(peer),
        "litellm_rows_per_s": None if theirs is None else round(theirs),
        "price_rows": len(contract_book.rows),
        "share_by_region_or_surface": _share(_row_says(contract_book.rows, rated.sku_index)),
        "share_with_another_contracted_cost": _share(by_contract),
        "unpriced": int((rated.reason != 0).sum()),
    }


def conditions(rows: list[Tariff]) -> list[Tariff]:
    """The list's rows, with a region for every model and a surface for every third."""
    models = sorted({(row.seller, row.model) for row in rows})
    tokens = frozenset({"uncached_input", "cache_read", "cache_write", "cache_write_1h", "output"})
    uplifts = [Uplift(*model, "us", tokens, "1.1", START, None, "bench", date(2026, 1, 1)) for model in models]
    every_third = set(models[::3])
    return uplifted(rows, uplifts) + [
        replace(row, surface="responses") for row in rows if (row.seller, row.model) in every_third
    ]


def agreed(rows: list[Tariff]) -> list[Contract]:
    """A contract with every fourth seller."""
    off = PriceRule("off", "discount", Scope(), "0.10")
    cap = PriceRule("cap", "cap", Scope(token_classes=frozenset({"cache_read"})), "0.5")
    sellers = sorted({row.seller for row in rows if row.source == "genai-prices"})
    return [Contract(f"with {seller}", "t", seller, "USD", START, rules=(off, cap)) for seller in sellers[::4]]


def own(rows: list[Tariff]) -> list[Tariff]:
    """The tenant's own row for every twentieth base row that holds today."""
    base = [row for row in rows if not (row.above_input_tokens or row.effective_until or row.region or row.surface)]
    return [
        replace(row, tenant="t", effective_from=START, window_start=None, window_end=None) for row in _once(base)[::20]
    ]


def _once(rows: list[Tariff]) -> list[Tariff]:
    return list({(row.seller, row.model, row.service_tier): row for row in rows}.values())


def placed(inp: RateInput) -> RateInput:
    """The events with a surface and a region each, half of them without."""
    rng = np.random.default_rng(4)
    count = len(inp.occurred_at)
    surfaces, regions = pa.array([None, "messages", "responses", "chat"]), pa.array([None, "us", "eu", "us-east-1"])
    return replace(
        inp,
        surface=surfaces.take(pa.array(rng.integers(0, 4, count))),
        region=regions.take(pa.array(rng.integers(0, 4, count))),
    )


def _row_says(rows: tuple[Tariff, ...], sku_index: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    says = np.array([*(row.region is not None or row.surface is not None for row in rows), False], np.bool_)
    return says[sku_index]


def _share(flags: np.ndarray[Any, Any]) -> float:
    return round(float(flags.mean()), 3)


_LITELLM_CALLS = 1_000


def _litellm(inp: RateInput) -> Callable[[], object] | None:
    """Calls of litellm.cost_per_token for events of models it knows; None where it is not installed."""
    if importlib.util.find_spec("litellm") is None:
        return None
    litellm = importlib.import_module("litellm")
    calls = []
    for at in range(len(inp.occurred_at)):
        model = inp.model[at].as_py()
        if model in litellm.model_cost and len(calls) < _LITELLM_CALLS:
            counts = {name: int(inp.quantities[f"{name}_tokens"][at]) for name in ("uncached_input", "output")}
            calls.append((model, counts["uncached_input"], counts["output"]))
        elif len(calls) == _LITELLM_CALLS:
            break

    def price() -> object:
        return [
            litellm.cost_per_token(model=model, prompt_tokens=prompt, completion_tokens=completion)
            for model, prompt, completion in calls
        ]

    return price


if __name__ == "__main__":
    print(json.dumps(run()))
