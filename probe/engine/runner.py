"""How does a schedule become tensors, and tensors logits? The only part of the loop that touches a device."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from probe.engine.attention.metadata import BatchMetadata, GroupMetadata
from probe.engine.kv.block import NULL_BLOCK
from probe.engine.kv.block_manager import BlockManager
from probe.engine.kv.cache import LayerCache
from probe.engine.models.model import Model
from probe.engine.scheduler import Scheduled


@dataclass
class ModelInput:
    """One step's input. Attributes: token_ids [T]; rows: token indices whose logits are wanted, sequence after sequence."""

    token_ids: Tensor
    batch: BatchMetadata
    rows: Tensor


class Forward(Protocol):
    """`Model.forward`, plain or replayed from graphs."""

    def __call__(
        self, token_ids: Tensor, batch: BatchMetadata, caches: list[LayerCache], rows: Tensor | None = None
    ) -> Tensor: ...


class ModelRunner:
    """Owns the cache tensors.

    Attributes: caches: one a layer of a page. A page, and so a block, serves as many layers as a KV group has; forward: the model's own, or
    what stands for it (graphs.py).
    """

    def __init__(
        self, model: Model, manager: BlockManager, caches: list[LayerCache], forward: Forward | None = None
    ) -> None:
        self.model, self.manager, self.caches, self.forward = model, manager, caches, forward or model.forward

    def prepare(self, scheduled: list[Scheduled]) -> ModelInput:
        tokens: list[int] = []
        positions: list[int] = []
        rows: list[int] = []
        slots: list[list[int]] = [[] for _ in self.model.groups]
        for part in scheduled:
            begin, end = part.num_past, part.num_past + part.num_new
            tokens += part.sequence.token_ids[begin : end - part.num_draft]
            if part.num_draft:
                assert part.sequence.draft is not None
                tokens += part.sequence.draft.token_ids[: part.num_draft]
            positions += range(begin, end)
            if part.samples:
                rows += range(len(tokens) - part.num_draft - 1, len(tokens))
            for group, mapping in enumerate(slots):
                mapping.extend(_slots(part.sequence.block_tables[group], begin, end, self.manager.block_size))
        device = self.model.device
        groups = [
            GroupMetadata(
                one.window, [part.sequence.block_tables[g] for part in scheduled], torch.tensor(slots[g], device=device)
            )
            for g, one in enumerate(self.model.groups)
        ]
        batch = BatchMetadata(
            [part.num_new for part in scheduled],
            [part.num_past for part in scheduled],
            self.manager.block_size,
            torch.tensor(positions, device=device),
            groups,
            num_blocks=self.manager.num_blocks,
        )
        return ModelInput(
            torch.tensor(tokens, device=device), batch, torch.tensor(rows, dtype=torch.long, device=device)
        )

    def run(self, step: ModelInput) -> Tensor:
        """Logits [rows, vocabulary]; shared blocks that are about to be written are copied first."""
        for source, target in self.manager.pending_copies:
            for cache in self.caches:
                cache.copy_block(source, target)
        self.manager.pending_copies.clear()
        return self.forward(step.token_ids, step.batch, self.caches, step.rows)

    def synchronise(self) -> None:
        """Waits for the device, so that a clock read afterwards has seen the work."""
        if self.model.device.type == "cuda":
            torch.cuda.synchronize(self.model.device)


def _slots(table: list[int], begin: int, end: int, block_size: int) -> list[int]:
    slots: list[int] = []
    for index in range(begin // block_size, -(-end // block_size)):
        if table[index] == NULL_BLOCK:
            raise IndexError(f"token {max(begin, index * block_size)} has no block to be written to")
        first = max(begin, index * block_size) - index * block_size
        last = min(end, (index + 1) * block_size) - index * block_size
        slots += range(table[index] * block_size + first, table[index] * block_size + last)
    return slots
