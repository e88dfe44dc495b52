"""How many KV blocks does a device hold, and which tensors are they?"""

from __future__ import annotations

import torch

from probe.engine.errors import ProbeError
from probe.engine.kv.cache import LayerCache
from probe.engine.kv.groups import num_blocks_for
from probe.engine.kv.quant import QuantisedLayerCache, bytes_per_token, kv_dtype
from probe.engine.models.model import Model
from probe.engine.options import EngineConfig


def allocate_caches(model: Model, config: EngineConfig) -> tuple[int, list[LayerCache]]:
    """Number of blocks, and one cache a layer of a page. Raises ProbeError where memory holds none or isn't stated."""
    blocks = config.num_blocks or num_blocks_for(kv_budget(model, config), block_bytes(model, config))
    spec = model.config.attention_spec(0)
    pages = range(len(model.groups[0].layers))
    if config.kv_cache_dtype == "auto":
        return blocks, [LayerCache.allocate(spec, blocks, config.block_size, model.dtype, model.device) for _ in pages]
    dtype = kv_dtype(config.kv_cache_dtype)
    return blocks, [QuantisedLayerCache.allocate(spec, blocks, config.block_size, dtype, model.device) for _ in pages]


def row_bytes(model: Model, config: EngineConfig) -> int:
    """Bytes of a token in one layer, scales included."""
    spec = model.config.attention_spec(0)
    return spec.bytes_per_token(model.dtype.itemsize) if config.kv_cache_dtype == "auto" else bytes_per_token(spec)


def block_bytes(model: Model, config: EngineConfig) -> int:
    """Bytes of a block: its tokens in all layers of a page."""
    return row_bytes(model, config) * config.block_size * len(model.groups[0].layers)


def kv_budget(model: Model, config: EngineConfig) -> int:
    """Bytes that the cache may take now. Raises ProbeError on a CPU that wasn't told."""
    if config.kv_cache_bytes is not None:
        return config.kv_cache_bytes
    if model.device.type != "cuda":
        raise ProbeError("kv_cache_bytes: must be given on a CPU, whose memory is not the engine's alone")
    torch.cuda.empty_cache()  # what the allocator keeps of the loading is free, and would be counted as in use
    free, total = torch.cuda.mem_get_info(model.device)
    return int(total * config.gpu_memory_utilization) - (total - free)
