"""Is a long prompt quadratic, and a long cache linear?"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from probe.curve.architecture import architecture_of
from probe.engine.models.config import ModelConfig
from probe.study.frame import Arm, Contrast
from probe.study.lab import Lab

QUESTION = "does a prompt's time grow with the square of its length, and a step's with the cache's length alone?"


def contrasts(lab: Lab) -> list[Contrast]:
    """Three lengths in even steps: of a straight line the middle is half of both ends, of a bent one it is less."""
    size, model = lab.size, lab.model(narrow(lab))
    lengths = [size.long // 4, size.long, size.long * 7 // 4]
    prompts = [lab.step(model, [(length, 0)]) for length in lengths]
    steps = [lab.decode(model, size.many, length) for length in lengths]

    def middle(which: list[Any]) -> Arm:
        return Arm("twice the middle", lambda: 2 * which[1]())

    def ends(which: list[Any]) -> Arm:
        return Arm("both ends", lambda: which[0]() + which[2]())

    at = ", ".join(str(length) for length in lengths)
    return [
        Contrast(f"a prompt of {at} tokens", "seconds", middle(prompts), ends(prompts)),
        Contrast(f"a step of {size.many} at {at} tokens", "seconds", middle(steps), ends(steps), same=0.1),
    ]


def facts(lab: Lab) -> dict[str, Any]:
    """Operations of attention beside those of the weights, for the longest prompt: 4 L H d n^2/2 over 2 w n."""
    length = lab.size.long * 7 // 4
    shape = architecture_of("narrow", narrow(lab))
    pairs = shape.flops(0, length / 2, rows=0)
    weights = 2 * (shape.attention_parameters + shape.layers * shape.expert_parameters)
    return {f"attention's share of a prompt of {length}": round(pairs / (pairs + weights), 3)}


def narrow(lab: Lab) -> ModelConfig:
    """The dense model with half its width in the feed-forward part, so that attention is a large part of a prompt's time."""
    return replace(lab.size.config, intermediate_size=lab.size.hidden // 2)
