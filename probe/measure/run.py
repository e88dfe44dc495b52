"""From an engine to a curve: what does `tokencogs probe run` do?

rig -> grid -> sweep (journal) -> points -> fit -> replay -> result file
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import torch

from probe.curve.errors import CurveRefused
from probe.curve.limits import use_of
from probe.curve.schema import VERSION, Fit, ModelInfo, Point, ResultFile, Run, dump_result
from probe.curve.setup_shape import measured_of, shape_of, widths
from probe.fit.result import with_curve
from probe.measure.ceilings import measure_ceilings
from probe.measure.describe import device_info, engine_info, memory_info, model_info
from probe.measure.errors import MeasureRefused
from probe.measure.journal import Journal
from probe.measure.judge import notes_of, pace_of_curve
from probe.measure.pace import WORK, pace_of
from probe.measure.plan import Fits, GridFile, Limits, shapes_of
from probe.measure.rig import Rig, options_of
from probe.measure.shapes import Shape
from probe.measure.summary import drift_of, points_of
from probe.measure.sweep import Say, Settings, sweep
from probe.measure.visit import Visiting, Visitor

# Beyond this a reference point that became slower says more of the machine than of the model.
_DRIFT = 0.03


@dataclass(frozen=True)
class Sweep:
    """What to measure, how. Attributes: ceilings: also run the stream and GEMM tests."""

    grid: GridFile
    settings: Settings
    visiting: Visiting
    ceilings: bool = True


def measure(rig: Rig, wanted: Sweep, journal_path: Path, say: Say) -> tuple[ResultFile, bool]:
    """The result file, with curve where the points are enough for one, else its notes say why not; and whether the plan was ended
    (False: Ctrl-C, and the journal is worth keeping).

    Raises MeasureRefused where nothing of the grid fits the engine, or the journal is of another run.
    """
    steps = wanted.visiting.warm_up + wanted.visiting.steps
    limits = rig.limits

    def fits(shape: Shape) -> bool:
        return limits.lets(shape, steps)

    shapes, left_out = _possible(limits, shapes_of(wanted.grid), fits)
    model = model_info(rig)
    about = {
        "model_hash": model.model_hash,
        "options": options_of(rig),
        "grid": msgspec.to_builtins(wanted.grid),
        "visiting": asdict(wanted.visiting),
        "sweep": {name: getattr(wanted.settings, name) for name in _OF_A_RUN},
        "device": device_info(rig).gpu,
    }
    reference = reference_of(shapes)  # refused before a journal is there
    journal, ended = Journal(journal_path, about), True
    try:
        # Another seed for each attempt, so that no prompt of an earlier one is drawn again.
        drawn = hash_of(wanted.settings.seed, len(journal.visits))
        pace = pace_of(rig, wanted.visiting.quiet_share) if wanted.settings.pace_share else None
        visitor = Visitor(rig.engine, drawn, wanted.visiting, pace)
        notes = sweep(visitor.visit, shapes, reference, rig.experts, journal, wanted.settings, say, fits)
    except KeyboardInterrupt:
        notes, ended = ["interrupted: the rest of the plan is missing"], False
    finally:
        journal.close()
    return _result(rig, model, wanted, journal, [*left_out, *notes]), ended


def reference_of(shapes: list[Shape]) -> Shape:
    """The shape measured again and again: even decode in the middle of the grid by tokens held, so that both terms of it show."""
    even = sorted((s for s in shapes if s.kind == "decode" and not s.ragged), key=lambda s: sum(s.contexts))
    if not even:
        raise MeasureRefused("grid.batch", [], "a sweep needs decode steps of at least one batch and context")
    return even[len(even) // 2]


def _possible(limits: Limits, shapes: list[Shape], fits: Fits) -> tuple[list[Shape], list[str]]:
    kept = [shape for shape in shapes if fits(shape)]
    left = [shape.name for shape in shapes if shape not in kept]
    decodes = any(shape.kind == "decode" for shape in shapes)
    if not kept or (decodes and not any(shape.kind == "decode" for shape in kept)):
        raise MeasureRefused("grid", left[:3], f"no decode step of it fits {limits}")
    shown = ", ".join(left[:6]) + (f" and {len(left) - 6} more" if len(left) > 6 else "")
    return kept, [f"not measured, as cache, step budget or length limit don't hold them: {shown}"] if left else []


def _result(rig: Rig, model: ModelInfo, wanted: Sweep, journal: Journal, notes: list[str]) -> ResultFile:
    share = wanted.settings.pace_share
    found = journal.samples(share)
    samples = [sample for _, sample in found]
    measured = None
    if wanted.ceilings:
        device = rig.engine.runner.model.device
        measured = measure_ceilings(device, getattr(torch, rig.options.dtype))
    now = datetime.now(UTC)
    result = ResultFile(
        version=VERSION,
        result_id=f"{model.name.replace(' ', '-')}-tokencogs-{now:%Y%m%dT%H%M%SZ}",
        run=Run(
            measured_at=now.isoformat(timespec="seconds"),
            via="in_process",
            seed=wanted.settings.seed,
            rounds=wanted.settings.rounds,
            warm_up=wanted.visiting.warm_up,
            drift=drift_of(samples),
            pace=pace_of_curve(samples),
            pace_work=WORK if any(sample.pace is not None for sample in samples) else None,
        ),
        model=model,
        engine=engine_info(rig),
        device=device_info(rig, measured),
        samples=samples,
        points=points_of(found, wanted.settings.keep_contaminated),
    )
    notes += [*notes_of([visit.samples for visit in journal.visits], share), *remarks(result)]
    return fitted(result, notes, memory_info(rig))


def fitted(result: ResultFile, notes: list[str], memory: dict[str, Any]) -> ResultFile:
    """With fit and curve, and the notes before the fit's own; without a curve where the points are too few, and why."""
    try:
        found = with_curve(result)
    except CurveRefused as refused:
        return msgspec.structs.replace(
            result, fit=Fit(chosen="none", errors={}, notes=[f"no curve: {refused}", *notes])
        )
    assert found.fit is not None
    assert found.curve is not None
    fit = msgspec.structs.replace(found.fit, notes=[*notes, *found.fit.notes])
    return msgspec.structs.replace(found, fit=fit, curve={**found.curve, "memory": memory})


def remarks(result: ResultFile) -> list[str]:
    """What a reader must know of samples and points."""
    bad = sum(one.contaminated for one in result.samples)
    lost = sum(one.n == 0 for one in result.points)
    disturbed = [one for one in result.points if one.disturbed]
    kept = sum(one.n for one in disturbed)
    said = [f"{bad - kept} of {len(result.samples)} samples are contaminated and in no point"] if bad > kept else []
    said += [f"{lost} shapes have no clean sample and are in no fit"] if lost else []
    said += [disturbance(disturbed, len(result.points))] if disturbed else []
    beyond = beyond_own_tests(result)
    said += [f"{beyond} points are faster than the device's own stream and GEMM tests"] if beyond else []
    if result.run.drift is not None and abs(result.run.drift) > _DRIFT:
        said.append(f"the reference point's time moved by {result.run.drift:+.1%} while measuring")
    return said


def disturbance(points: Sequence[Point], among: int) -> str:
    """What is known of the error of disturbed points: how far their samples lie apart, which way they are wrong."""
    apart = float(np.median([point.p75 / point.p25 - 1 for point in points if point.p25 and point.p75]))
    return (
        f"{len(points)} of {among} shapes were measured only while others used the machine: the quicker quarter of their samples "
        f"stands for them, half of which lie {apart:.0%} apart; such times are rather too long"
    )


def beyond_own_tests(result: ResultFile) -> int:
    """Points that read or compute faster than the own stream and GEMM tests did: they aren't wrong (what they read lay in a processor's
    cache, or somebody slowed the tests), but no ceiling stands beside them. 0 where shape, widths or tests aren't known."""
    shape, ceiling, width = shape_of(result), measured_of(result), widths(result)
    if shape is None or ceiling is None or width is None:
        return 0
    busy = [p for p in result.points if p.n > 0 and p.batch + p.new > 0]
    return sum(use_of(point, shape, ceiling, *width).verdict == "impossible" for point in busy)


def write(result: ResultFile, path: Path) -> None:
    """The whole file or none of it: written beside, then put in its place."""
    beside = path.with_name(path.name + ".part")
    beside.write_bytes(dump_result(result))
    beside.replace(path)


def hash_of(*parts: object) -> int:
    """A seed from parts, the same in every process."""
    return int.from_bytes(hashlib.blake2b(repr(parts).encode(), digest_size=8).digest(), "little")


_OF_A_RUN = ("rounds", "reference_every", "retries", "adaptive", "seed")
