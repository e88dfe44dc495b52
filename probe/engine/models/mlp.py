"""What does a token pass after attention? A gated MLP, or the few experts that a router chooses for it."""

from __future__ import annotations

import torch
from torch import Tensor

from probe.engine.interfaces import Linear, LinearFactory
from probe.engine.models.config import ModelConfig, MoeConfig
from probe.engine.models.weights import Weights


class Mlp:
    def __init__(self, prefix: str, weights: Weights, make_linear: LinearFactory, *, bias: bool = False) -> None:
        def both(kind: str) -> Tensor:
            return torch.cat([weights.get(f"{prefix}.{name}.{kind}") for name in ("gate_proj", "up_proj")])

        down = f"{prefix}.down_proj"
        self.gate_up = make_linear(both("weight"), both("bias") if bias else None, f"{prefix}.gate_up_proj")
        self.down = make_linear(weights.get(f"{down}.weight"), weights.get(f"{down}.bias") if bias else None, down)

    def __call__(self, x: Tensor) -> Tensor:
        return self.down(self.gate_up.gated(x))


class Moe:
    """Routed experts and shared ones; only the experts that a token of the step has chosen are read.

    Attributes: experts_touched: distinct experts read in the last call.
    """

    def __init__(self, prefix: str, config: ModelConfig, weights: Weights, make_linear: LinearFactory) -> None:
        assert config.moe is not None
        self.moe: MoeConfig = config.moe
        router = f"{prefix}.router" if self.moe.fused_bias else f"{prefix}.gate"
        weight, bias = weights.get(f"{router}.weight"), weights.get(f"{router}.bias") if self.moe.fused_bias else None
        self.router = make_linear(weight.float() if self.moe.scores_precisely else weight, bias, router)
        self.router_dtype = torch.float32 if self.moe.scores_precisely else weight.dtype
        self.correction = (
            weights.get(f"{prefix}.gate.e_score_correction_bias").float() if self.moe.correction_bias else None
        )
        self.gate_up, self.down = self._experts(f"{prefix}.experts", weights, make_linear)
        self.shared = Mlp(f"{prefix}.shared_experts", weights, make_linear) if self.moe.n_shared_experts else None
        self.experts_touched = 0

    def _experts(self, prefix: str, weights: Weights, make_linear: LinearFactory) -> tuple[list[Linear], list[Linear]]:
        made = []
        for part in ("gate_up_proj", "down_proj"):
            stacked = weights.get(f"{prefix}.{part}")
            biases = weights.get(f"{prefix}.{part}_bias") if self.moe.fused_bias else None
            if self.moe.fused_bias:
                stacked = stacked.transpose(1, 2)
            made.append(
                [
                    make_linear(stacked[e].contiguous(), None if biases is None else biases[e], f"{prefix}.{e}.{part}")
                    for e in range(self.moe.num_experts)
                ]
            )
        return made[0], made[1]

    def __call__(self, x: Tensor) -> Tensor:
        """x [T, hidden]; tokens are sorted by expert, each touched expert is called once."""
        scores, chosen = self.route(x)
        order = chosen.flatten().argsort(stable=True)
        counts = torch.bincount(chosen.flatten(), minlength=self.moe.num_experts).tolist()
        tokens, factors = order // self.moe.num_experts_per_tok, scores.flatten()[order].unsqueeze(-1)
        out, start = torch.zeros_like(x), 0
        for expert, count in enumerate(counts):
            if count:
                rows = tokens[start : start + count]
                y = self.down[expert](self._activated(self.gate_up[expert], x[rows]))
                out.index_add_(0, rows, (y * factors[start : start + count]).to(x.dtype))
                start += count
        self.experts_touched = sum(1 for count in counts if count)
        return out if self.shared is None else out + self.shared(x)

    def _activated(self, expert: Linear, x: Tensor) -> Tensor:
        if not self.moe.fused_bias:
            return expert.gated(x)
        gate_up = expert(x)
        gate = gate_up[..., ::2].clamp(max=self.moe.swiglu_limit)
        up = gate_up[..., 1::2].clamp(-self.moe.swiglu_limit, self.moe.swiglu_limit)
        return (up + 1) * gate * torch.sigmoid(gate * self.moe.swiglu_alpha)

    def route(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Factors and experts [T, k] of each token."""
        moe, k = self.moe, self.moe.num_experts_per_tok
        if moe.scoring == "softmax_after_topk":
            values, chosen = self.router(x).topk(k, dim=-1)
            return values.softmax(dim=-1), chosen
        logits = self.router(x.to(self.router_dtype)).float()
        scores = logits.sigmoid() if moe.scoring == "sigmoid" else logits.softmax(dim=-1)
        ranked = scores if self.correction is None else scores + self.correction
        chosen = self._best_groups(ranked).topk(k, dim=-1).indices
        factors = scores.gather(1, chosen)
        if moe.norm_topk_prob:
            factors = factors / factors.sum(dim=-1, keepdim=True)
        return factors * moe.routed_scaling_factor, chosen

    def _best_groups(self, ranked: Tensor) -> Tensor:
        """Experts outside the best `topk_group` groups can't be chosen."""
        moe = self.moe
        if moe.topk_group >= moe.n_group:
            return ranked
        grouped = ranked.view(len(ranked), moe.n_group, -1)
        worth = grouped.amax(dim=-1) if moe.group_score == "max" else grouped.topk(2, dim=-1).values.sum(dim=-1)
        best = worth.topk(moe.topk_group, dim=-1).indices
        kept = torch.zeros_like(worth, dtype=torch.bool).scatter_(1, best, True)
        return grouped.masked_fill(~kept.unsqueeze(-1), float("-inf")).view_as(ranked)
