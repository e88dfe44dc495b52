"""What was the server asked to run? The command's options as one checked record, without torch."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

# What commands let one choose from.
DTYPES = ("bfloat16", "float32")
QUANTIZATIONS = ("none", "int8", "int4", "w8a8", "fp8")
KV_CACHE_DTYPES = ("auto", "int8", "fp8")
POLICIES = ("decode_first", "prefill_first")
ATTENTION_BACKENDS = ("auto", "torch", "triton", "flashinfer")
_CHOICES = {
    "dtype": DTYPES,
    "quantization": QUANTIZATIONS,
    "kv_cache_dtype": KV_CACHE_DTYPES,
    "policy": POLICIES,
    "attention_backend": ATTENTION_BACKENDS,
}


@dataclass(frozen=True)
class ServeOptions:
    """vLLM's names where it has them; meanings stand in `tokencogs probe serve --help`.

    Attributes: synthetic_acceptance: rates by position; empty: drafts are verified. kv_cache_memory_bytes: None: on a GPU by
    gpu_memory_utilization, on a CPU 1 GiB. gpu_memory_utilization: None: 0.9 of a GPU; a CPU has none.
    """

    model: str
    served_model_name: str | None = None
    scale: float = 1.0
    seed: int = 0
    dtype: str = "bfloat16"
    device: str | None = None
    quantization: str = "none"
    kv_cache_dtype: str = "auto"
    attention_backend: str = "auto"
    block_size: int = 16
    kv_cache_memory_bytes: int | None = 1 << 30
    gpu_memory_utilization: float | None = None
    cuda_graphs: bool = False
    max_model_len: int = 4096
    max_num_seqs: int = 64
    max_num_batched_tokens: int = 2048
    policy: str = "decode_first"
    enable_prefix_caching: bool = True
    speculative_method: str = "none"
    speculative_model: str | None = None
    num_speculative_tokens: int = 4
    synthetic_acceptance: tuple[float, ...] = ()
    tokenizer: Path | None = None
    ledger: Path | None = None

    def __post_init__(self) -> None:
        if self.device is not None and not re.fullmatch(r"cpu|cuda(:\d+)?", self.device):
            raise ValueError(f"device: {self.device!r} is neither cpu nor cuda")
        for name, choices in _CHOICES.items():
            if getattr(self, name) not in choices:
                raise ValueError(f"{name}: {getattr(self, name)!r} is none of {', '.join(choices)}")
        share = self.gpu_memory_utilization
        if share is not None and not 0.0 < share <= 1.0:
            raise ValueError(f"gpu_memory_utilization: {share} is not in (0, 1]")
        if self.ledger is not None and not self.ledger.parent.is_dir():
            raise ValueError(f"ledger: {self.ledger} can't be written, its folder isn't there")
        if self.ledger is not None and self.ledger.exists():
            raise ValueError(f"ledger: {self.ledger} is there already, and a ledger is never overwritten")
        if (self.speculative_method == "draft_model") != (self.speculative_model is not None):
            raise ValueError("speculative_model: goes with speculative_method = draft_model, and only with it")
        if self.speculative_method == "random" and not self.synthetic_acceptance:
            raise ValueError("speculative_method: random tokens need synthetic_acceptance")
        if self.synthetic_acceptance and self.speculative_method == "none":
            raise ValueError("synthetic_acceptance: needs a speculative_method")

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> ServeOptions:
        """From the command's values. Errors: ValueError naming the option."""
        known = {field.name: values[field.name] for field in fields(cls) if field.name in values}
        rates = known.pop("synthetic_acceptance", None)
        try:
            parsed = tuple(float(rate) for rate in rates.split(",")) if rates else ()
        except ValueError as wrong:
            raise ValueError(f"synthetic_acceptance: {rates!r} is no list of numbers") from wrong
        caching = not values.get("no_enable_prefix_caching", False)
        return cls(**known, synthetic_acceptance=parsed, enable_prefix_caching=caching)
