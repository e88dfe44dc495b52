"""How do the kernels multiply tiles, compiled and interpreted alike?"""

from __future__ import annotations

import triton
import triton.language as tl

INTERPRETED = bool(triton.knobs.runtime.interpret)


@triton.jit
def dot(a, b, WIDEN: tl.constexpr):
    """`tl.dot` with fp32 sums. The interpreter multiplies the bits of bf16 as if they were integers, so there they are widened."""
    if WIDEN:
        return tl.dot(a.to(tl.float32), b.to(tl.float32), input_precision="ieee")
    return tl.dot(a, b, input_precision="ieee")
