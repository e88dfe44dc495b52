"""What does chunked prefill do to the time between tokens, and what does it cost the prompt?"""

from __future__ import annotations

import time
from typing import Any

from probe.engine.engine import Engine
from probe.study.frame import Arm, Contrast
from probe.study.lab import BLOCK, Lab, greedy

QUESTION = "does a prompt in chunks spare those who decode their longest wait, at the price of its own first token?"
DECODING = 4


def contrasts(lab: Lab) -> list[Contrast]:
    """A long prompt arrives while others decode: in one step, or in steps of at most so many tokens."""
    chunk = _chunk(lab)

    def arm(name: str, budget: int, which: int) -> Arm:
        return Arm(name, lambda: _arrival(lab, budget)[which])

    whole = 1 << 16
    return [
        Contrast(
            "longest time between tokens",
            "seconds",
            arm(f"chunks of {chunk}", chunk, 0),
            arm("whole", whole, 0),
        ),
        Contrast("first token of the prompt", "seconds", arm("whole", whole, 1), arm(f"chunks of {chunk}", chunk, 1)),
    ]


def facts(lab: Lab) -> dict[str, Any]:
    """How the prompt is cut."""
    return {"prompt tokens": lab.size.long, "chunk": _chunk(lab), "decoding beside it": DECODING}


def _chunk(lab: Lab) -> int:
    return max(DECODING + 4, lab.size.long // 16)


def _arrival(lab: Lab, budget: int) -> tuple[float, float]:
    """(longest step while the prompt is computed, seconds to its first token)."""
    size = lab.size
    slots = (DECODING * (size.short + 96) + size.long + 2 * BLOCK) // BLOCK * BLOCK
    engine = lab.engine(lab.model(), slots, budget=budget)
    for number in range(DECODING):
        engine.add_request(lab.tokens(size.short), greedy(64), str(number))
    while not _all_decode(engine):
        engine.step()
    engine.add_request(lab.tokens(size.long), greedy(1), "long")
    begun, longest = time.perf_counter(), 0.0
    while True:
        at = time.perf_counter()
        outputs = engine.step().outputs
        longest = max(longest, time.perf_counter() - at)
        if any(one.request_id == "long" and one.new_token_ids for one in outputs):
            return longest, time.perf_counter() - begun


def _all_decode(engine: Engine) -> bool:
    running = engine.scheduler.running
    return len(running) == DECODING and not any(sequence.in_prefill for sequence in running)
