"""What do lines of Dynamo's ForwardPassMetrics (version 1) say: which step took how long, of how many tokens?

One JSON object a line, one line a step: `wall_time` in seconds, sums over the scheduled requests. Decoding requests' KV tokens
are those in the cache before the step, so each attends to one more. Of several prompts in one step only sums are known: pairs of
new and earlier token are taken as if the prompts were alike. Source of the fields:
components/src/dynamo/common/forward_pass_metrics.py of ai-dynamo/dynamo.
"""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from statistics import fmean, median
from typing import Any

import msgspec
import numpy as np

from probe.curve.errors import CurveRefused
from probe.curve.schema import Point, ResultFile
from probe.imports.common import Given, number, part, setup, whole

VERSION = 1
# Steps within an eighth of a doubling of each other are repetitions of one shape.
_PER_DOUBLING = 4
# Lengths that deviate by more than this share of their mean make a ragged batch; a fit is held to those, not made of them.
_RAGGED = 0.5
_FIELDS = (
    "num_decode_requests",
    "sum_decode_kv_tokens",
    "sum_prefill_tokens",
    "sum_prefill_kv_tokens",
    "num_prefill_requests",
)


def read(path: Path, given: Given) -> list[ResultFile]:
    """One result file; heartbeats without requests are left out. Raises CurveRefused naming line and field."""
    shapes: dict[tuple[Any, ...], list[Point]] = defaultdict(list)
    for count, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        point = _point(_record(line, count), count) if line.strip() else None
        if point is not None:
            shapes[_shape(point)].append(point)
    if not shapes:
        raise CurveRefused(
            "file", str(path), "no step is here: one JSON object of ForwardPassMetrics a line is expected"
        )
    points = [_together(some) for some in shapes.values()]
    if sum(1 for point in points if point.kind == "decode" and not point.ragged) < 3:
        points = [msgspec.structs.replace(point, ragged=False) for point in points]
    base = setup(path.stem, given, path, model=None, gpu=None, engine="dynamo")
    return [msgspec.structs.replace(base, points=points)]


def _record(line: str, count: int) -> Mapping[str, Any]:
    try:
        found = json.loads(line)
    except json.JSONDecodeError as error:
        raise CurveRefused(f"line {count}", line[:60], str(error)) from None
    if not isinstance(found, dict) or found.get("version") != VERSION:
        version = found.get("version") if isinstance(found, dict) else None
        raise CurveRefused(f"line {count} version", version, f"this reads version {VERSION}")
    return found


def _point(record: Mapping[str, Any], count: int) -> Point | None:
    sums = part(record, "scheduled_requests", f"line {count}")
    known = {name: whole(sums, name, f"line {count}") for name in _FIELDS}
    seconds = number(record, "wall_time")
    missing = [name for name, value in {**known, "wall_time": seconds}.items() if value is None]
    if missing:
        raise CurveRefused(f"line {count}", missing, "these fields are required")
    batch, held, new, cached, prompts = (known[name] or 0 for name in _FIELDS)
    if not batch and not new:
        return None
    if not seconds or seconds <= 0:
        raise CurveRefused(f"line {count} wall_time", seconds, "a step with requests takes some time")
    variance = number(sums, "var_decode_kv_tokens") or 0.0
    if variance < 0:
        raise CurveRefused(f"line {count} var_decode_kv_tokens", variance, "a variance from 0 is expected")
    return Point(
        kind="mixed" if batch and new else "decode" if batch else "prefill",
        seconds=seconds,
        batch=batch,
        context_sum=held + batch,
        ragged=bool(batch) and math.sqrt(variance) > _RAGGED * (held / batch),
        new=new,
        cached=cached,
        pairs=new * (cached + new / 2) / max(prompts, 1),
    )


def _shape(point: Point) -> tuple[Any, ...]:
    context = point.context_sum / max(point.batch, 1)
    return (point.kind, point.batch, point.ragged, *(_step(one) for one in (context, point.new, point.cached)))


def _step(tokens: float) -> int:
    return round(_PER_DOUBLING * math.log2(tokens)) if tokens > 0 else -1


def _together(points: list[Point]) -> Point:
    seconds = [one.seconds for one in points]
    return msgspec.structs.replace(
        points[0],
        seconds=median(seconds),
        context_sum=round(fmean(one.context_sum for one in points)),
        new=round(fmean(one.new for one in points)),
        cached=round(fmean(one.cached for one in points)),
        pairs=fmean(one.pairs for one in points),
        n=len(points),
        minimum=min(seconds),
        p25=float(np.percentile(seconds, 25)),
        p75=float(np.percentile(seconds, 75)),
    )
