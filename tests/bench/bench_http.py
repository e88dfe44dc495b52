"""How far is a curve measured over HTTP from the one measured in process, on the same model of this CPU?

`tokencogs probe serve` runs with one thread of torch, so that the client has the other core; `tokencogs probe http` measures it, then
`tokencogs probe run` measures the same shapes in process with one thread. The figures are HTTP over in-process, minus 1: of decode steps at
each (batch, context) that both measured, and of prompts alone. Aim: within 15 %.

TOKENCOGS_BENCH_SCALE (0.5) shrinks the model.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from probe.curve.curve import CurveDocument
from probe.curve.schema import ResultFile, read_result
from probe.http.plan import Plan, Setup
from probe.http.sweep import probe_http
from tests.probe.http.served import probe_serve

BATCHES, PROMPTS, OUTPUT = (1, 2, 4, 8), (64, 256), 24


def run() -> dict[str, object]:
    """Errors as shares, and both curves' held-out errors."""
    scale = os.environ.get("TOKENCOGS_BENCH_SCALE", "0.5")
    model = ("Llama-248M", "--scale", scale, "--dtype", "bfloat16")
    os.environ["OMP_NUM_THREADS"] = "1"
    with tempfile.TemporaryDirectory(prefix="bench-http-") as name:
        folder = Path(name)
        with probe_serve(*model, "--served-model-name", "bench", log=folder / "log") as url:
            plan = Plan(BATCHES, PROMPTS, OUTPUT, each=1, rounds=3, vocabulary=256)
            outside = probe_http(
                url, plan, Setup("cpu", dtype="bfloat16"), say=lambda line: print(line, file=sys.stderr)
            )
        inside = _in_process(model, folder)
    return compared(outside, inside)


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
        "within_15_percent": bool(np.abs(curves).mean() <= 0.15),
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
