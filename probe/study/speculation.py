"""From which acceptance on does speculation pay?"""

from __future__ import annotations

import random
from typing import Any

from probe.engine.spec.acceptance import expected_tokens_per_step
from probe.engine.spec.sampler import SpeculativeSampler
from probe.engine.spec.synthetic import RandomProposer, SyntheticAcceptance
from probe.study.frame import Arm, Contrast
from probe.study.lab import BLOCK, Lab, drained, greedy

QUESTION = "does drafting cost at low acceptance and pay at high?"
DRAFTED = 4
LOW, HIGH = 0.1, 0.9


def contrasts(lab: Lab) -> list[Contrast]:
    """One request's answer with and without drafts, kept at stated rates. Drafts are free here: a draft model's own time comes on top."""

    def at(rate: float) -> Arm:
        return Arm(f"{DRAFTED} drafted, {rate:.0%} kept", lambda: _seconds_a_token(lab, rate))

    plain = Arm("no drafts", lambda: _seconds_a_token(lab, None))
    unit = "seconds a token"
    return [
        Contrast(f"acceptance {HIGH:.0%}", unit, at(HIGH), plain),
        Contrast(f"acceptance {LOW:.0%}", unit, plain, at(LOW)),
    ]


def facts(lab: Lab) -> dict[str, Any]:
    """What a verify step yields."""
    rates = (LOW, 0.5, HIGH)
    return {f"tokens a step at {rate:.0%}": round(expected_tokens_per_step(rate, DRAFTED), 3) for rate in rates}


def _seconds_a_token(lab: Lab, rate: float | None) -> float:
    proposer = None if rate is None else RandomProposer(DRAFTED, lab.size.vocabulary, lab.seed)
    sampler = SpeculativeSampler(lab.seed)
    kept = None if rate is None else SyntheticAcceptance((rate,), sampler, random.Random(lab.seed).random)
    output = 8 * lab.size.steps
    engine = lab.engine(
        lab.model(), (lab.size.short + output + 2 * BLOCK) // BLOCK * BLOCK, proposer=proposer, sampler=kept
    )
    engine.add_request(lab.tokens(lab.size.short), greedy(output + 1), "one")
    engine.step()  # the prompt's own step gives the first token
    return drained(engine) / output
