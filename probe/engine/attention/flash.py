"""What does one call of torch's fused attention give? An output and the log-sum-exp by which pieces of a context are merged."""

from __future__ import annotations

import torch
from torch import Tensor

from probe.engine.models.spec import AttentionSpec

Partial = tuple[Tensor, Tensor]  # [n, H, V] and log-sum-exp [n, H] in float32


def additive(seen: Tensor, dtype: torch.dtype) -> Tensor:
    """A mask of bool (True: seen) as what is added to the scores."""
    return torch.zeros(seen.shape, dtype=dtype, device=seen.device).masked_fill_(~seen, float("-inf"))


def attend_view(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, spec: AttentionSpec, *, causal: bool = False
) -> Partial:
    """query [n, H, D] against key, value [s, G, width]; mask [n, s] is added; causal: n = s, each sees what precedes it."""
    new, group = len(query), spec.group_size
    if new == 1:  # the heads of a kv head become its queries, so that its keys are read once
        heads = query.view(1, spec.num_kv_heads, group, -1)
        keys, values = key.transpose(0, 1).unsqueeze(0), value.transpose(0, 1).unsqueeze(0)
        out, lse = _kernel(heads, keys, values, mask, spec)
        return out.reshape(1, spec.num_heads, -1)[..., : spec.value_dim], lse.reshape(1, spec.num_heads)
    heads = query.view(new, spec.num_kv_heads, group, -1).permute(1, 2, 0, 3)
    keys, values = (x.transpose(0, 1).unsqueeze(1).expand(-1, group, -1, -1) for x in (key, value))
    out, lse = _kernel(heads, keys, values, mask, spec, causal=causal)
    out = out.permute(2, 0, 1, 3).reshape(new, spec.num_heads, -1)
    return out[..., : spec.value_dim], lse.permute(2, 0, 1).reshape(new, spec.num_heads)


def attend_rows(
    query: Tensor,
    keys: Tensor,
    values: Tensor,
    start: int,
    stride: int,
    length: int,
    mask: Tensor | None,
    spec: AttentionSpec,
) -> Partial:
    """query [b, H, D], one token a sequence; sequence i reads slots start + i * stride and the `length` from there on.

    keys, values [slots, G, width]; mask [b, length] is added.
    """
    batch = len(query)
    key, value = (
        x[start:].as_strided(
            (batch, spec.num_kv_heads, length, x.shape[-1]), (stride * x.stride(0), x.stride(1), x.stride(0), 1)
        )
        for x in (keys, values)
    )
    folded = query.view(batch, spec.num_kv_heads, spec.group_size, -1)
    out, lse = _kernel(folded, key, value, None if mask is None else mask[:, None, None, :], spec)
    return out.reshape(batch, spec.num_heads, -1)[..., : spec.value_dim], lse.reshape(batch, spec.num_heads)


def _kernel(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, spec: AttentionSpec, *, causal: bool = False
) -> Partial:
    """[B, H, n, D] by [B, H, s, D]: output and log-sum-exp [B, H, n]."""
    if mask is not None:
        mask = mask.expand(*query.shape[:3], key.shape[2])
    if query.device.type == "cpu":
        kernel = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu
        out, lse = kernel(query, key, value, 0.0, causal, attn_mask=mask, scale=spec.scale)
        return out, lse
    scores = (query @ key.transpose(-1, -2)).float() * spec.scale
    if causal:
        ones = torch.ones(scores.shape[-2:], dtype=torch.bool, device=scores.device)
        scores = scores.masked_fill(ones.triu(1), float("-inf"))
    if mask is not None:
        scores = scores + mask
    lse = scores.logsumexp(dim=-1)
    return (scores - lse.unsqueeze(-1)).exp().to(value.dtype) @ value, lse


def merge(partials: list[Partial]) -> Partial:
    """Pieces of one context as if attended at once: outputs weighted by exp(their log-sum-exp); an unseen piece weighs 0."""
    if len(partials) == 1:
        return partials[0]
    lse = torch.stack([one[1] for one in partials])
    total = lse.logsumexp(dim=0)
    weights = (lse - total).exp().unsqueeze(-1)
    outs = torch.stack([one[0].float() for one in partials])
    return (outs * weights).sum(dim=0).to(partials[0][0].dtype), total


def with_sinks(partial: Partial, sinks: Tensor | None) -> Tensor:
    """A sink takes its part of the softmax and gives nothing: the output shrinks by exp(lse) / (exp(lse) + exp(sink))."""
    out, lse = partial
    return out if sinks is None else (out * torch.sigmoid(lse - sinks.float()).unsqueeze(-1)).to(out.dtype)
