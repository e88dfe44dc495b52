"""What do two curves say side by side: pace, throughput, dollars at a GPU price, room and quality?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from probe.curve.curve import CurveDocument
from probe.curve.schema import Quality, ResultFile, undated


@dataclass(frozen=True)
class Row:
    """One point of one curve. Attributes:

    step, ttft: seconds; ttft None where the form can't say. throughput: output tokens a second of the batch.
    dollars: per million output tokens of full batches, at the price given; None without a price, and for a floor.
    extrapolated: beyond what was measured; ttft_extrapolated: so long a prompt was not, whatever the step.
    """

    batch: float
    context: int
    step: float
    throughput: float
    ttft: float | None
    dollars: float | None
    extrapolated: bool
    ttft_extrapolated: bool = False


def rows_of(curve: CurveDocument, points: list[tuple[float, int]], gpu_hour: float | None, gpus: int = 1) -> list[Row]:
    """The curve at (batch, context) points; `gpu_hour` dollars an hour of one GPU."""
    batch, context = (np.array(axis, float) for axis in zip(*points, strict=True))
    found = curve.answer(batch, context, "flag")
    rows = []
    for index, (b, s) in enumerate(points):
        first, pace = float(found.ttft[index]), float(found.throughput[index])
        dollars = per_million(gpu_hour, gpus, pace) if gpu_hour is not None and not curve.floor else None
        beyond, far = bool(found.extrapolated[index]), bool(found.ttft_extrapolated[index])
        ttft = None if np.isnan(first) else first
        rows.append(Row(b, s, float(found.step[index]), pace, ttft, dollars, beyond, far))
    return rows


def per_million(gpu_hour: float, gpus: int, throughput: float) -> float:
    """Dollars per million output tokens of so many a second."""
    return gpu_hour * gpus / 3600 / throughput * 1e6


def common_points(curves: list[CurveDocument]) -> list[tuple[float, int]]:
    """Powers of four of batch and of context that all the curves measured, of an axis without any its ends; a single table's own points;
    where nothing is common, the first's ends."""
    if len(curves) == 1 and curves[0].steps is not None:
        return [(float(b), round(s)) for s in curves[0].steps.context for b in curves[0].steps.batch]
    batches, contexts = (_axis([curve.file["domain"][axis] for curve in curves]) for axis in ("batch", "context"))
    return [(b, s) for s in sorted({round(s) for s in contexts}) for b in batches]


def warnings_of(result: ResultFile) -> list[str]:
    """What a reader must know before comparing costs."""
    found, file = [], result.curve or {}
    if file.get("behaviour_changing"):
        moved = quality_text(result.quality, result.model.random_weights)
        why = f"answers differ from the unchanged model's ({moved}); evaluate the workload again"
        found.append(f"{result.result_id}: {why}")
    if file.get("floor"):
        found.append(f"{result.result_id}: composed from kernel times, a floor: no dollars are shown")
    if file.get("form") == "table":
        found.append(f"{result.result_id}: served points, equal shares of a step")
    return found


def differing(a: ResultFile, b: ResultFile) -> list[str]:
    """What two curves do not share beside what is compared: other models, or other GPUs; and which of them has no date to hold beside
    the other's."""
    found = []
    if a.model.name != b.model.name:
        found.append(f"two models: {a.model.name} and {b.model.name}; their tokens are not each other's")
    if a.device.count != b.device.count:
        found.append(f"{a.device.count} and {b.device.count} GPUs a replica: tokens a second are of all of them")
    return found + [f"{one.result_id}: date not stated" for one in (a, b) if undated(one)]


def quality_text(quality: Quality | None, random_weights: bool | None = None) -> str:
    """How far answers moved from the unquantised model's; random weights have no answers to move."""
    if quality is None or quality.kl_mean is None:
        return "nothing can be said of random weights" if random_weights else "KL not measured"
    parts: list[Any] = [f"KL mean {quality.kl_mean:.4g}"]
    parts += [f"p99 {quality.kl_p99:.4g}"] if quality.kl_p99 is not None else []
    parts += [f"top-1 flips {quality.top1_flips:.2%}"] if quality.top1_flips is not None else []
    parts += [f"perplexity x{quality.perplexity_ratio:.4f}"] if quality.perplexity_ratio is not None else []
    return ", ".join(parts)


def _axis(bounds: list[tuple[float, float]]) -> list[float]:
    low, high = max(one[0] for one in bounds), min(one[1] for one in bounds)
    if low > high:
        low, high = bounds[0]
    powers = [float(4**power) for power in range(12) if low <= 4**power <= high]
    return powers or sorted({float(low), float(high)})
