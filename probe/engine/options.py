"""How is an engine run: cache, blocks, limits, policy?"""

from __future__ import annotations

from dataclasses import dataclass, field

from probe.engine.scheduler import SchedulerConfig


@dataclass(frozen=True)
class EngineConfig:
    """vLLM's names where it has them.

    Attributes:
        block_size: tokens a KV block.
        num_blocks: of the cache; None: as many as kv_cache_bytes holds.
        kv_cache_bytes: None: on CUDA gpu_memory_utilization of the device less what is in use; on a CPU it must be given.
        enable_prefix_caching: False measures without reuse.
        kv_cache_dtype: auto (that of the model), int8 or fp8 (quantised, behaviour changing).
        seed: of requests without their own.
    """

    block_size: int = 16
    num_blocks: int | None = None
    kv_cache_bytes: int | None = None
    gpu_memory_utilization: float = 0.9
    enable_prefix_caching: bool = True
    kv_cache_dtype: str = "auto"
    seed: int = 0
    scheduler: SchedulerConfig = field(default_factory=SchedulerConfig)

    def __post_init__(self) -> None:
        if self.block_size < 1:
            raise ValueError(f"block_size: {self.block_size} is out of range")
        if not 0.0 < self.gpu_memory_utilization <= 1.0:
            raise ValueError(f"gpu_memory_utilization: {self.gpu_memory_utilization} is not in (0, 1]")
