"""What does a token cost against the length of its context? The picture that explains the bill.

Long contexts cost twice: attention reads more (c*s), and fewer sequences fit into the cache, so that fewer share a step's t_0.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from accounting.selfhosted.curve import StepCurve, best_batch, prompts_measured
from accounting.selfhosted.pool import Pool
from accounting.selfhosted.steady import NO_TARGETS, Targets
from accounting.selfhosted.unit_costs import at_point


@dataclass(frozen=True)
class ContextCost:
    """Amounts for a million tokens at one context; None where no measured batch fits the cache and holds the targets.

    Attributes:
        context: tokens. batch: R* there.
        output, uncached_input, cached_input: by kind of token.
        step_part, context_part: of output, t_0/R* and experts; c*s. The rest is a.
        extrapolated: the context is beyond the curve's measured range, or, with a target of the first token, so long a prompt is.
    """

    context: int
    batch: int | None
    output: Fraction | None
    uncached_input: Fraction | None
    cached_input: Fraction | None
    step_part: Fraction | None
    context_part: Fraction | None
    extrapolated: bool


def against_context(
    curve: StepCurve, pool: Pool, contexts: Sequence[int], replica_hour: Fraction, targets: Targets = NO_TARGETS
) -> list[ContextCost]:
    """Full batches at each context: as many sequences as fit, hold the targets and give most tokens a second."""
    million = replica_hour * 1_000_000 / 3_600
    low, high = curve.domain.context
    found = []
    for context in contexts:
        beyond = not low <= context <= high
        if targets.ttft_seconds is not None:  # The batch rests on a first token of prompts that long.
            beyond = beyond or not prompts_measured(curve.domain, context, 0, pool.token_budget)
        batch = _batch(curve, pool, context, targets)
        if batch is None:
            found.append(ContextCost(context, None, None, None, None, None, None, beyond))
            continue
        costs = at_point(curve, batch, context, pool.token_budget, replica_hour)
        own = Fraction(curve.a) * million
        of_context = Fraction(curve.c) * context * million
        assert costs.output is not None
        step = costs.output - own - of_context
        found.append(
            ContextCost(
                context, batch, costs.output, costs.uncached_input, costs.cached_input, step, of_context, beyond
            )
        )
    return found


def _batch(curve: StepCurve, pool: Pool, context: int, targets: Targets) -> int | None:
    best = best_batch(curve, context, targets.ttft_seconds, targets.itl_seconds, pool.token_budget)
    if best is None:
        return None
    room = (
        pool.max_batch if pool.kv_capacity_tokens is None else min(pool.max_batch, pool.kv_capacity_tokens // context)
    )
    return min(best, room) or None
