"""What does a request cost by itself, whoever else is in the step? Closed forms of the curve's own terms."""

from __future__ import annotations

import numpy as np

from accounting.selfhosted.arrays import Floats
from accounting.selfhosted.curve import Curve


def decode_seconds(curve: Curve, context: Floats, start: Floats, end: Floats, growth: Floats, width: Floats) -> Floats:
    """Own work of decode steps `start` to `end` (counted from 0 at the first token; parts of steps allowed).

    Step j (from 1) computes `width` positions upon context + (j - 1)*growth tokens; position v of them attends to v more. So N steps are
    width * (N*a + c*(N*context + growth*(N^2 - N)/2 + N*(width + 1)/2)); without speculation growth = width = 1, which is
    N*a + c*(N*context + N*(N + 1)/2). A verify step prices all its positions.
    """
    steps, squares = end - start, (end - start) * (end + start)
    contexts = steps * (context + (width + 1) / 2) + growth * (squares - steps) / 2
    return np.asarray(width * (steps * curve.a + contexts * curve.c))


def prefill_seconds(curve: Curve, new: Floats, cached: Floats, steps: Floats) -> Floats:
    """Own work of a prompt in `steps` equal chunks: d*n + f*n*(p + n/2) + r*(what each chunk finds in the cache).

    Chunk k finds p + (k - 1)*n/steps tokens, so the last term is r*(p*steps + n*(steps - 1)/2).
    """
    reread = curve.r * (cached * (steps - 1) + new * (steps - 1) / 2)
    return np.asarray(curve.prefill_seconds(new, cached) + reread)
