"""How far do quantised weights or a quantised cache move a model's answers from its own unquantised ones?"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import torch

from probe.curve.grid import Floats
from probe.curve.schema import Quality
from probe.engine.attention.metadata import BatchMetadata, GroupMetadata
from probe.engine.kv.capacity import allocate_caches
from probe.engine.models.model import Model
from probe.engine.models.presets import preset
from probe.engine.models.weights import weight_files
from probe.engine.options import EngineConfig
from probe.quality.divergence import Divergence
from probe.quality.errors import QualityRefused
from probe.quality.tokens import TokenSet
from probe.server.build import build_model
from probe.server.options import ServeOptions

_BLOCK = 16


def has_real_weights(model: str) -> bool:
    """A folder with safetensors; a preset, or a bare config.json, gets random ones."""
    return bool(weight_files(Path(model)))


def compare(options: ServeOptions, tokens: TokenSet) -> Quality:
    """The model of `options` against the same one unquantised. Random weights have no answers to move: every figure is None.

    Raises QualityRefused where nothing is changed, or an id is none of the model's.
    """
    if options.quantization == "none" and options.kv_cache_dtype == "auto":
        raise QualityRefused("quantization", options.quantization, "nothing is changed; give it or kv_cache_dtype")
    if not has_real_weights(options.model):
        if not Path(options.model).is_dir():
            preset(options.model)  # refuses a name that is no model's
        return Quality()
    device = torch.device(options.device or ("cuda" if torch.cuda.is_available() else "cpu"))
    plain = replace(options, quantization="none", kv_cache_dtype="auto")
    pair = [(one, build_model(one, one.model, device)) for one in (plain, options)]
    vocabulary = pair[0][1].config.vocab_size
    found = Divergence()
    for sequence in tokens.sequences:
        wrong = next((token for token in sequence if not 0 <= token < vocabulary), None)
        if wrong is not None:
            raise QualityRefused("tokens", wrong, f"not in 0..{vocabulary - 1}")
        reference, changed = (_logits(model, one.kv_cache_dtype, sequence) for one, model in pair)
        found.add(sequence, reference, changed)
    return found.quality(tokens.name)


def _logits(model: Model, kv_cache_dtype: str, tokens: list[int]) -> Floats:
    """[tokens, vocabulary] of one sequence, its keys and values read from a cache of that kind."""
    blocks = -(-len(tokens) // _BLOCK)
    total = blocks * len(model.groups)  # groups of another window share the pool: each has blocks of its own
    _, caches = allocate_caches(model, EngineConfig(_BLOCK, num_blocks=total, kv_cache_dtype=kv_cache_dtype))
    positions = torch.arange(len(tokens), device=model.device)
    groups = [
        GroupMetadata(one.window, [list(range(i * blocks, (i + 1) * blocks))], positions + i * blocks * _BLOCK)
        for i, one in enumerate(model.groups)
    ]
    batch = BatchMetadata([len(tokens)], [0], _BLOCK, positions, groups, num_blocks=total)
    logits = model.forward(torch.tensor(tokens, device=model.device), batch, caches)
    return logits.double().cpu().numpy()
