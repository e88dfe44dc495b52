"""How does torch attend to paged keys without copying them? By views of blocks that lie together, merged where they don't."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import torch
from torch import Tensor

from probe.engine.attention.dense import visible
from probe.engine.attention.flash import Partial, additive, attend_rows, attend_view, merge, with_sinks
from probe.engine.attention.metadata import BatchMetadata, GroupMetadata
from probe.engine.attention.runs import Run, runs_of, stride_of
from probe.engine.kv.cache import LayerCache, Memory
from probe.engine.models.spec import AttentionSpec
from probe.engine.native import calls, pool
from probe.engine.native.calls import WIDTH

# Pieces shorter than this, on average, are gathered: one copy costs less than a kernel call for each.
SHORTEST_VIEW = 128
# Ragged rows are read up to the longest; below this share of useful tokens each sequence is read by itself.
LEAST_USEFUL = 0.8


@dataclass
class SequencePlan:
    """One sequence's part.

    Attributes: start, new: its tokens in the step; runs: its visible slots; slots: the same, to be gathered (None: read as
    views); causal: nothing precedes the new tokens; mask: [n, keys], added; None: all is seen.
    """

    start: int
    new: int
    runs: list[Run]
    slots: Tensor | None = None
    causal: bool = False
    mask: Tensor | None = None


@dataclass
class RowsPlan:
    """Decoding sequences of evenly spaced single runs, read as one view. Attributes: mask: [b, keys], added; None: none is ragged."""

    rows: slice
    start: int
    stride: int
    length: int
    mask: Tensor | None


@dataclass
class GroupPlan:
    rows: list[RowsPlan] = field(default_factory=list)
    sequences: list[SequencePlan] = field(default_factory=list)


class StepPlan:
    """A group's plans of one step, made when they are first asked for.

    Attributes: all: of every sequence, for torch; decode: of those with one new token, several: of those with more, for kernels that
    read block tables (None: there are none).
    """

    def __init__(self, batch: BatchMetadata, group: GroupMetadata, dtype: torch.dtype) -> None:
        self._batch, self._group, self._dtype = batch, group, dtype

    @cached_property
    def all(self) -> GroupPlan:
        return _plan(self._batch, self._group, self._dtype)

    @cached_property
    def decode(self) -> calls.DecodePlan | None:
        return _decode_plan(self._batch, self._group)

    @cached_property
    def several(self) -> calls.PrefillPlan | None:
        return _prefill_plan(self._batch, self._group)


class TorchPagedAttention:
    """The CPU's backend; dtype: of queries and cache."""

    def __init__(self, dtype: torch.dtype = torch.float32) -> None:
        self.dtype = dtype

    def plan(self, batch: BatchMetadata) -> None:
        for group in batch.groups:
            group.plan = StepPlan(batch, group, self.dtype)

    def write(self, key: Tensor, value: Tensor | None, cache: LayerCache, group: GroupMetadata) -> None:
        cache.store(key, value, group.slot_mapping)

    def attend(
        self, query: Tensor, cache: LayerCache, group: GroupMetadata, spec: AttentionSpec, sinks: Tensor | None
    ) -> Tensor:
        """query [T, H, D] to [T, H, V]."""
        step: StepPlan = group.plan
        out = query.new_empty(query.shape[0], spec.num_heads, spec.value_dim)
        fits = spec.key_dim % WIDTH == 0 and spec.value_dim % WIDTH == 0
        if fits and cache.memory is not None and pool.available():
            return self._by_kernels(query, cache.memory, step, spec, sinks, out)
        plan = step.all
        keys, values = cache.slots()
        if spec.shares_key:
            values = keys  # the kernel wants equal widths; what lies beyond the latent is dropped
        for rows in plan.rows:
            whole = attend_rows(query[rows.rows], keys, values, rows.start, rows.stride, rows.length, rows.mask, spec)
            out[rows.rows] = with_sinks(whole, sinks)
        for part in plan.sequences:
            new = slice(part.start, part.start + part.new)
            out[new] = with_sinks(_attend(query[new], keys, values, part, spec), sinks)
        return out

    def _by_kernels(
        self, query: Tensor, memory: Memory, step: StepPlan, spec: AttentionSpec, sinks: Tensor | None, out: Tensor
    ) -> Tensor:
        lse = out.new_empty(out.shape[:2], dtype=torch.float32)
        if step.several is not None:
            calls.prefill(query, memory, step.several, spec, out, lse)
        if step.decode is not None:
            calls.decode(query, memory, step.decode, spec, out, lse)
        return with_sinks((out, lse), sinks)


def _attend(query: Tensor, keys: Tensor, values: Tensor, part: SequencePlan, spec: AttentionSpec) -> Partial:
    if part.slots is not None:
        gathered = keys[part.slots]
        other = gathered if values is keys else values[part.slots]
        return attend_view(query, gathered, other, part.mask, spec, causal=part.causal)
    partials: list[Partial] = []
    seen = 0
    for run in part.runs:
        view = slice(run.start, run.start + run.length)
        mask = None if part.mask is None else part.mask[:, seen : seen + run.length]
        out, lse = attend_view(query, keys[view], values[view], mask, spec, causal=part.causal)
        if mask is not None and len(part.runs) > 1:  # the kernel reports 0, not -inf, where a piece is wholly masked
            lse = lse.masked_fill(mask.isneginf().all(dim=-1, keepdim=True), float("-inf"))
        partials.append((out, lse))
        seen += run.length
    return merge(partials)


def _decode_plan(batch: BatchMetadata, group: GroupMetadata) -> calls.DecodePlan | None:
    one = [index for index, new in enumerate(batch.num_new) if new == 1]
    if not one:
        return None
    lengths = [batch.num_past[index] + 1 for index in one]
    firsts = [0 if group.window is None else max(0, length - group.window) for length in lengths]
    starts = batch.starts
    at = [starts[index] for index in one]
    together = at[-1] - at[0] == len(at) - 1
    return calls.DecodePlan(
        slice(at[0], at[-1] + 1) if together else torch.tensor(at),
        _tables(batch, group, one, lengths),
        torch.tensor(lengths),
        torch.tensor(firsts),
        max(length - first for length, first in zip(lengths, firsts, strict=True)),
        batch.block_size,
    )


def _prefill_plan(batch: BatchMetadata, group: GroupMetadata) -> calls.PrefillPlan | None:
    several = [index for index, new in enumerate(batch.num_new) if new > 1]
    if not several:
        return None
    lengths = [batch.num_past[index] + batch.num_new[index] for index in several]
    window, starts = group.window or max(lengths), batch.starts
    facts = []
    for index in several:
        past = batch.num_past[index]
        facts.append((starts[index], batch.num_new[index], past, calls.first_laid(past, window)))
    return calls.PrefillPlan(facts, _tables(batch, group, several, lengths), window, batch.block_size)


def _tables(batch: BatchMetadata, group: GroupMetadata, indices: list[int], lengths: list[int]) -> Tensor:
    """[sequences, blocks] of the longest, filled up with 0, which also stands for blocks that the window has passed: a kernel reads
    neither."""
    blocks = -(-max(lengths) // batch.block_size)
    tables = [group.block_tables[index][:blocks] for index in indices]
    return torch.tensor([[max(0, block) for block in table] + [0] * (blocks - len(table)) for table in tables])


def _plan(batch: BatchMetadata, group: GroupMetadata, dtype: torch.dtype) -> GroupPlan:
    plan, device = GroupPlan(), group.slot_mapping.device
    single: list[tuple[int, Run]] = []
    starts = batch.starts
    for index in range(len(batch.num_new)):
        start, new, past = starts[index], batch.num_new[index], batch.num_past[index]
        length = past + new
        first = 0 if group.window is None else max(0, past - group.window + 1)
        runs = runs_of(group.block_tables[index], first, length, batch.block_size)
        if new == 1 and len(runs) == 1:
            single.append((start, runs[0]))
            continue
        part = SequencePlan(start, new, runs)
        if len(runs) > 1 and length - first < SHORTEST_VIEW * len(runs):
            part.slots = _slots(runs, device)
        windowed = group.window is not None and length > group.window
        part.causal = new > 1 and past == 0 and not windowed and (part.slots is not None or len(runs) == 1)
        if new > 1 and not part.causal:
            part.mask = additive(visible(past, new, length, group.window, device, first), dtype)
        plan.sequences.append(part)
    _plan_rows(plan, single, batch.num_blocks * batch.block_size, dtype, device)
    return plan


def _plan_rows(
    plan: GroupPlan, single: list[tuple[int, Run]], num_slots: int, dtype: torch.dtype, device: torch.device
) -> None:
    if not single:
        return
    lengths = [run.length for _, run in single]
    first, count, longest = single[0], len(single), max(lengths)
    stride = stride_of([run.start for _, run in single])
    adjacent = [start for start, _ in single] == list(range(first[0], first[0] + count))
    # Beyond its own keys a row of the view reads its neighbour's, masked; past the last row there must be memory to read.
    ends = stride is not None and first[1].start + (count - 1) * stride + longest <= max(
        num_slots, single[-1][1].start + lengths[-1]
    )
    if stride is None or not adjacent or not ends or sum(lengths) < LEAST_USEFUL * count * longest:
        plan.sequences += [SequencePlan(start, 1, [run]) for start, run in single]
        return
    mask = None
    if min(lengths) < longest:
        seen = torch.arange(longest, device=device) < torch.tensor(lengths, device=device).unsqueeze(1)
        mask = additive(seen, dtype)
    plan.rows.append(RowsPlan(slice(first[0], first[0] + count), first[1].start, stride, longest, mask))


def _slots(runs: list[Run], device: torch.device) -> Tensor:
    return torch.cat([torch.arange(run.start, run.start + run.length, device=device) for run in runs])
