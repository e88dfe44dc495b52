"""Which result file do measured loads make: samples, points, what clients saw, the curve, and what must be known of them?"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

import msgspec

from probe.curve.errors import CurveRefused
from probe.curve.schema import DeviceInfo, EngineInfo, Fit, ModelInfo, Point, ResultFile, Run, Sample, Served
from probe.curve.setup_shape import Shape
from probe.fit.result import with_curve
from probe.http.load import Call
from probe.http.plan import Plan, Setup
from probe.http.saturation import Load
from probe.http.server import Server
from probe.http.steps import point_of
from probe.http.summary import METRICS
from probe.imports.common import quantisation


@dataclass
class Measured:
    """What came of the loads so far.

    Attributes:
        samples: by cell (kind, concurrency, prompt tokens). calls: all.
        closed: what clients saw, a line a round, by concurrency and prompt tokens; opened: a line an open loop.
        loads: how many. late: what it took the client where it was too slow.
        ended: why nothing more was measured; None: all was.
    """

    samples: dict[tuple[str, int, int], list[Sample]] = field(default_factory=lambda: defaultdict(list))
    closed: dict[tuple[int, int], list[Served]] = field(default_factory=lambda: defaultdict(list))
    opened: list[Served] = field(default_factory=list)
    calls: list[Call] = field(default_factory=list)
    late: list[Load] = field(default_factory=list)
    loads: int = 0
    ended: str | None = None

    def add(self, calls: Sequence[Call], load: Load, served: Served | None) -> bool:
        """Takes in a load's calls; whether the client was too slow in it."""
        self.calls += calls
        self.loads += 1
        late = load.saturated(None if served is None else served.itl_median)
        self.late += [load] * late
        return late

    @property
    def served(self) -> list[Served]:
        """One line of a cell, then the open loops'."""
        return [*(_median_round(some) for some in self.closed.values() if some), *self.opened]

    @property
    def notes(self) -> list[str]:
        """What is missing, a line each; [] where nothing is."""
        found = [] if self.ended is None else [f"measuring ended early: {self.ended}"]
        if self.late:
            busy, lag = max(one.busy for one in self.late), max(one.lag for one in self.late)
            took = f"it used up to {busy:.2f} of a core and woke up to {lag * 1e3:.1f} ms late"
            loads = f"{len(self.late)} of {self.loads} loads"
            found.append(f"client saturated in {loads}: {took}; their samples are marked and not fitted")
        alone = [
            f"{users}x{tokens}" for (kind, users, tokens), some in self.samples.items() if kind == "decode" and not some
        ]
        if alone:
            shapes = ", ".join(alone)
            found.append(f"no step of {shapes}: so many never decoded at once without a prompt between them")
        return found


def _median_round(rounds: Sequence[Served]) -> Served:
    """The round of median throughput, so that throughput and latencies are of the same minutes."""
    return sorted(rounds, key=lambda one: one.output_tokens_per_second or 0.0)[len(rounds) // 2]


def result_of(server: Server, plan: Plan, setup: Setup, shape: Shape, measured: Measured) -> ResultFile:
    """The file without its curve."""
    points: list[Point] = [one for one in map(point_of, measured.samples.values()) if one]
    now = datetime.now(UTC)
    name = "-".join(part.rsplit("/", 1)[-1] for part in (server.model, server.dialect, setup.gpu))
    return ResultFile(
        version=1,
        result_id=f"http-{name}-{now:%Y%m%dT%H%M%S}".replace(" ", "_"),
        run=Run(
            measured_at=now.isoformat(timespec="seconds"),
            via="http",
            seed=plan.seed,
            rounds=plan.rounds,
            warm_up=1,
        ),
        model=ModelInfo(
            name=server.model,
            architecture=shape.fields,
            attention=shape.attention,
            sliding_window=shape.sliding_window,
            dtype=setup.dtype,
            quantization=setup.quantization
            or quantisation(setup.dtype, server.model)
            or quantisation(None, server.model),
        ),
        engine=EngineInfo(name=server.dialect, version=server.version, kv_cache_dtype=setup.kv_cache_dtype),
        device=DeviceInfo(gpu=setup.gpu, count=setup.gpus),
        samples=[one for some in measured.samples.values() for one in some],
        points=points,
        served=measured.served,
        metrics=METRICS,
    )


def fitted(result: ResultFile, notes: list[str]) -> ResultFile:
    """With its curve where the points make one, and what must be known of how they were measured first."""
    outside = "measured from outside: a step is the time between a request's events, what the server adds included"
    usable = [one for one in result.served if not _late(one)]
    try:
        found = msgspec.structs.replace(
            with_curve(msgspec.structs.replace(result, served=usable)), served=result.served
        )
        fit = found.fit or Fit(chosen="none", errors={})
    except CurveRefused as refused:
        found, fit = result, Fit(chosen="none", errors={}, notes=[f"no curve: {refused}"])
    return msgspec.structs.replace(found, fit=msgspec.structs.replace(fit, notes=[outside, *notes, *fit.notes]))


def _late(run: Served) -> bool:
    return Load(run.client_busy or 0.0, run.event_loop_lag or 0.0).saturated(run.itl_median)
