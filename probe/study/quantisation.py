"""Where do eight-bit and four-bit weights pay, and where not?"""

from __future__ import annotations

from typing import Any

from probe.study.frame import Arm, Contrast
from probe.study.lab import Lab

QUESTION = "do int8 and int4 weights pay at batch 1, and no longer at a large batch?"


def contrasts(lab: Lab) -> list[Contrast]:
    """A decode step alone, where weights are most of what is read; then of a batch, where they are shared and must be unpacked."""
    size = lab.size
    found = []
    for batch in (1, size.many):
        dense = Arm("dense", lab.decode(lab.model(), batch, size.short))
        for name in ("int8", "int4"):
            packed = Arm(name, lab.decode(lab.model(quantization=name), batch, size.short))
            a, b = (packed, dense) if batch == 1 else (dense, packed)
            found.append(Contrast(f"a step of batch {batch}", "seconds", a, b))
    return found


def facts(lab: Lab) -> dict[str, Any]:
    """Bytes of the weights that a step reads."""
    kinds = {name: lab.model(quantization=name) for name in ("none", "int8", "int4")}
    read = {name: model.dense_bytes for name, model in kinds.items()}
    return {"weight bytes a step": read, "answers": "int8 and int4 change them: evaluate the workload again"}
