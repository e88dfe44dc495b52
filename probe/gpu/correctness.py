"""Does every backend of this device compute what dense attention and the stored weights say?"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from probe.engine.attention.dense import DenseAttention
from probe.engine.attention.metadata import BatchMetadata, GroupMetadata
from probe.engine.errors import ProbeError
from probe.engine.interfaces import AttentionBackend
from probe.engine.kv.cache import LayerCache
from probe.engine.linear import WEIGHTS, linear_factory
from probe.engine.models.spec import AttentionSpec
from probe.gpu.crashes import crashes, told

SPECS = {
    "gqa": AttentionSpec(32, 8, 128, 128, 128**-0.5),
    "mqa": AttentionSpec(16, 1, 64, 64, 0.125),
    "mla": AttentionSpec(16, 1, 576, 512, 192**-0.5, shares_key=True),
    "window and sinks": AttentionSpec(16, 2, 64, 64, 0.125, window=128, has_sinks=True),
}
STEPS = {"decode": ([1, 1, 1], [0, 130, 700]), "prefill": ([70, 1, 40], [0, 300, 129])}
BLOCK = 16
# Relative to the largest value of the reference, which is computed in fp32 from the same rounded inputs.
TOLERANCE = {torch.float32: 1e-4, torch.bfloat16: 2e-2}
LINEAR_TOLERANCE = {"none": 1e-2, "int8": 1e-2, "int4": 1e-2, "w8a8": 2e-2, "fp8": 6e-2}


def check_attention(
    backends: dict[str, Callable[[], AttentionBackend]], device: torch.device, dtype: torch.dtype, small: bool = False
) -> list[dict[str, Any]]:
    """One finding a backend, specification and step: {"backend", "case", "error", "ok"}, or why it has "refused" or "crashed"."""
    findings: list[dict[str, Any]] = []
    for spec_name, whole in SPECS.items():
        spec = (
            replace(whole, num_heads=whole.num_heads // 4, num_kv_heads=-(-whole.num_kv_heads // 4)) if small else whole
        )
        for step_name, (num_new, num_past) in STEPS.items():
            new, past = ([-(-n // 10) for n in counts] if small else counts for counts in (num_new, num_past))
            batch, cache, query, sinks = _step(spec, new, past, device, dtype)
            reference = _reference(spec, batch, cache, query, sinks)
            for name, make in backends.items():
                finding: dict[str, Any] = {"backend": name, "case": f"{spec_name}, {step_name}"}
                try:
                    backend = make()
                    backend.plan(batch)
                    got = backend.attend(query, cache, batch.groups[0], spec, sinks).float()
                except ProbeError as refused:
                    findings.append(finding | {"refused": str(refused)})
                    continue
                except crashes() as crash:
                    findings.append(finding | {"crashed": told(crash), "ok": False})
                    continue
                error = float((got - reference).abs().max() / reference.abs().max())
                findings.append(finding | {"error": error, "ok": error <= TOLERANCE[dtype]})
    return findings


def check_linears(device: torch.device, dtype: torch.dtype) -> list[dict[str, Any]]:
    """One finding a weight format and number of tokens: relative error of a product against the stored weight in fp32."""
    findings: list[dict[str, Any]] = []
    generator = torch.Generator(device).manual_seed(0)
    weight = torch.randn(512, 256, generator=generator, device=device).to(dtype)
    for name in WEIGHTS:
        for tokens in (1, 40):
            finding: dict[str, Any] = {"weights": name, "tokens": tokens}
            x = torch.randn(tokens, 256, generator=generator, device=device).to(dtype)
            try:
                linear = linear_factory(name, device)(weight, None, "checked")
                want = x.float() @ linear.stored_weight().T  # type: ignore[attr-defined]
                error = float((linear(x).float() - want).norm() / want.norm())
            except ProbeError as refused:
                findings.append(finding | {"refused": str(refused)})
            except crashes() as crash:
                findings.append(finding | {"crashed": told(crash), "ok": False})
            else:
                findings.append(finding | {"error": error, "ok": error <= LINEAR_TOLERANCE[name]})
    return findings


def _step(
    spec: AttentionSpec, num_new: list[int], num_past: list[int], device: torch.device, dtype: torch.dtype
) -> tuple[BatchMetadata, LayerCache, Tensor, Tensor | None]:
    """Scattered blocks filled with random rows, and random queries."""
    generator = torch.Generator(device).manual_seed(1)
    lengths = [new + past for new, past in zip(num_new, num_past, strict=True)]
    needed = [-(-length // BLOCK) for length in lengths]
    order = iter(torch.randperm(sum(needed), generator=torch.Generator().manual_seed(2)).tolist())
    tables = [[next(order) for _ in range(count)] for count in needed]
    cache = LayerCache.allocate(spec, sum(needed), BLOCK, dtype, device)
    cache.key.normal_(generator=generator)
    if not spec.shares_key:
        cache.value.normal_(generator=generator)
    positions = [range(past, length) for past, length in zip(num_past, lengths, strict=True)]
    slots = [table[i // BLOCK] * BLOCK + i % BLOCK for table, at in zip(tables, positions, strict=True) for i in at]
    group = GroupMetadata(spec.window, tables, torch.tensor(slots, device=device))
    flat = torch.tensor([i for at in positions for i in at], device=device)
    batch = BatchMetadata(num_new, num_past, BLOCK, flat, [group], sum(needed))
    query = torch.randn(sum(num_new), spec.num_heads, spec.key_dim, generator=generator, device=device).to(dtype)
    sinks = torch.randn(spec.num_heads, generator=generator, device=device) if spec.has_sinks else None
    return batch, cache, query, sinks


def _reference(
    spec: AttentionSpec, batch: BatchMetadata, cache: LayerCache, query: Tensor, sinks: Tensor | None
) -> Tensor:
    wide = LayerCache(
        cache.key.float(), cache.key.float()[..., : spec.value_dim] if spec.shares_key else cache.value.float()
    )
    dense = DenseAttention()
    dense.plan(batch)
    return dense.attend(query.float(), wide, batch.groups[0], spec, sinks)
