"""What does a step cost: of given lengths on a model alone, or of requests that an engine serves?"""

from __future__ import annotations

import random
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import torch

from probe.engine.attention.choose import attention_backend
from probe.engine.attention.metadata import BatchMetadata, GroupMetadata
from probe.engine.engine import Engine
from probe.engine.interfaces import Proposer, Sampler, SamplingParams
from probe.engine.kv.cache import LayerCache
from probe.engine.linear import linear_factory
from probe.engine.models.config import ModelConfig
from probe.engine.models.model import Model
from probe.engine.models.weights import RandomWeights
from probe.engine.options import EngineConfig
from probe.engine.scheduler import SchedulerConfig
from probe.gpu.device import synchronise
from probe.gpu.steps import filled_caches
from probe.study.size import Size

BLOCK = 16
Parts = Sequence[tuple[int, int]]


@dataclass
class Lab:
    """One device with one set of sizes. Models of one configuration are made once."""

    size: Size
    device: torch.device
    seed: int = 0
    _models: dict[tuple[ModelConfig, str], Model] = field(default_factory=dict)
    _caches: dict[int, list[LayerCache]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.dtype = getattr(torch, self.size.dtype)
        self.random = random.Random(self.seed)

    def model(self, config: ModelConfig | None = None, quantization: str = "none") -> Model:
        """A model of random weights; the dense one where no configuration is given."""
        wanted = (config or self.size.config, quantization)
        if wanted not in self._models:
            self._models[wanted] = Model(
                wanted[0],
                RandomWeights(wanted[0], self.seed, self.dtype, self.device),
                linear_factory(quantization, self.device),
                attention_backend("auto", self.dtype, self.device, mla=wanted[0].mla is not None),
                dtype=self.dtype,
                device=self.device,
                max_model_len=max(2 * self.size.long, 1 << 13),
            )
        return self._models[wanted]

    def step(self, model: Model, parts: Parts) -> Callable[[], float]:
        """Measures seconds of a step of `parts` (new, cached) tokens a sequence: median of `size.steps`, device synchronised."""
        blocks = sum(_blocks(new + cached) for new, cached in parts)
        caches = self._filled(model, blocks)
        tokens = torch.tensor(self.tokens(sum(new for new, _ in parts)), device=self.device)
        rows = torch.tensor([sum(new for new, _ in parts[: i + 1]) - 1 for i in range(len(parts))], device=self.device)

        def once() -> float:
            batch = _batch(model, parts)
            synchronise(self.device)
            begun = time.perf_counter()
            model.forward(tokens, batch, caches, rows).argmax(dim=-1)
            synchronise(self.device)
            return time.perf_counter() - begun

        return lambda: statistics.median(once() for _ in range(self.size.steps))

    def decode(self, model: Model, batch: int, context: int) -> Callable[[], float]:
        """Measures seconds of a decode step."""
        return self.step(model, [(1, context)] * batch)

    def engine(
        self,
        model: Model,
        slots: int,
        *,
        block_size: int = BLOCK,
        budget: int = 1 << 16,
        caching: bool = False,
        proposer: Proposer | None = None,
        sampler: Sampler | None = None,
    ) -> Engine:
        """An engine whose cache has room for `slots` tokens."""
        scheduler = SchedulerConfig(max_num_batched_tokens=budget, max_model_len=len(model.rope.cos))
        config = EngineConfig(
            block_size, num_blocks=slots // block_size, enable_prefix_caching=caching, scheduler=scheduler
        )
        return Engine(model, config, sampler=sampler, proposer=proposer)

    def tokens(self, count: int) -> list[int]:
        """Random token ids."""
        return [self.random.randrange(self.size.vocabulary) for _ in range(count)]

    def _filled(self, model: Model, blocks: int) -> list[LayerCache]:
        known = self._caches.get(id(model))
        if known is None or known[0].key.shape[0] < blocks:
            self._caches[id(model)] = filled_caches(model, blocks, BLOCK)
        return self._caches[id(model)]


def greedy(output: int) -> SamplingParams:
    """So many output tokens, whatever they are."""
    return SamplingParams(max_tokens=output, temperature=0.0, ignore_eos=True)


def drained(engine: Engine) -> float:
    """Seconds until an engine has answered all that it was asked."""
    begun = time.perf_counter()
    while engine.has_unfinished:
        engine.step()
    return time.perf_counter() - begun


def _batch(model: Model, parts: Parts) -> BatchMetadata:
    """A step of sequences whose blocks lie one after another."""
    tables: list[list[int]] = []
    slots: list[int] = []
    positions: list[int] = []
    first = 0
    for new, cached in parts:
        count = _blocks(new + cached)
        tables.append(list(range(first, first + count)))
        slots += range(first * BLOCK + cached, first * BLOCK + cached + new)
        positions += range(cached, cached + new)
        first += count
    mapping = torch.tensor(slots, device=model.device)
    groups = [GroupMetadata(group.window, tables, mapping.clone()) for group in model.groups]
    new_tokens, cached_tokens = [new for new, _ in parts], [cached for _, cached in parts]
    return BatchMetadata(
        new_tokens, cached_tokens, BLOCK, torch.tensor(positions, device=model.device), groups, num_blocks=first
    )


def _blocks(tokens: int) -> int:
    return -(-tokens // BLOCK)
