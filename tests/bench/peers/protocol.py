"""How does the bench talk to an engine's process? One JSON line in, one out; the same file runs in every peer's environment.

A cell is {"batch", "ctx", "steps"}; the answer is {"prefill_s", "steps_s", "others"}: seconds from submission to every sequence's first
token, seconds of each decode step after it, and the share of the machine that other processes took meanwhile.
"""

from __future__ import annotations

import itertools
import json
import os
import random
import sys
import time
from collections.abc import Callable
from typing import Any

SHAPE = {  # The 248M Llama: 215.2M parameters streamed a step (0.430 GB in bf16), 12,288 bytes of KV a token.
    "vocab_size": 32000,
    "hidden_size": 1024,
    "intermediate_size": 4096,
    "num_hidden_layers": 12,
    "num_attention_heads": 16,
    "num_key_value_heads": 4,
    "head_dim": 64,
    "max_position_embeddings": 4096,
    "rms_norm_eps": 1e-5,
    "rope_theta": 10000.0,
    "tie_word_embeddings": False,
}
BUDGET = 2048  # tokens a step, for every engine
Measure = Callable[[int, int, int], tuple[float, list[float]]]


def prompts(batch: int, ctx: int, seed: int) -> list[list[int]]:
    """Random prompts; a new seed each time, so that no prefix cache helps."""
    draw = random.Random(seed)
    return [[draw.randrange(SHAPE["vocab_size"]) for _ in range(ctx)] for _ in range(batch)]


def tokens_wanted(batch: int, ctx: int, steps: int) -> int:
    """Output tokens to ask for, so that no sequence has ended when the last prompt is done and `steps` more have run."""
    return steps + 2 + -(-batch * ctx // BUDGET)


def whole_steps(stamps: list[list[float]]) -> list[float]:
    """Seconds of decode steps: between two tokens of the sequence that was prefilled last, where every sequence got one meanwhile."""
    last = max(stamps, key=lambda times: times[0])
    return [
        after - before
        for before, after in itertools.pairwise(last)
        if all(any(before < at <= after for at in times) for times in stamps)
    ]


class Contamination:
    """What share of the machine others took: busy jiffies of /proc/stat less this process's own processor time."""

    def __init__(self) -> None:
        self._busy, self._own, self._wall = _busy_seconds(), _own_seconds(), time.perf_counter()

    def others(self) -> float:
        busy, own = _busy_seconds() - self._busy, _own_seconds() - self._own
        return (busy - own) / ((time.perf_counter() - self._wall) * (os.cpu_count() or 1))


def _busy_seconds() -> float:
    with open("/proc/stat", encoding="ascii") as file:
        user, nice, system, _, _, irq, softirq, *_ = (int(n) for n in file.readline().split()[1:])
    return (user + nice + system + irq + softirq) / os.sysconf("SC_CLK_TCK")


def _own_seconds() -> float:
    times = os.times()
    return times.user + times.system


def serve(measure: Measure, about: dict[str, Any]) -> None:
    """Answers cells until the input ends; the first line out says what was loaded."""
    # Libraries may print; only the answers go to the pipe.
    pipe = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    print(json.dumps(about), file=pipe, flush=True)
    for line in sys.stdin:
        cell = json.loads(line)
        watch = Contamination()
        prefill, steps = measure(cell["batch"], cell["ctx"], cell["steps"])
        print(json.dumps({"prefill_s": prefill, "steps_s": steps, "others": watch.others()}), file=pipe, flush=True)
