"""How fast is the probe's engine beside other engines on the same 248M Llama, bf16, on this CPU?

Each engine is a process of its own that answers one cell (batch, context) after another; rounds are interleaved, so that a slow
minute hits all alike. A round during which other processes took more than 5 % of the machine is contaminated: it is left out where
a quiet one exists, and flagged where none does. Decode figures are the 25th percentile and the median of step times after the
first token; achieved bandwidth is (streamed weights + keys and values read) / step time, beside a measured read of the same run. A
prompt's tokens can't be computed faster than the processor multiplies: a cell's `prefill_limit_tok_s` is the best bf16 product of the run,
over the operations of a token (all weights but the head's, which a prompt needs once, and attention to half of the prompt).

Peers: transformers' `generate_batch` runs in this environment, where it is a test dependency; others run where
TOKENCOGS_BENCH_PEERS names interpreters that have them ("vllm=/path/to/python"), made by tests/bench/peers/make_peers.sh. A peer
that isn't there has no line; NAME (vllm, llama_cpp) needs a NAME_peer.py beside the others; "transformers="
leaves that one out. TOKENCOGS_BENCH_CELLS ("1x512 8x2048") and TOKENCOGS_BENCH_ROUNDS narrow a run.
"""

from __future__ import annotations

import importlib.util
import json
import os
import statistics
import subprocess
import sys
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from probe.measure.ceilings import Measured

PEERS = Path(__file__).parent / "peers"
CELLS = "1x512 8x512 32x512 1x2048 8x2048 32x2048"
ROUNDS = 3
STEPS = {1: 24, 8: 12, 32: 6}
QUIET = 0.05
STREAMED_BYTES = 430_400_000  # 215.2M parameters of two bytes: all but the input embedding
HEAD_PARAMETERS = 32_000 * 1024
PAIR_OPERATIONS = 4 * 12 * 16 * 64  # of a token and a token it sees: two products in 12 layers of 16 heads of 64
KV_BYTES = 12_288  # a token: 2 x 12 layers x 4 heads x 64 x 2 bytes
BAR = 2.0
# Of the fastest of the other engines, decoding at most so many sequences of so many tokens.
NATIVE_BAR, NATIVE_BATCH, NATIVE_CONTEXT = 0.85, 8, 512

Answers = dict[tuple[int, int], dict[str, list[dict[str, Any]]]]


class Engine:
    """One engine's process. Errors: RuntimeError with what it was asked, where it has died."""

    def __init__(self, name: str, python: str) -> None:
        self.name = name
        env = os.environ | {"PYTHONPATH": str(PEERS.parents[2])}
        command = [python, str(PEERS / f"{name}_peer.py")]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=env)
        self.about = self._read("start")

    def ask(self, batch: int, ctx: int) -> dict[str, Any]:
        assert self._process.stdin is not None
        cell = {"batch": batch, "ctx": ctx, "steps": STEPS.get(batch, 6)}
        self._process.stdin.write(json.dumps(cell) + "\n")
        self._process.stdin.flush()
        return self._read(f"{batch}x{ctx}")

    def end(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(timeout=60)

    def _read(self, asked: str) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"{self.name}: no answer to {asked}, exit code {self._process.wait()}")
        answer: dict[str, Any] = json.loads(line)
        if answer.get("steps_s") == []:
            raise RuntimeError(f"{self.name}: no decode step of the whole batch in {asked}")
        return answer


def run() -> dict[str, object]:
    """Figures by cell and engine, and whether the bars are held: 2 x transformers everywhere, 0.85 of the best native one."""
    cells = [_cell(text) for text in os.environ.get("TOKENCOGS_BENCH_CELLS", CELLS).split()]
    rounds = int(os.environ.get("TOKENCOGS_BENCH_ROUNDS", ROUNDS))
    engines = [Engine(name, python) for name, python in _interpreters().items()]
    answers: Answers = defaultdict(lambda: defaultdict(list))
    measured = [ceilings()]
    for number in range(rounds):
        for batch, ctx in cells:
            for engine in engines:
                print(f"round {number + 1} of {rounds}, {batch}x{ctx}, {engine.name}", file=sys.stderr)
                answers[batch, ctx][engine.name].append(engine.ask(batch, ctx))
        measured.append(ceilings())
    for engine in engines:
        engine.end()
    product = max(one.measured_flops for one in measured)
    figures = {
        f"{b}x{s}": _figures(b, s, answers[b, s]) | {"prefill_limit_tok_s": round(product / prompt_operations(s))}
        for b, s in cells
    }
    return {
        "engines": {engine.name: engine.about for engine in engines},
        "read_bandwidth_gb_s": round(statistics.median(one.measured_bytes_per_second for one in measured) / 1e9, 1),
        "gemm_gflop_s": round(product / 1e9),
        "cells": figures,
    }


def _interpreters() -> dict[str, str]:
    named = dict(part.split("=", 1) for part in os.environ.get("TOKENCOGS_BENCH_PEERS", "").split())
    if "transformers" not in named and importlib.util.find_spec("transformers"):
        named["transformers"] = sys.executable
    return {"tokencogs": sys.executable, **{name: python for name, python in named.items() if python}}


def _cell(text: str) -> tuple[int, int]:
    batch, ctx = text.split("x")
    return int(batch), int(ctx)


def _figures(batch: int, ctx: int, by_engine: dict[str, list[dict[str, Any]]]) -> dict[str, object]:
    result: dict[str, Any] = {name: _figure(batch, ctx, answers) for name, answers in by_engine.items()}
    ours = result.get("tokencogs")
    for name, other in result.copy().items():
        if ours and name != "tokencogs":
            ratios = {k: round(ours[k] / other[k], 2) for k in ("decode_tok_s", "decode_tok_s_median", "prefill_tok_s")}
            result[f"ours_to_{name}"] = ratios
            if name == "transformers":
                result["bar_held"] = ratios["decode_tok_s"] >= BAR
                result["prefill_bar_held"] = ratios["prefill_tok_s"] >= BAR
    native = [
        _figure(batch, ctx, by_engine[name])["decode_tok_s"]
        for name in by_engine.keys() - {"tokencogs", "transformers"}
    ]
    if ours and native and batch <= NATIVE_BATCH and ctx == NATIVE_CONTEXT:
        result["native_bar_held"] = ours["decode_tok_s"] >= NATIVE_BAR * max(native)
    return result


def _figure(batch: int, ctx: int, answers: list[dict[str, Any]]) -> dict[str, Any]:
    quiet = [one for one in answers if one["others"] <= QUIET]
    used = quiet or answers
    steps = sorted(step for one in used for step in one["steps_s"])
    quarter, median = steps[len(steps) // 4], statistics.median(steps)
    read = STREAMED_BYTES + batch * ctx * KV_BYTES
    return {
        "decode_tok_s": round(batch / quarter, 1),
        "decode_tok_s_median": round(batch / median, 1),
        "achieved_gb_s": round(read / quarter / 1e9, 1),
        "prefill_tok_s": round(batch * ctx / min(one["prefill_s"] for one in used)),
        "steps": len(steps),
        "rounds_quiet": f"{len(quiet)} of {len(answers)}",
        "contaminated": not quiet,
    }


def prompt_operations(tokens: int) -> float:
    """Of one token of a prompt, in the mean."""
    return STREAMED_BYTES - 2 * HEAD_PARAMETERS + PAIR_OPERATIONS * tokens / 2


def ceilings() -> Measured:
    import torch  # noqa: PLC0415 (the other benches need no torch)

    from probe.measure.ceilings import measure_ceilings  # noqa: PLC0415

    return measure_ceilings(torch.device("cpu"), torch.bfloat16)


if __name__ == "__main__":
    print(json.dumps(run(), indent=2))
