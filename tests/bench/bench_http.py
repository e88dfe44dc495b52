"""How far is a curve measured over HTTP from the one measured in process, on the same model of this CPU?

`tokencogs probe serve` runs with one thread of torch, so that the client has the other core, and `tokencogs probe http` measures it.
Twice it is compared: with the engine's own step ledger of the same minutes, and with `tokencogs probe run`, which then measures the
same shapes in a process of its own with one thread. The figures are HTTP over in-process, minus 1, at each (batch, context) that both
measured. Aim: within 15 %. On a machine that others use, only the first is fair.

TOKENCOGS_BENCH_SCALE (0.5) shrinks the model; TOKENCOGS_BENCH_ROUNDS (3); TOKENCOGS_BENCH_SWEEP=0 leaves the second comparison out.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path

import numpy as np

from probe.curve.curve import CurveDocument
from probe.curve.schema import ResultFile, read_result
from probe.engine.ledger import read_ledger
from probe.http.plan import Plan, Setup
from probe.http.sweep import probe_http
from tests.probe.http.served import probe_serve

BAR = 0.15
BATCHES, PROMPTS, OUTPUT = (1, 2, 4, 8), (64, 256), 24


def run() -> dict[str, object]:
    """Errors as shares, and both curves' held-out errors."""
    scale = os.environ.get("TOKENCOGS_BENCH_SCALE", "0.5")
    rounds = int(os.environ.get("TOKENCOGS_BENCH_ROUNDS", "3"))
    model = ("Llama-248M", "--scale", scale, "--dtype", "bfloat16")
    os.environ["OMP_NUM_THREADS"] = "1"
    with tempfile.TemporaryDirectory(prefix="bench-http-") as name:
        folder = Path(name)
        ledger = folder / "steps.arrow"
        named = ("--served-model-name", "bench", "--ledger", str(ledger))
        with probe_serve(*model, *named, log=folder / "log") as url:
            plan = Plan(BATCHES, PROMPTS, OUTPUT, each=1, rounds=rounds, vocabulary=256)
            outside = probe_http(
                url, plan, Setup("cpu", dtype="bfloat16"), say=lambda line: print(line, file=sys.stderr)
            )
        figures: dict[str, object] = {"ledger": against_ledger(outside, ledger)}
        if os.environ.get("TOKENCOGS_BENCH_SWEEP", "1") != "0":
            figures["sweep"] = compared(outside, _in_process(model, folder))
    return figures


def against_ledger(outside: ResultFile, ledger: Path) -> dict[str, object]:
    """Points that HTTP measured against the median of the engine's own decode steps of the same batch and prompts."""
    steps: dict[tuple[int, int], list[float]] = defaultdict(list)
    for record in read_ledger(ledger):
        if record.kind == "decode":
            context = sum(one.num_past_tokens + 1 for one in record.requests) / len(record.requests)
            prompt = max((tokens for tokens in PROMPTS if tokens < context), default=0)
            steps[len(record.requests), prompt].append(record.duration_ns / 1e9)
    cells, shares = [], []
    for point in (one for one in outside.points if one.kind == "decode"):
        context = point.context_sum / point.batch
        own = steps[point.batch, max(tokens for tokens in PROMPTS if tokens < context)]
        shares.append(point.seconds / float(np.median(own)) - 1)
        cells.append(
            f"{point.batch}x{round(context)}: {point.seconds * 1e3:.2f} ms, engine {np.median(own) * 1e3:.2f} ms"
        )
    notes = [] if outside.fit is None else [note for note in outside.fit.notes if "saturated" in note]
    if not shares:
        return {"no decode point": notes}
    return {
        "cells": cells,
        "measured_step": _figures(np.array(shares)),
        "held_out_http": _held_out(outside),
        "notes": notes,
    }


def _in_process(model: tuple[str, ...], folder: Path) -> ResultFile:
    contexts = [tokens + OUTPUT // 2 for tokens in PROMPTS]
    grid = {"batch": list(BATCHES), "context": contexts, "prefill_new": list(PROMPTS), "prefill_cached": [0]}
    (folder / "grid.json").write_text(json.dumps({**grid, "ragged": [], "mixed": []}))
    options = ["--grid", str(folder / "grid.json"), "--threads", "1", "--replay", "0", "--rounds", "2", "--steps", "5"]
    asked = ["probe", "run", "--model", *model, *options, "--budget", "0.5", "--out", str(folder / "inside.json")]
    subprocess.run([sys.executable, "-m", "accounting.cli", *asked], check=True, stdout=sys.stderr)
    return read_result(folder / "inside.json")


def compared(outside: ResultFile, inside: ResultFile) -> dict[str, object]:
    """Of points that HTTP measured, against the in-process curve."""
    if outside.curve is None or inside.curve is None:
        return {"no curve": [note for one in (outside, inside) if one.fit for note in one.fit.notes]}
    truth, seen = CurveDocument.of(inside.curve), CurveDocument.of(outside.curve)
    decode = [point for point in outside.points if point.kind == "decode"]
    at = [point.batch for point in decode], [point.context_sum / point.batch for point in decode]
    curves = seen.answer(*at, "flag").step / truth.answer(*at, "flag").step - 1
    points = np.array([point.seconds for point in decode]) / truth.answer(*at, "flag").step - 1
    alone = truth.answer(1.0, np.array(PROMPTS, float), "flag").ttft
    prompts = seen.answer(1.0, np.array(PROMPTS, float), "flag").ttft / alone - 1
    return {
        "cells": [f"{b}x{round(s)}: {share:+.1%}" for b, s, share in zip(*at, points, strict=True)],
        "curve_step": _figures(curves),
        "measured_step": _figures(points),
        "prompt_alone": _figures(prompts),
        "held_out_http": _held_out(outside),
        "held_out_in_process": _held_out(inside),
        "notes": [] if outside.fit is None else [note for note in outside.fit.notes if "saturated" in note],
        "within_15_percent": {
            "on_average": bool(np.abs(curves).mean() <= BAR),
            "everywhere": bool(np.abs(curves).max() <= BAR),
        },
    }


def _figures(shares: np.ndarray) -> dict[str, float]:
    size = np.abs(shares)
    return {
        "mean_abs": round(float(size.mean()), 4),
        "max_abs": round(float(size.max()), 4),
        "bias": round(float(shares.mean()), 4),
    }


def _held_out(result: ResultFile) -> dict[str, float]:
    return {} if result.fit is None else {name: round(error.mape, 4) for name, error in result.fit.errors.items()}


if __name__ == "__main__":
    print(json.dumps(run(), indent=1))
