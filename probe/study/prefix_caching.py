"""Does a cached prefix save prefill, and nothing of decode?"""

from __future__ import annotations

import statistics
import time
from typing import Any

from probe.engine.engine import Engine
from probe.study.errors import StudyRefused
from probe.study.frame import Arm, Contrast
from probe.study.lab import BLOCK, Lab, greedy

QUESTION = "does a cached prefix save prefill, not decode?"


def contrasts(lab: Lab) -> list[Contrast]:
    """The same length of prompt, found in the cache but for its last block, and not found."""
    length = lab.size.long // BLOCK * BLOCK
    output = 4 * lab.size.steps
    engine = lab.engine(lab.model(), 3 * (length + output + BLOCK) // BLOCK * BLOCK, caching=True)
    shared = lab.tokens(length - BLOCK)

    def prompt(hit: bool) -> list[int]:
        return (shared if hit else lab.tokens(length - BLOCK)) + lab.tokens(BLOCK)

    def arm(name: str, hit: bool, phase: int) -> Arm:
        return Arm(name, lambda: _phases(engine, prompt(hit), output, hit)[phase])

    _phases(engine, prompt(True), output, None)
    unit = "seconds"
    return [
        Contrast(f"first token after {length} tokens", unit, arm("found", True, 0), arm("not found", False, 0)),
        Contrast(f"a step at {length} tokens", unit, arm("found", True, 1), arm("not found", False, 1), same=0.1),
    ]


def facts(lab: Lab) -> dict[str, Any]:
    """Tokens of the prompt in the cache."""
    length = lab.size.long // BLOCK * BLOCK
    return {"tokens found of the prompt's": f"{length - BLOCK} of {length}"}


def _phases(engine: Engine, tokens: list[int], output: int, hit: bool | None) -> tuple[float, float]:
    """(seconds to the first token, median seconds of a decode step) of one request; `hit`: what the cache must have done."""
    engine.add_request(tokens, greedy(output + 1), "one")
    begun = time.perf_counter()
    first = engine.step()
    prefill = time.perf_counter() - begun
    cached = first.outputs[0].num_cached_tokens
    if hit is not None and cached != (len(tokens) - BLOCK if hit else 0):
        raise StudyRefused("num_cached_tokens", cached, "the cache did not do what this arm is about")
    steps = []
    while engine.has_unfinished:
        begun = time.perf_counter()
        engine.step()
        steps.append(time.perf_counter() - begun)
    return prefill, statistics.median(steps)
