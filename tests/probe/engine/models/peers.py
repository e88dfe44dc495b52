"""The same random weights in this engine and in transformers."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import torch
from torch import Tensor
from transformers import AutoConfig, AutoModelForCausalLM
from transformers.utils import logging

from probe.engine.attention.metadata import BatchMetadata, GroupMetadata
from probe.engine.attention.torch_paged import TorchPagedAttention
from probe.engine.kv.cache import LayerCache
from probe.engine.linear.factory import linear_factory
from probe.engine.models.hf_config import parse_config
from probe.engine.models.model import Model
from probe.engine.models.weights import RandomWeights

logging.set_verbosity_error()


def ours(raw: dict[str, Any], dtype: torch.dtype = torch.float32, backend: Any = None) -> Model:
    config = parse_config(raw)
    return Model(
        config,
        RandomWeights(config, seed=3, dtype=dtype),
        linear_factory(),
        backend or TorchPagedAttention(dtype),
        dtype=dtype,
    )


def theirs(raw: dict[str, Any], dtype: torch.dtype = torch.float32) -> Any:
    """transformers' own model, eager attention, loaded strictly: a missing or unknown name fails."""
    weights = RandomWeights(parse_config(raw), seed=3, dtype=dtype)
    known = deepcopy(raw)  # transformers writes into the dictionaries it is given
    config = AutoConfig.for_model(known.pop("model_type"), **known)
    with torch.device("meta"):
        model = AutoModelForCausalLM.from_config(config, attn_implementation="eager")
    model = model.to_empty(device="cpu").to(dtype)
    state = {name: weights.get(name) for name in weights.shapes}
    if config.tie_word_embeddings:
        state["lm_head.weight"] = state["model.embed_tokens.weight"]
    model.load_state_dict(state, strict=True, assign=True)
    rotary = model.model.rotary_emb
    model.model.rotary_emb = type(rotary)(config)  # its frequencies are no weights: made anew off the meta device
    return model.eval()


def whole_prompt_logits(model: Model, token_ids: list[int], block_size: int = 4) -> Tensor:
    """[T, vocabulary] of one prompt in one step."""
    count = -(-len(token_ids) // block_size)
    spec = model.config.attention_spec(0)
    pages = len(model.groups[0].layers)
    caches = [
        LayerCache.allocate(spec, count * len(model.groups), block_size, model.dtype, model.device)
        for _ in range(pages)
    ]
    groups = []
    for index, group in enumerate(model.groups):
        table = list(range(index * count, (index + 1) * count))
        slots = torch.arange(len(token_ids)) + index * count * block_size
        groups.append(GroupMetadata(group.window, [table], slots))
    batch = BatchMetadata([len(token_ids)], [0], block_size, torch.arange(len(token_ids)), groups)
    return model.forward(torch.tensor(token_ids), batch, caches)


@torch.no_grad()
def reference_logits(model: Any, token_ids: list[int]) -> Tensor:
    logits: Tensor = model(torch.tensor([token_ids])).logits[0].float()
    return logits
