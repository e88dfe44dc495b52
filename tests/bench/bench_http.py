"""How far is a curve measured over HTTP from the one measured in process, on the same model of this CPU?

`tokencogs probe serve` runs with one thread of torch, so that the client has the other core, and the HTTP probe goes through its
grid. After each load, while the server waits, this process visits the same shapes as `tokencogs probe run` would, with one thread
(`beside.py`). Compared are the medians of each round, the curves that are fitted from both, and the engine's own step ledger. Shares
are HTTP over the other, minus 1. Aim: curves within 15 %.

What a server adds to a step is of the host, not of the model, so it is a larger share of a smaller one: TOKENCOGS_BENCH_SCALE (1: the
model as it is) shrinks the model. TOKENCOGS_BENCH_ROUNDS (6): three minutes in all.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path

import msgspec
import numpy as np

from probe.curve.curve import CurveDocument
from probe.curve.schema import Point, ResultFile
from probe.engine.interfaces import StepRecord
from probe.engine.ledger import read_ledger
from probe.fit.result import with_curve
from probe.http.plan import Plan, Setup
from probe.http.sweep import probe_http
from probe.server.options import ServeOptions
from tests.bench.beside import Beside, by_round, shares
from tests.probe.http.served import probe_serve

BAR = 0.15
BATCHES, PROMPTS, OUTPUT = (1, 2, 4, 8), (32, 128), 24
MODEL, DTYPE = "Llama-248M", "bfloat16"


def run() -> dict[str, object]:
    """Shares by cell, of the curves, and both curves' held-out errors."""
    scale = float(os.environ.get("TOKENCOGS_BENCH_SCALE", "1"))
    rounds = int(os.environ.get("TOKENCOGS_BENCH_ROUNDS", "6"))
    os.environ["OMP_NUM_THREADS"] = "1"
    plan = Plan(BATCHES, PROMPTS, OUTPUT, each=1, rounds=rounds, vocabulary=256)
    beside = Beside(ServeOptions(MODEL, scale=scale, dtype=DTYPE), OUTPUT)
    with tempfile.TemporaryDirectory(prefix="bench-http-") as name:
        ledger = Path(name) / "steps.arrow"
        options = ("--scale", str(scale), "--dtype", DTYPE, "--served-model-name", "bench", "--ledger", str(ledger))
        with probe_serve(MODEL, *options, log=Path(name) / "log") as url:
            outside = probe_http(url, plan, Setup("cpu", dtype=DTYPE), say=_say, pause=beside.visit)
        steps = list(read_ledger(ledger))
    seen, here = by_round(outside.samples, PROMPTS), by_round([one for _, one in beside.samples], PROMPTS)
    found = shares(seen, here)
    return {
        "milliseconds": {" ".join(map(str, cell)): [_ms(seen[cell]), _ms(here[cell])] for cell in found},
        "rounds": {" ".join(map(str, cell)): [round(one, 3) for one in some] for cell, some in found.items()},
        "steps": _figures([float(np.median(some)) for (kind, *_), some in found.items() if kind == "decode"]),
        "prompts_alone": _figures([float(np.median(some)) for (kind, *_), some in found.items() if kind == "prefill"]),
        "engines_own_ledger": _figures(against_ledger(outside, steps)),
        **curves(outside, beside.points(seen, PROMPTS)),
        "notes": [] if outside.fit is None else [note for note in outside.fit.notes if "saturated" in note],
    }


def against_ledger(outside: ResultFile, steps: Iterable[StepRecord]) -> list[float]:
    """Points that HTTP measured against the median of the engine's own decode steps of the same batch and prompts."""
    own: dict[tuple[int, int], list[float]] = {}
    for record in steps:
        if record.kind == "decode":
            context = sum(one.num_past_tokens + 1 for one in record.requests) / len(record.requests)
            prompt = max((tokens for tokens in PROMPTS if tokens < context), default=0)
            own.setdefault((len(record.requests), prompt), []).append(record.duration_ns / 1e9)
    decode = [one for one in outside.points if one.kind == "decode"]
    cells = [(one.batch, max(tokens for tokens in PROMPTS if tokens < one.context_sum / one.batch)) for one in decode]
    return [one.seconds / float(np.median(own[cell])) - 1 for one, cell in zip(decode, cells, strict=True)]


def curves(outside: ResultFile, points: list[Point]) -> dict[str, object]:
    """The two curves at the shapes that were visited in process, and how well each stands on points left out of its fit."""
    inside = with_curve(msgspec.structs.replace(outside, points=points, samples=[], served=[], fit=None))
    if outside.curve is None or inside.curve is None or inside.fit is None or outside.fit is None:
        return {"no_curve": [note for one in (outside, inside) if one.fit for note in one.fit.notes]}
    truth, seen = CurveDocument.of(inside.curve), CurveDocument.of(outside.curve)
    decode = [point for point in points if point.kind == "decode"]
    at = [point.batch for point in decode], [point.context_sum / point.batch for point in decode]
    steps = seen.answer(*at, "flag").step / truth.answer(*at, "flag").step - 1
    first, other = (curve.answer(1.0, np.array(PROMPTS, float), "flag").ttft for curve in (seen, truth))
    return {
        "curve_steps": _figures(steps.tolist()),
        "curve_cells": {f"{b}x{s:g}": round(float(share), 3) for b, s, share in zip(*at, steps, strict=True)},
        "curve_prompts_alone": _figures((first / other - 1).tolist()),
        "held_out_http": {name: round(error.mape, 4) for name, error in outside.fit.errors.items()},
        "held_out_in_process": {name: round(error.mape, 4) for name, error in inside.fit.errors.items()},
        "within_15_percent": {
            "on_average": bool(np.abs(steps).mean() <= BAR),
            "everywhere": bool(np.abs(steps).max() <= BAR),
        },
    }


def _ms(rounds: dict[int, list[float]]) -> float:
    return round(float(np.median([np.median(some) for some in rounds.values()])) * 1e3, 2)


def _figures(some: list[float]) -> dict[str, float]:
    if not some:
        return {}
    values = np.array(some)
    return {
        "mean_abs": round(float(np.abs(values).mean()), 4),
        "max_abs": round(float(np.abs(values).max()), 4),
        "bias": round(float(values.mean()), 4),
    }


def _say(line: str) -> None:
    print(line, file=sys.stderr)


if __name__ == "__main__":
    print(json.dumps(run(), indent=1))
