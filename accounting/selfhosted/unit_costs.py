"""What does a token cost? The plain figure of a bill over its tokens, and seconds of replica time by kind of token on a curve.

The plain figure takes the whole bill, idle hours included; over busy hours alone it would be the price of a machine that nobody pays for.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from accounting.errors import InvalidInput
from accounting.selfhosted.arrays import Floats
from accounting.selfhosted.curve import StepCurve


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
