"""What do fewer key and value heads, or a latent in their place, save at equal parameters?"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from probe.engine.models.config import MlaConfig, ModelConfig
from probe.engine.models.shapes import num_parameters
from probe.study.frame import Arm, Contrast
from probe.study.lab import Lab

QUESTION = "what do GQA, MQA and MLA save against MHA at equal parameters?"


def contrasts(lab: Lab) -> list[Contrast]:
    """A decode step of a large batch at a long context, where reading the cache is most of it."""
    size, kinds = lab.size, variants(lab)
    steps = {name: lab.decode(lab.model(config), size.many, size.long) for name, config in kinds.items()}
    where = f"a step of {size.many} at {size.long} tokens"
    pairs = [("GQA", "MHA"), ("MQA", "GQA"), ("MLA", "MHA")]
    return [Contrast(where, "seconds", Arm(a, steps[a]), Arm(b, steps[b])) for a, b in pairs]


def facts(lab: Lab) -> dict[str, Any]:
    """What each kind keeps of a token, and how equal the models are."""
    width = lab.dtype.itemsize
    kinds = variants(lab)
    return {
        "parameters": {name: num_parameters(config) for name, config in kinds.items()},
        "cache bytes a token": {name: config.kv_bytes_per_token(width) for name, config in kinds.items()},
    }


def variants(lab: Lab) -> dict[str, ModelConfig]:
    """Four attentions; what one saves in projections it gets in its feed-forward part, so that parameters are equal within 2 %."""
    base, heads, width = lab.size.config, lab.size.heads, lab.size.head_dim
    latent = MlaConfig(
        q_lora_rank=None,
        kv_lora_rank=2 * width,
        qk_nope_head_dim=width,
        qk_rope_head_dim=width // 2,
        v_head_dim=width,
    )
    kinds = {
        "MHA": replace(base, num_key_value_heads=heads),
        "GQA": replace(base, num_key_value_heads=max(2, heads // 4)),
        "MQA": replace(base, num_key_value_heads=1),
        "MLA": replace(base, num_key_value_heads=heads, mla=latent),
    }
    largest = max(num_parameters(config) for config in kinds.values())
    return {name: _filled_up(config, largest) for name, config in kinds.items()}


def _filled_up(config: ModelConfig, parameters: int) -> ModelConfig:
    missing = parameters - num_parameters(config)
    wider = round(missing / (3 * config.hidden_size * config.num_hidden_layers) / 8) * 8
    return replace(config, intermediate_size=config.intermediate_size + wider)
