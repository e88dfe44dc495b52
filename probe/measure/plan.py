"""Which shapes are measured, and which next, where the fit is worst on what it hasn't seen?"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec
import numpy as np

from probe.curve.schema import Point
from probe.fit.features import seconds
from probe.fit.model import Experts, Model, fit_model
from probe.measure.errors import MeasureRefused
from probe.measure.shapes import IDLE, Shape, between, decode, mixed, prefill, ragged, unique

Fits = Callable[[Shape], bool]
"""Whether the engine can hold a shape."""

# Rows of a stage after the first: more would not react to what they show.
_ROWS = 2


class GridFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A grid as JSON: {"batch": [1, 8], "context": [128, 1024], "prefill_new": [256], "prefill_cached": [0, 512]}.

    Attributes:
        ragged: (batch, mean context) of batches of unequal lengths. mixed: (batch, context, new, cached).
        prefill_cached: tokens each prompt of `prefill_new` meets; 0 is a prompt that finds nothing.
    """

    batch: list[int]
    context: list[int]
    ragged: list[tuple[int, int]] = []
    prefill_new: list[int] = []
    prefill_cached: list[int] = msgspec.field(default_factory=lambda: [0])
    mixed: list[tuple[int, int, int, int]] = []
    idle: bool = True


@dataclass(frozen=True)
class Limits:
    """What the engine can hold. Attributes: num_blocks: of `block_size` tokens, for each group of layers; moe: small batches are swept
    densely, where each touches more experts."""

    num_blocks: int
    block_size: int
    token_budget: int
    max_model_len: int
    max_num_seqs: int
    moe: bool = False

    def lets(self, shape: Shape, steps: int) -> bool:
        """Whether a shape of `steps` steps runs without eviction, chunks or refusal."""
        longest = [context + steps for context in shape.contexts] + [n + p + 1 for n, p in shape.prefills]
        return (
            shape.blocks_held(steps, self.block_size) <= self.num_blocks
            and shape.new_tokens <= self.token_budget
            and len(shape.contexts) + len(shape.prefills) <= self.max_num_seqs
            and max(longest, default=0) <= self.max_model_len
        )


def auto_grid(limits: Limits) -> GridFile:
    """A coarse grid up to the limits: batches by fours, contexts by fours from 64, prompts to half the step's budget."""
    batches = [b for b in (1, 4, 16, 64, 256) if b <= limits.max_num_seqs]
    if limits.moe:
        batches = sorted({*batches, *(b for b in (2, 3, 6, 8, 12, 32) if b <= limits.max_num_seqs)})
    contexts = [s for s in (64, 256, 1024, 4096, 16384, 65536) if s <= limits.max_model_len * 3 // 4]
    new = [n for n in (16, 64, 256, 1024, 4096) if n <= min(limits.token_budget, limits.max_model_len // 2)]
    cached = [0, *(p for p in (256, 1024) if p <= limits.max_model_len // 3)]
    middle = contexts[len(contexts) // 2] if contexts else 64
    several = [b for b in (4, 16, 64) if b <= limits.max_num_seqs]
    return GridFile(
        batch=batches,
        context=contexts,
        ragged=[(b, s) for b in several for s in contexts[1:]],
        prefill_new=new,
        prefill_cached=cached,
        mixed=[(b, middle, n, 0) for b in several[:2] for n in new[1:3]],
    )


def read_grid(path: Path) -> GridFile:
    """Raises MeasureRefused naming the field."""
    try:
        grid = msgspec.json.decode(path.read_bytes(), type=GridFile)
    except (msgspec.ValidationError, msgspec.DecodeError) as error:
        raise MeasureRefused("grid", str(path), str(error)) from None
    for name in ("batch", "context", "prefill_new"):
        wrong = [one for one in getattr(grid, name) if one < 1]
        if wrong:
            raise MeasureRefused(f"grid.{name}", wrong[0], "whole numbers from 1 are expected")
    if any(one < 0 for one in grid.prefill_cached):
        raise MeasureRefused("grid.prefill_cached", min(grid.prefill_cached), "whole numbers from 0 are expected")
    for pair in grid.ragged:
        if min(pair) < 1:
            raise MeasureRefused("grid.ragged", pair, "whole numbers from 1 are expected")
    for batch, context, new, cached in grid.mixed:
        if min(batch, context, new) < 1 or cached < 0:
            raise MeasureRefused(
                "grid.mixed",
                (batch, context, new, cached),
                "whole numbers from 1, and cached ones from 0, are expected",
            )
    return grid


def shapes_of(grid: GridFile) -> list[Shape]:
    """All shapes of a grid."""
    shapes = [decode(b, s) for b in grid.batch for s in grid.context]
    shapes += [ragged(b, s) for b, s in grid.ragged]
    shapes += [prefill(n, p) for n in grid.prefill_new for p in grid.prefill_cached]
    shapes += [mixed(*one) for one in grid.mixed]
    return unique([*shapes, *([IDLE] if grid.idle else [])])


def refine(points: Sequence[Point], experts: Experts, fits: Fits = lambda _: True) -> list[Shape]:
    """Where the decode points are predicted worst from all other batches: batches between theirs and the neighbours', each at all
    contexts; when no batch lies between any more, contexts between, each at all batches; none when nothing is left. Only what `fits`: a
    batch between one that had room at the longest context and one that had none may have none."""
    used = [p for p in points if p.kind != "idle" and p.n > 0]
    even = [p for p in used if _even(p)]
    batches, contexts = sorted({p.batch for p in even}), sorted({_context(p) for p in even})
    if len(batches) < 3:
        return []
    unseen = {batch: _without(batch, used, experts) for batch in batches}
    worst = sorted(even, key=lambda p: _off(p, unseen[p.batch]), reverse=True)
    rows = unique([between for p in worst for between in _beside(batches, p.batch)])[:_ROWS]
    if rows:
        return [shape for batch in rows for context in contexts if fits(shape := decode(batch, context))]
    columns = unique([between for p in worst for between in _beside(contexts, _context(p))])[:_ROWS]
    return [shape for context in columns for batch in batches if fits(shape := decode(batch, context))]


def _context(point: Point) -> int:
    return round(point.context_sum / point.batch)


def _even(point: Point) -> bool:
    return point.kind == "decode" and not point.ragged


def _without(batch: int, points: Sequence[Point], experts: Experts) -> Model:
    """A fit that has seen no even decode point of that batch."""
    return fit_model([p for p in points if not (_even(p) and p.batch == batch)], experts, "parametric")


def _off(point: Point, model: Model) -> float:
    """Relative size of the model's error on the point."""
    return float(np.abs(model.predict([point]) / seconds([point]) - 1.0)[0])


def _beside(axis: list[int], value: int) -> list[int]:
    at = axis.index(value)
    pairs = [(axis[at - 1], value)] if at else []
    pairs += [(value, axis[at + 1])] if at + 1 < len(axis) else []
    return [middle for low, high in pairs if (middle := between(low, high)) is not None]
