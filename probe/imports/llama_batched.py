"""What do lines of llama.cpp's `llama-batched-bench --output-format jsonl` say?

Each line: prompts of pp tokens prefilled for pl sequences in t_pp seconds, then tg tokens of each in t_tg. One decode step takes t_tg/tg
at the mean context; prompts are prefilled in as many equal steps as n_batch makes of their tokens (with a shared prompt, of one's).
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import msgspec

from probe.curve.errors import CurveRefused
from probe.curve.schema import Metric, Point, ResultFile
from probe.imports.common import Given, number, setup, whole


def read(path: Path, given: Given) -> list[ResultFile]:
    """All lines of one model and device."""
    points = []
    for count, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if line.strip().startswith("{"):
            points += _points(_record(line, count), count)
    if not points:
        raise CurveRefused("file", str(path), "no line of JSON is here; run with --output-format jsonl")
    base = setup(path.stem, given, path, model=None, gpu=None, engine="llama.cpp")
    tag = Metric(
        name="itl", tool="llama-batched-bench", definition="T_TG / TG: one step of the whole batch", aggregate="mean"
    )
    return [msgspec.structs.replace(base, points=points, metrics=[tag])]


def _record(line: str, count: int) -> dict[str, Any]:
    try:
        found: dict[str, Any] = json.loads(line)
    except json.JSONDecodeError as error:
        raise CurveRefused(f"line {count}", line[:60], str(error)) from None
    return found


def _points(record: dict[str, Any], count: int) -> list[Point]:
    known = {name: number(record, name) for name in ("pp", "tg", "pl", "t_pp", "t_tg")}
    missing = [name for name, value in known.items() if value is None]
    if missing:
        raise CurveRefused(f"line {count}", missing, "these fields are required")
    for name, value in known.items():
        if value is None or value < (1 if name == "pl" else 0):
            raise CurveRefused(f"line {count} {name}", value, "no such number of a run")
    new, output, batch = (whole(record, name, f"line {count}") or 0 for name in ("pp", "tg", "pl"))
    t_pp, t_tg = known["t_pp"] or 0.0, known["t_tg"] or 0.0
    found = []
    if output and t_tg > 0:
        context = new + (output + 1) / 2
        decode = Point(kind="decode", seconds=t_tg / output, batch=batch, context_sum=round(batch * context))
        found.append(decode)
    if new and t_pp > 0:
        tokens = new * (1 if record.get("is_pp_shared") else batch)
        steps = math.ceil(tokens / (whole(record, "n_batch", f"line {count}") or tokens))
        pairs = tokens * new / 2 / steps
        found.append(Point(kind="prefill", seconds=t_pp / steps, new=round(tokens / steps), pairs=pairs))
    return found
