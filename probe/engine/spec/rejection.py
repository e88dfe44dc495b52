"""Which drafted tokens may stay, so that what is emitted is distributed as the target model alone would emit it?

Speculative sampling after Leviathan et al. (arXiv:2211.17192): a draft x of q is kept with probability min(1, p(x) / q(x)); the
first one refused is replaced by a draw from norm(max(0, p - q)); if all are kept, one more is drawn from p.
Shapes: B sequences, k drafted positions, V vocabulary. Everything is float64, so that the law holds to rounding.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from probe.engine.errors import ProbeError


@dataclass(frozen=True)
class Verified:
    """Attributes: token_ids [B, k + 1]: the emitted ones first, then -1; num_accepted [B]: drafts kept (emitted less one)."""

    token_ids: Tensor
    num_accepted: Tensor


def one_hot(draft: Tensor, vocabulary: int) -> Tensor:
    """q of a proposer that doesn't draw: `draft` [B, k] -> [B, k, V], probability 1 on the proposed token."""
    return torch.nn.functional.one_hot(draft, vocabulary).double()


def acceptance(p: Tensor, q: Tensor, draft: Tensor) -> Tensor:
    """Probability [B, k] of keeping each draft, given that those before it were kept. `p` [B, k + 1, V], `q` [B, k, V].

    Errors: ProbeError where q gives a drafted token no probability: it can't have been drawn from q.
    """
    k = draft.shape[1]
    target = p[:, :k].gather(2, draft[..., None])[..., 0]
    drafted = q.gather(2, draft[..., None])[..., 0]
    if k and not bool((drafted > 0).all()):
        sequence, position = (int(i) for i in (drafted <= 0).nonzero()[0])
        token = int(draft[sequence, position])
        raise ProbeError(
            f"draft {position} of sequence {sequence}: token {token} has probability 0 in its own distribution"
        )
    return (target / drafted).clamp_max(1.0)


def replacements(p: Tensor, q: Tensor) -> Tensor:
    """Distribution [B, k + 1, V] of the token that follows i kept drafts: the residual for i < k, and p itself for i = k."""
    k = q.shape[1]
    residual = (p[:, :k] - q).clamp_min(0.0)
    total = residual.sum(dim=2, keepdim=True)
    # p = q leaves no residual. It is never drawn from either, as acceptance is 1, except by rounding; then p is the answer.
    residual = torch.where(total > 0, residual / total, p[:, :k])
    return torch.cat([residual, p[:, k:]], dim=1)


def verify(p: Tensor, q: Tensor, draft: Tensor, uniforms: Tensor) -> Verified:
    """Emits 1 to k + 1 tokens for each sequence.

    `p` [B, k + 1, V] target, `q` [B, k, V] draft distributions, `draft` [B, k] token ids, `uniforms` [B, k + 1] in [0, 1): the
    first k decide on keeping, the last draws the token that follows. The result is a function of these alone.
    """
    p, q = p.double(), q.double()
    batch, k = draft.shape
    kept = uniforms[:, :k] < acceptance(p, q, draft)
    num_accepted = kept.long().cumprod(dim=1).sum(dim=1)
    rows = torch.arange(batch, device=draft.device)
    last = inverse_draw(replacements(p, q)[rows, num_accepted], uniforms[:, k])
    token_ids = torch.cat([draft, draft.new_full((batch, 1), -1)], dim=1)
    token_ids[torch.arange(k + 1, device=draft.device)[None] > num_accepted[:, None]] = -1
    token_ids[rows, num_accepted] = last
    return Verified(token_ids, num_accepted)


def inverse_draw(probabilities: Tensor, uniforms: Tensor) -> Tensor:
    """The token [B] at which the cumulated `probabilities` [B, V] first exceed `uniforms` [B] times their sum."""
    cumulated = probabilities.double().cumsum(dim=1)
    target = (uniforms.double() * cumulated[:, -1])[:, None]
    drawn = torch.searchsorted(cumulated, target, right=True)[:, 0]
    # u * sum may round up to the sum itself; the answer is then the last token that has any probability.
    last_possible = (probabilities > 0).long().cumsum(dim=1).argmax(dim=1)
    return torch.minimum(drawn, last_possible)
