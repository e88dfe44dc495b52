"""Does a mixture of experts cost what it uses, or what it holds?"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from probe.curve.terms import coverage
from probe.engine.models.config import ModelConfig, MoeConfig
from probe.engine.models.shapes import num_parameters
from probe.study.frame import Arm, Contrast
from probe.study.lab import Lab

QUESTION = "does a mixture cost its active size alone, and near its loaded size in a large batch?"
EXPERTS, CHOSEN = 8, 2


def contrasts(lab: Lab) -> list[Contrast]:
    """Alone a token streams the experts it chose; a batch touches nearly all of them."""
    size = lab.size
    mixture, active, loaded = (lab.model(config) for config in variants(lab))
    return [
        Contrast(
            "a step of batch 1",
            "seconds",
            Arm("mixture", lab.decode(mixture, 1, size.short)),
            Arm("dense of its loaded size", lab.decode(loaded, 1, size.short)),
        ),
        Contrast(
            f"a step of batch {size.many}",
            "seconds",
            Arm("dense of its active size", lab.decode(active, size.many, size.short)),
            Arm("mixture", lab.decode(mixture, size.many, size.short)),
        ),
    ]


def facts(lab: Lab) -> dict[str, Any]:
    """Parameters, and the experts that a batch is expected to touch: E (1 - (1 - k/E)^T)."""
    _, active, loaded = (num_parameters(config) for config in variants(lab))
    touched = float(coverage(np.asarray(float(lab.size.many)), EXPERTS, CHOSEN))
    return {
        "parameters active, loaded": (active, loaded),
        f"experts touched by {lab.size.many} tokens": round(touched, 2),
    }


def variants(lab: Lab) -> tuple[ModelConfig, ModelConfig, ModelConfig]:
    """The mixture, a dense model of its active size, and one of its loaded size."""
    base = lab.size.config
    width = lab.size.ffn // CHOSEN
    routed = MoeConfig(EXPERTS, CHOSEN, width, (True,) * lab.size.layers)
    mixture = replace(base, model_type="mixtral", moe=routed, intermediate_size=width)
    return mixture, base, replace(base, intermediate_size=EXPERTS * width)
