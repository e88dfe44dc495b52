"""What does a curve say over a grid of batch and context, and what was measured there?"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Annotated, Any

import msgspec
import numpy as np

from accounting.errors import InvalidInput
from accounting.selfhosted.curve import Curve, TableCurve
from accounting.selfhosted.grid import Grid

MOST_CELLS = 4_096
MOST_MEASURED = 12
"""A default axis takes the measured values themselves up to so many, else powers of two."""


class _Step(msgspec.Struct):
    """One measured step of a result file; a curve's source may hold anything, and what is no such step is no point."""

    kind: str
    seconds: Annotated[float, msgspec.Meta(gt=0)]
    batch: Annotated[int, msgspec.Meta(ge=1)]
    context_sum: Annotated[int, msgspec.Meta(ge=1)]
    ragged: bool = False


@dataclass(frozen=True)
class Cell:
    """One point of the grid. Throughput is output tokens a second of one replica; times are seconds.

    Attributes:
        fitted_tokens_per_second: by the curve's own terms; of a table the same as tokens_per_second.
        tokens_per_second: with the measured residual: what prices use.
        ttft_seconds: prefill of the context beside batch - 1 decoding sequences, without queueing; None where the form can't say.
        measured_tokens_per_second: of the point measured there; None where none was.
        fits: whether so many sequences of that length fit into the cache; None where the curve states no memory.
        extrapolated: beyond the measured range, or where a table has a batch that no run had at that context.
        ttft_extrapolated: a prompt as long as the context was not measured, whatever the step.
    """

    batch: int
    context: int
    step_seconds: float
    tokens_per_second: float
    fitted_tokens_per_second: float
    ttft_seconds: float | None
    measured_tokens_per_second: float | None
    fits: bool | None
    extrapolated: bool
    ttft_extrapolated: bool


def evaluate(
    curve: Curve, file: Mapping[str, Any], batches: Sequence[int] = (), contexts: Sequence[int] = ()
) -> list[Cell]:
    """Cells by batch, then context.

    Args:
        file: the curve's file; measured decode steps are read from `source.points`, where the probe puts them, else from the table's
            served points or the residual's grid.
        batches, contexts: whole numbers from 1, in any order; empty: what was measured, or powers of two over the measured range.

    Raises InvalidInput (`batch`, `context`) for another number or more than MOST_CELLS cells.
    """
    known = measured(curve, file)
    b = _axis("batch", batches, (batch for batch, _ in known), curve.domain.batch)
    s = _axis("context", contexts, (context for _, context in known), curve.domain.context)
    if len(b) * len(s) > MOST_CELLS:
        raise InvalidInput("batch", f"{len(b)} x {len(s)}", f"at most {MOST_CELLS:,} cells are evaluated at once")
    points = list(product(b, s))
    batch = np.array([point[0] for point in points], np.float64)
    context = np.array([point[1] for point in points], np.float64)
    answer = curve.answer(batch, context, "flag")
    if not bool(np.isfinite(answer.step_seconds).all()):
        raise InvalidInput("context", max(s), "the curve has no finite step there")
    plain = answer.step_seconds
    if not isinstance(curve, TableCurve):
        plain = curve.step_seconds(batch, batch * context, np.zeros_like(batch), batch)
    return [
        Cell(
            batch=point[0],
            context=point[1],
            step_seconds=float(answer.step_seconds[at]),
            tokens_per_second=float(answer.tokens_per_second[at]),
            fitted_tokens_per_second=float(batch[at] / plain[at]),
            ttft_seconds=None if np.isnan(answer.ttft_seconds[at]) else float(answer.ttft_seconds[at]),
            measured_tokens_per_second=known.get(point),
            fits=None if curve.memory is None else point[0] <= curve.memory.achievable_batch(point[1]),
            extrapolated=bool(answer.extrapolated[at]),
            ttft_extrapolated=bool(answer.ttft_extrapolated[at]),
        )
        for at, point in enumerate(points)
    ]


def measured(curve: Curve, file: Mapping[str, Any]) -> dict[tuple[int, int], float]:
    """Measured output tokens a second by (batch, context): decode steps of sequences that are all of one length."""
    found = {}
    for step in _steps(file.get("source")):
        context, rest = divmod(step.context_sum, step.batch)
        if step.kind == "decode" and not step.ragged and not rest:
            found[step.batch, context] = step.batch / step.seconds
    if found:
        return found
    if isinstance(curve, TableCurve):
        return _nodes(curve.steps, np.ones_like(curve.steps.values))
    if curve.residual is None:
        return {}
    b, s = np.meshgrid(curve.residual.batch, curve.residual.context, indexing="ij")
    return _nodes(curve.residual, curve.step_seconds(b, b * s, np.zeros_like(b), b))


def _steps(source: Any) -> Iterator[_Step]:
    points = source.get("points") if isinstance(source, dict) else None
    for point in points if isinstance(points, list) else []:
        try:
            yield msgspec.convert(point, _Step)
        except msgspec.ValidationError:
            continue


def _nodes(grid: Grid, seconds: Any) -> dict[tuple[int, int], float]:
    """Tokens a second at the whole-numbered points of a grid of factors of `seconds`."""
    steps = grid.values * seconds
    return {
        (int(batch), int(context)): float(batch / steps[row, column])
        for row, batch in enumerate(grid.batch)
        for column, context in enumerate(grid.context)
        if batch == int(batch) and context == int(context) and (grid.measured is None or grid.measured[row, column])
    }


def _axis(name: str, asked: Sequence[int], known: Iterable[int], bounds: tuple[float, float]) -> list[int]:
    for value in asked:
        if value < 1:
            raise InvalidInput(name, value, "a whole number from 1 is expected")
    if asked:
        return sorted(set(asked))
    points = sorted(set(known))
    if 2 <= len(points) <= MOST_MEASURED:
        return points
    low, high = max(int(np.ceil(bounds[0])), 1), max(int(np.floor(bounds[1])), 1)
    powers = {2**power for power in range(64) if low <= 2**power <= high}
    return sorted(powers | {low, high})
