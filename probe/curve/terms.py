"""How long does a step take by its additive terms?

    t = t_0 + e*cov(T) + a*B + c*S + d*N + f*sum(n*(p + n/2)) + r*P,   cov(T) = E*(1 - (1 - k/E)^T)

B decoding sequences that attend to S tokens in all, N new prompt tokens that meet P cached ones, T = B + N tokens in the step,
k of E experts a token. Seconds throughout.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from probe.curve.grid import Floats

NAMES = ("t_0", "e", "a", "c", "d", "f", "r")


def coverage(tokens: Floats, experts: int, experts_per_token: int) -> Floats:
    """Expected experts that `tokens` touch when each picks `experts_per_token` evenly; 0 where there are none."""
    if not experts:
        return np.zeros(np.shape(tokens))
    return np.asarray(experts * (1.0 - np.power(1.0 - experts_per_token / experts, tokens)))


@dataclass(frozen=True)
class Terms:
    """Fitted seconds: t_0 of a step, e of an expert touched, a of a decoding sequence, c of a token it attends to, d of a new prompt
    token, f of a pair of new and earlier token, r of a cached token."""

    t_0: float
    a: float
    c: float
    d: float
    f: float
    r: float
    e: float = 0.0
    experts: int = 0
    experts_per_token: int = 0

    def seconds(self, batch: Floats, context_sum: Floats, prefill: Floats, tokens: Floats) -> Floats:
        """Seconds of steps; `prefill` is the seconds of the prompts' own terms."""
        experts = self.experts if self.e > 0 else 0
        touched = coverage(tokens, experts, self.experts_per_token)
        return np.asarray(self.t_0 + self.e * touched + self.a * batch + self.c * context_sum + prefill)

    def prefill(self, new: Floats, cached: Floats) -> Floats:
        """Own seconds of a prompt computed in one chunk."""
        return np.asarray(self.d * new + self.f * new * (cached + new / 2) + self.r * cached)
