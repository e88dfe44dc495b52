"""How far did a model's answers move? Next-token distributions of a changed model against the unchanged one's, at the same tokens."""

from __future__ import annotations

import math

import numpy as np

from probe.curve.grid import Floats
from probe.curve.schema import Quality
from probe.quality.errors import QualityRefused


def log_softmax(logits: Floats) -> Floats:
    """[tokens, vocabulary] log probabilities."""
    shifted = logits - logits.max(axis=-1, keepdims=True)
    return np.asarray(shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True)))


class Divergence:
    """Adds up sequences. For each position with a next token: KL(reference || changed) in nats, whether the likeliest token is another
    one, and the next token's negative log likelihood under both (llama.cpp's --kl-divergence has the same figures)."""

    def __init__(self) -> None:
        self._kl: list[Floats] = []
        self._flips = 0
        self._surprise = [0.0, 0.0]

    def add(self, tokens: list[int], reference: Floats, changed: Floats) -> None:
        """`tokens` [n] and both models' logits [n, vocabulary] at them; the last position has no next token."""
        if reference.shape != changed.shape or reference.shape[0] != len(tokens) or len(tokens) < 2:
            raise QualityRefused(
                "logits", (reference.shape, changed.shape), f"two of [{len(tokens)}, vocabulary] are expected"
            )
        p, q = log_softmax(reference[:-1]), log_softmax(changed[:-1])
        self._kl.append(np.asarray((np.exp(p) * (p - q)).sum(axis=-1)))
        self._flips += int((p.argmax(axis=-1) != q.argmax(axis=-1)).sum())
        at = np.arange(len(tokens) - 1), np.asarray(tokens[1:])
        for index, one in enumerate((p, q)):
            self._surprise[index] -= float(one[at].sum())

    def quality(self, token_set: str) -> Quality:
        """Figures over all positions. Perplexity ratio: changed over reference."""
        if not self._kl:
            raise QualityRefused("token_set", token_set, "it has no sequence of two tokens or more")
        kl = np.concatenate(self._kl)
        return Quality(
            token_set=token_set,
            tokens=int(kl.size),
            kl_mean=float(kl.mean()),
            kl_p99=float(np.percentile(kl, 99)),
            top1_flips=self._flips / kl.size,
            perplexity_ratio=math.exp((self._surprise[1] - self._surprise[0]) / kl.size),
        )
