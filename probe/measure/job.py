"""What does `tokencogs probe run` do with its options?"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from probe.curve.schema import ResultFile
from probe.measure.errors import MeasureRefused
from probe.measure.journal import journal_of
from probe.measure.plan import auto_grid, read_grid
from probe.measure.rig import build_rig
from probe.measure.run import Sweep, measure, write
from probe.measure.sweep import Say, Settings
from probe.measure.traffic import read_arrivals
from probe.measure.truth import with_replay
from probe.measure.visit import Visiting
from probe.server.options import ServeOptions


def run_job(values: Mapping[str, Any], out: Path, say: Say) -> ResultFile:
    """Measures, fits, replays, and leaves the result file at `out`; the journal beside it goes when the file is there.

    `values`: the command's options by name. Errors: ProbeError and ValueError naming the option.
    """
    if not out.parent.is_dir():
        raise MeasureRefused("out", str(out), "its folder isn't there")
    adaptive = values["grid"] == "auto"
    if not adaptive and not Path(values["grid"]).is_file():
        raise MeasureRefused("grid", values["grid"], "is neither auto nor a file")
    given = None if adaptive else read_grid(Path(values["grid"]))
    listed = values.get("replay_list")
    arrivals = None if listed is None else read_arrivals(listed)  # refused before anything is measured
    settings = Settings(
        budget_seconds=values["budget"] * 60,
        target=values["target"],
        rounds=values["rounds"],
        retries=values["retries"],
        adaptive=adaptive,
        seed=values["seed"],
        keep_contaminated=values.get("keep_contaminated", False),
        pace_share=values["pace_share"],
    )
    visiting = Visiting(values["steps"], values["warm_up"], quiet_share=values["quiet_share"])
    rig = build_rig(ServeOptions.of({**values, "no_enable_prefix_caching": True}), values["threads"])
    grid = given or auto_grid(rig.limits)
    journal = journal_of(out)
    result, ended = measure(rig, Sweep(grid, settings, visiting), journal, say)
    write(result, out)
    if not ended:
        return result
    if values["replay_seconds"] and result.curve is not None:
        result = with_replay(result, rig, values["replay_seconds"], arrivals, values["seed"])
        write(result, out)
    journal.unlink()
    return result
