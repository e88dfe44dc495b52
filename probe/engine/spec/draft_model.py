"""What would a smaller model say next? It drafts k tokens for each sequence, from a paged cache of its own."""

from __future__ import annotations

import random
from collections.abc import Sequence as Seq

import torch
from torch import Tensor

from probe.engine.attention.metadata import BatchMetadata, GroupMetadata
from probe.engine.estimate import Part, StepEstimator
from probe.engine.interfaces import Draft, Work
from probe.engine.kv.block_manager import BlockManager
from probe.engine.kv.cache import LayerCache
from probe.engine.kv.sequence import Sequence
from probe.engine.models.model import Model
from probe.engine.spec.rejection import inverse_draw
from probe.engine.spec.sampler import probabilities


class DraftModelProposer:
    """Keeps a shadow of each sequence in the draft model's cache; rejected tokens are rolled back, new ones caught up with.

    A sequence for which the draft's cache has no room or its rope table no position gets no draft in that step.

    Attributes: k: tokens drafted; may be changed between steps, 0 drafts nothing; work: of its forward passes in the last call.
    """

    def __init__(self, model: Model, k: int, num_blocks: int, block_size: int = 16, seed: int = 0) -> None:
        if k < 0:
            raise ValueError(f"k: {k} is negative")
        self.k, self.seed = k, seed
        self._model = model
        windows = [group.window for group in model.groups]
        self._manager = BlockManager(num_blocks, block_size, windows, enable_prefix_caching=False)
        self._caches = [
            LayerCache.allocate(model.config.attention_spec(layer), num_blocks, block_size, model.dtype, model.device)
            for layer in model.groups[0].layers
        ]
        row_bytes = model.config.attention_spec(0).bytes_per_token(model.dtype.itemsize)
        self._estimator, self.work = StepEstimator(model, row_bytes), Work()
        self._shadows: dict[tuple[str, int], Sequence] = {}

    def propose(self, sequences: Seq[Sequence]) -> list[Draft]:
        self.work = Work()
        self._forget_missing({sequence.key for sequence in sequences})
        shadows = [self._caught_up(sequence) for sequence in sequences]
        drawn: dict[tuple[str, int], list[Tensor]] = {shadow.key: [] for shadow in shadows}
        for _ in range(self.k):
            going = [s for s in shadows if self._wants_more(s) and self._has_room(s)]
            if not going:
                break
            for shadow, logits in zip(going, self._forward(going), strict=True):
                p = probabilities(logits[None], shadow.params)
                drawn[shadow.key].append(p[0])
                shadow.token_ids.append(int(inverse_draw(p, self._uniform(shadow, p.device))[0]))
        return [
            _draft(sequence, shadow, drawn[shadow.key]) for sequence, shadow in zip(sequences, shadows, strict=True)
        ]

    def forget(self, request_id: str) -> None:
        for key in [key for key in self._shadows if key[0] == request_id]:
            self._manager.free(self._shadows.pop(key))

    def check(self) -> None:
        """The books of the draft's cache balance; raises IntegrityError otherwise."""
        self._manager.check()

    def _forget_missing(self, known: set[tuple[str, int]]) -> None:
        """A sequence that isn't asked for is preempted or prefilling: what the draft holds of it would only take room."""
        for key in [key for key in self._shadows if key not in known]:
            self._manager.free(self._shadows.pop(key))

    def _caught_up(self, sequence: Sequence) -> Sequence:
        """The shadow with the target's tokens; what both had computed alike stays computed, but for the last token."""
        shadow = self._shadows.get(sequence.key)
        if shadow is None:
            shadow = Sequence(sequence.request_id, sequence.token_ids, sequence.params, sequence.index)
            shadow.num_prompt_tokens = sequence.num_prompt_tokens
            self._shadows[sequence.key] = shadow
            return shadow
        alike = 0
        most = min(shadow.num_computed_tokens, sequence.num_tokens - 1)
        while alike < most and shadow.token_ids[alike] == sequence.token_ids[alike]:
            alike += 1
        shadow.token_ids = list(sequence.token_ids)
        shadow.num_computed_tokens = alike
        if shadow.key in self._manager.holders:
            self._manager.trim(shadow)
            self._manager.commit(shadow)  # only now: a window must not pass tokens that may be rolled back
        return shadow

    @staticmethod
    def _wants_more(shadow: Sequence) -> bool:
        """The target adds one token to the drafted ones, so drafts up to max_tokens - 1 are of use."""
        return shadow.num_output_tokens < shadow.params.max_tokens - 1

    def _has_room(self, shadow: Sequence) -> bool:
        if shadow.num_tokens > len(self._model.rope.cos):
            return False
        return self._manager.allocate(shadow, shadow.num_uncomputed_tokens)

    def _forward(self, shadows: list[Sequence]) -> Tensor:
        """Computes what the shadows lack; logits [sequences, V] at their last tokens."""
        num_new = [shadow.num_uncomputed_tokens for shadow in shadows]
        num_past = [shadow.num_computed_tokens for shadow in shadows]
        device, size = self._model.device, self._manager.block_size
        positions = [range(past, past + new) for past, new in zip(num_past, num_new, strict=True)]
        groups = []
        for g, group in enumerate(self._model.groups):
            tables = [shadow.block_tables[g] for shadow in shadows]
            slots = [
                table[i // size] * size + i % size for table, at in zip(tables, positions, strict=True) for i in at
            ]
            groups.append(GroupMetadata(group.window, tables, torch.tensor(slots, device=device)))
        flat = torch.tensor([i for at in positions for i in at], device=device)
        batch = BatchMetadata(num_new, num_past, size, flat, groups, num_blocks=self._manager.num_blocks)
        tokens = [token for shadow in shadows for token in shadow.token_ids[shadow.num_computed_tokens :]]
        last = torch.tensor(num_new, device=device).cumsum(0) - 1
        logits = self._model.forward(torch.tensor(tokens, device=device), batch, self._caches, last)
        parts = [Part(new, past, rows=1) for new, past in zip(num_new, num_past, strict=True)]
        self.work += self._estimator.work(parts, self._model.experts_touched())
        for shadow in shadows:
            shadow.num_computed_tokens = shadow.num_tokens
        return logits

    def _uniform(self, shadow: Sequence, device: torch.device) -> Tensor:
        """Independent of the numbers by which the drafts are verified."""
        own = shadow.params.seed
        whose = f"engine/{self.seed}/{shadow.request_id}" if own is None else f"request/{own}"
        drawn = random.Random(f"draft/{whose}/{shadow.index}/{shadow.num_tokens}").random()
        return torch.tensor([drawn], dtype=torch.float64, device=device)


def _draft(sequence: Sequence, shadow: Sequence, drawn: list[Tensor]) -> Draft:
    tokens = tuple(shadow.token_ids[sequence.num_tokens :])
    return Draft(tokens, torch.stack(drawn)) if drawn else Draft(())
