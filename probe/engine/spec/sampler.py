"""Which token comes next? The request's own distribution, with drafts verified against it; k = 0 is plain sampling."""

from __future__ import annotations

import random

import torch
from torch import Tensor

from probe.engine.interfaces import Draft, SamplingParams
from probe.engine.kv.sequence import Sequence
from probe.engine.spec.rejection import one_hot, verify


def probabilities(logits: Tensor, params: SamplingParams) -> Tensor:
    """`logits` (rows, V) to the float64 distribution that the parameters ask for: temperature, then top_k, then top_p.

    Temperature 0 puts probability 1 on the largest logit (the first of equal ones). top_p keeps the likeliest tokens up to
    and including the one that reaches it.
    """
    if params.temperature == 0.0:
        return one_hot(logits.argmax(dim=-1), logits.shape[-1])
    exact = logits.double()
    # Less the largest before it is divided: by a temperature near 0 the quotients overflow, and inf - inf is no number.
    p = torch.softmax((exact - exact.amax(dim=-1, keepdim=True)) / params.temperature, dim=-1)
    if 0 < params.top_k < p.shape[-1]:
        kth = p.topk(params.top_k, dim=-1).values[:, -1:]
        p = p.masked_fill(p < kth, 0.0)
    if params.top_p < 1.0:
        ordered, order = p.sort(dim=-1, descending=True, stable=True)
        before = ordered.cumsum(dim=-1) - ordered
        ordered = ordered.masked_fill(before >= params.top_p * ordered.sum(dim=-1, keepdim=True), 0.0)
        p = torch.zeros_like(p).scatter(-1, order, ordered)
    return p / p.sum(dim=-1, keepdim=True)


class SpeculativeSampler:
    """The engine's sampler: verifies drafts by rejection sampling and draws the token after them.

    Randomness is a function of (seed, request, output index, length so far): batch, preemption and order of steps don't
    change what a request gets.

    Attributes: seed: of requests without their own.
    """

    def __init__(self, seed: int = 0) -> None:
        self.seed = seed

    def __call__(self, logits: Tensor, sequence: Sequence, draft: Draft | None) -> list[int]:
        """`logits` [k + 1, V], for the last token and the k drafted ones; 1 to k + 1 tokens.

        Of a longer draft only the first k count: the scheduler may have cut it to its token budget.
        """
        k = logits.shape[0] - 1
        drafted = draft.token_ids[:k] if draft else ()
        if not drafted and sequence.params.temperature == 0.0:
            return [int(logits[0].argmax())]
        p = probabilities(logits, sequence.params)[None]
        tokens = torch.tensor([drafted], dtype=torch.long, device=logits.device).view(1, len(drafted))
        q = one_hot(tokens, p.shape[-1]) if draft is None or draft.probs is None else draft.probs[None, :k].to(p)
        uniforms = torch.tensor([self.uniforms(sequence, len(drafted) + 1)], dtype=torch.float64, device=logits.device)
        verified = verify(p, q, tokens, uniforms)
        kept = int(verified.num_accepted[0])
        return [int(token) for token in verified.token_ids[0, : kept + 1]]

    def uniforms(self, sequence: Sequence, count: int) -> list[float]:
        """`count` numbers in [0, 1) for the step that starts at this length."""
        seed = sequence.params.seed
        whose = f"engine/{self.seed}/{sequence.request_id}" if seed is None else f"request/{seed}"
        draw = random.Random(f"{whose}/{sequence.index}/{sequence.num_tokens}").random
        return [draw() for _ in range(count)]
