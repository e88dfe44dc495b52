"""What does a token cost? The plain figure of a bill over its tokens, and by kind of token: as billed, and at any batch and context.

The plain figure takes the whole bill, idle hours included; over busy hours alone it would be the price of a machine that nobody pays for.
As billed, kinds times their tokens are the bill again. Amounts are Fractions in the unit of the bill or the rate.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from accounting.errors import InvalidInput
from accounting.selfhosted.apportion import apportion
from accounting.selfhosted.arrays import PS_PER_SECOND, Floats
from accounting.selfhosted.curve import Curve, StepCurve
from accounting.selfhosted.spent import Spent


@dataclass(frozen=True)
class TokenSeconds:
    """Replica seconds of one token in a full step, of the shape asked for; times the replica's rate they are its cost.

    Attributes:
        output: t_0/b + e*cov(b)/b + a + c*s.
        uncached_input: own work of a prompt of s tokens in chunks of what the budget leaves, its part of t_0 and experts, per token.
        cached_input: r, per token found in the cache.
    """

    output: Floats
    uncached_input: Floats
    cached_input: Floats


@dataclass(frozen=True)
class UnitCosts:
    """For a million tokens of each kind; None where there are none of it, or the curve can't say."""

    uncached_input: Fraction | None
    cached_input: Fraction | None
    output: Fraction | None


def per_million(amount: int | Fraction, tokens: int) -> Fraction:
    """Amount for a million tokens, exactly, in the amount's own unit."""
    if tokens < 1:
        raise InvalidInput("tokens", tokens, "an hour without tokens has no cost a token")
    return Fraction(amount) * 1_000_000 / tokens


def at_utilisation(hourly_rate: Fraction, tokens_per_second: Fraction, utilisation: Fraction) -> Fraction:
    """Amount for a million tokens of a machine that is paid by the hour and gives `utilisation` of its full throughput."""
    if not 0 < utilisation <= 1:
        raise InvalidInput("utilisation", utilisation, "more than 0 and at most 1 is expected")
    if tokens_per_second <= 0:
        raise InvalidInput("tokens_per_second", tokens_per_second, "a positive throughput is expected")
    return hourly_rate * 1_000_000 / (3_600 * tokens_per_second * utilisation)


def token_seconds(curve: StepCurve, batch: Floats, context: Floats, token_budget: int) -> TokenSeconds:
    """Seconds a token at (batch, context): what the picture of cost against context length shows."""
    if bool((batch < 1).any()) or bool((context < 1).any()):
        raise InvalidInput("batch", batch.tolist(), "batches and contexts from 1 are expected")
    experts = curve.e * curve.coverage(batch) / batch
    output = curve.t_0 / batch + experts + curve.a + curve.c * context
    chunk = np.maximum(token_budget - (batch - 1), 1.0)
    steps = np.ceil(context / chunk)
    tokens = batch - 1 + np.minimum(context, chunk)
    own = curve.prefill_seconds(context, np.zeros_like(context)) + curve.r * context * (steps - 1) / 2
    uncached = (own + steps * curve.t_0 / batch) / context + curve.e * curve.coverage(tokens) / tokens
    return TokenSeconds(output, uncached, np.full_like(output, curve.r))


def at_point(curve: StepCurve, batch: int, context: int, token_budget: int, replica_hour: Fraction) -> UnitCosts:
    """Unit costs in steps of that batch and context, `replica_hour` being what a replica costs an hour; nothing idle, no gap."""
    found = token_seconds(curve, np.array([float(batch)]), np.array([float(context)]), token_budget)
    million = replica_hour * 1_000_000 / 3_600
    kinds = (found.uncached_input, found.cached_input, found.output)
    return UnitCosts(*(Fraction(float(seconds[0])) * million for seconds in kinds))


def as_billed(curve: Curve, bill: int, spent: Spent, uncached_input: int, cached_input: int, output: int) -> UnitCosts:
    """Unit costs at which the given tokens pay the whole bill, gap, idle and underfill included; they are whole requests' tokens.

    By the shares' seconds: what precedes the first token, less r a cached token, is uncached input's; r a cached token is cached
    input's; the rest is output's. Only prompts among the shares had cached tokens to read (`Spent.found`; all, where it is not told),
    and none of them took longer than its prompt. Split to the last unit. Raises InvalidInput where there are no shares.
    """
    if spent.share <= 0:
        raise InvalidInput("lines", 0, "without shares the bill is nobody's and tokens have no cost")
    cached = min(curve.r * (cached_input if spent.found is None else spent.found), spent.prefill)
    seconds = np.array([spent.prefill - cached, cached, spent.share - spent.prefill])
    parts = apportion(bill, np.rint(seconds * PS_PER_SECOND).astype(np.int64), np.arange(3)).tolist()
    pairs = zip(parts, (uncached_input, cached_input, output), strict=True)
    found = UnitCosts(*(per_million(int(part), count) if count else None for part, count in pairs))
    # A table does not know what a cached token takes; 0 would be a guess.
    return found if isinstance(curve, StepCurve) else replace(found, cached_input=None)
