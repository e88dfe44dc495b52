"""Does a tiny model go the whole way: swept, fitted, described, replayed, read by accounting, measured again?"""

from __future__ import annotations

import itertools
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest
from click.testing import CliRunner

from accounting.selfhosted.curve_json import load_curve
from probe.cli import probe
from probe.curve.curve import CurveDocument
from probe.curve.schema import Point, ResultFile, Sample, load_result, read_result
from probe.fit.model import Experts
from probe.measure import drift, truth, watch
from probe.measure.errors import MeasureRefused
from probe.measure.pace import WORK
from probe.measure.rig import Rig, build_rig, options_of, rig_of
from probe.measure.run import disturbance
from probe.measure.shapes import Shape
from probe.measure.simulate import Part, Served
from probe.measure.traffic import Arrival, Lengths, draw_arrivals
from probe.measure.truth import with_replay
from probe.measure.visit import Visitor
from probe.server.options import ServeOptions
from tests.probe.measure.rigs import folder, rig

GRID = {
    "batch": [1, 2, 4],
    "context": [16, 64, 128],
    "ragged": [[4, 64]],
    "prefill_new": [8, 64],
    "prefill_cached": [0, 64],
    "mixed": [[2, 64, 16, 0]],
}


def options(path: Path, **more: Any) -> list[str]:
    (path / "grid.json").write_text(json.dumps(GRID), encoding="utf-8")
    # Such shares take noise for quiet: these runs are about what is written, not about times.
    given: dict[str, Any] = {
        "model": folder(path / "llama-small"),
        "grid": path / "grid.json",
        "rounds": 2,
        "steps": 3,
        "retries": 0,
        "quiet-share": 1,
        "pace-share": 0,
        "dtype": "float32",
        "device": "cpu",
        "threads": 1,
        "block-size": 4,
        "kv-cache-memory-bytes": 1 << 20,
        "max-model-len": 256,
        "max-num-seqs": 8,
        "max-num-batched-tokens": 128,
        "replay": 0.2,
        "out": path / "curve.json",
    }
    return [part for name, value in {**given, **more}.items() for part in (f"--{name}", str(value))]


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> tuple[ResultFile, str]:
    path = tmp_path_factory.mktemp("run")
    done = CliRunner().invoke(probe, ["run", *options(path, **{"pace-share": 1e6})])
    assert done.exit_code == 0, done.output
    return read_result(path / "curve.json"), done.output


def test_all_shapes_of_the_grid_are_there(measured: tuple[ResultFile, str]) -> None:
    kinds = [point.kind for point in measured[0].points]
    assert {kind: kinds.count(kind) for kind in set(kinds)} == {"decode": 10, "prefill": 4, "mixed": 1, "idle": 1}
    assert sum(point.ragged for point in measured[0].points) == 1


def test_the_file_says_what_was_measured_on_what(measured: tuple[ResultFile, str]) -> None:
    result = measured[0]
    model, engine = result.model, result.engine
    assert (model.name, model.attention, model.dtype, model.random_weights) == ("llama-small", "gqa", "float32", True)
    assert model.model_hash is not None
    assert len(model.model_hash) == 64
    assert model.architecture["num_hidden_layers"] == 2
    assert (engine.name, engine.block_size, engine.max_num_seqs, engine.prefix_caching) == ("tokencogs", 4, 8, False)
    assert (
        result.device.kv_bytes == (1 << 20) // 2048 * 2048
    )  # blocks of 4 tokens: 2 layers x 2 x 2 heads x 8 x 4 bytes each
    assert result.device.measured_flops is not None
    assert (result.run.via, result.run.seed, result.run.rounds, result.run.warm_up) == ("in_process", 0, 2, 2)


def test_no_prompt_was_found_in_a_cache(measured: tuple[ResultFile, str]) -> None:
    assert {sample.prefix_hits for sample in measured[0].samples} == {0}


def test_the_curve_is_one_that_accounting_reads(measured: tuple[ResultFile, str]) -> None:
    curve = load_curve(json.dumps(measured[0].curve))
    assert (curve.form, curve.domain.batch, curve.domain.context) == ("step", (1.0, 4.0), (16.0, 128.0))
    assert (curve.domain.prefill_new, curve.domain.prefill_cached) == ((8.0, 64.0), (0.0, 64.0))


def test_the_curve_knows_how_many_sequences_fit(measured: tuple[ResultFile, str]) -> None:
    """A token takes 2 layers x 2 heads x 16 numbers (key and value) x 4 bytes = 256 bytes; a block has four."""
    assert measured[0].curve is not None
    assert measured[0].curve["memory"] == {
        "kv_bytes": 1 << 20,
        "block_size": 4,
        "groups": [{"layers": 2, "bytes_per_token": 128, "window": None}],
        "replication": 1,
    }


def test_errors_are_stated_and_printed(measured: tuple[ResultFile, str]) -> None:
    fit = measured[0].fit
    assert fit is not None
    wanted = {"in_sample", "leave_one_batch", "leave_one_context", "ragged", "prefill", "mixed", "replay"}
    assert set(fit.errors) == wanted
    assert all(f"{name}: mape" in measured[1] for name in wanted)
    assert fit.errors["replay"].n == 6


def test_the_machines_own_pace_is_in_the_file_and_the_replays_went_by_it(measured: tuple[ResultFile, str]) -> None:
    """Every sample has its visit's, the run one of their middle."""
    result = measured[0]
    paces = [one.pace for one in result.samples if one.pace is not None]
    assert len(paces) == len(result.samples) == 36 * 3
    assert (result.run.pace is not None, result.run.pace_work) == (True, WORK)
    assert result.run.pace is not None
    assert min(paces) <= result.run.pace <= max(paces)
    assert result.fit is not None
    replays = [note for note in result.fit.notes if note.startswith("replay")]
    assert [note.count("seconds at the curve's pace") for note in replays] == [1, 1]


def test_a_run_that_does_not_ask_for_the_pace_has_none(tmp_path: Path) -> None:
    assert CliRunner().invoke(probe, ["run", *options(tmp_path, rounds=1, replay=0)]).exit_code == 0
    result = read_result(tmp_path / "curve.json")
    assert (result.run.pace, result.run.pace_work, {one.pace for one in result.samples}) == (None, None, {None})


def test_the_same_rig_comes_from_the_file(measured: tuple[ResultFile, str], tmp_path: Path) -> None:
    given = dict(measured[0].engine.options)
    torch_version = given.pop("torch")
    assert torch_version
    assert options_of(rig_of(given)) == given


def test_a_curve_measured_again_has_a_verdict(measured: tuple[ResultFile, str]) -> None:
    found = drift.check(measured[0], drift.Again(rounds=2, quiet_share=1.0, pace_share=1e6))
    assert {one.name for one in found.changes} == {"decode 1x16", "decode 4x16", "decode 4x128", "prefill 64|0"}
    assert "95 % interval" in found.lines()[-1]
    assert found.machine is not None
    assert found.engine is not None


def test_visits_of_a_slow_machine_are_in_no_verdict(measured: tuple[ResultFile, str]) -> None:
    """Eight visits; at a share of nearly nothing all but the quicker two are out, so that two of four shapes have none at least."""
    found = drift.check(measured[0], drift.Again(rounds=2, quiet_share=1.0, pace_share=1e-9))
    assert len(found.noisy) >= 2


def test_a_curve_of_another_model_is_refused(measured: tuple[ResultFile, str]) -> None:
    other = msgspec.structs.replace(measured[0], model=msgspec.structs.replace(measured[0].model, model_hash="0" * 64))
    with pytest.raises(MeasureRefused, match="model_hash"):
        drift.check(other, drift.Again())
    imported = msgspec.structs.replace(measured[0], run=msgspec.structs.replace(measured[0].run, via="import"))
    with pytest.raises(MeasureRefused, match=r"run\.via"):
        drift.check(imported, drift.Again())


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"grid": "nowhere"}, "grid='nowhere'"),
        ({"steps": 4}, "steps=4"),
        ({"model": "No-Such"}, "No-Such"),
        ({"max-num-seqs": 0}, "max-num-seqs"),
        ({"out": "/nowhere/curve.json"}, "out='/nowhere/curve.json'"),
    ],
)
def test_bad_options_are_refused_by_name(tmp_path: Path, more: dict[str, Any], said: str) -> None:
    done = CliRunner().invoke(probe, ["run", *options(tmp_path, **more)])
    assert done.exit_code != 0
    assert said in done.output
    assert not (tmp_path / "curve.json").exists()


@pytest.mark.parametrize(
    ("grid", "said"),
    [
        ('{"batch": [1]}', "context"),
        ('{"batch": [0], "context": [16]}', "grid.batch=0"),
        ('{"batch": [1], "context": [16], "prefill_cached": [-1]}', "grid.prefill_cached=-1"),
        ('{"batch": [1], "context": [16], "ragged": [[0, 16]]}', r"grid.ragged=(0, 16)"),
        ('{"batch": [1], "context": [16], "mixed": [[1, 16, 0, 0]]}', r"grid.mixed=(1, 16, 0, 0)"),
        ('{"batch": [1], "context": [16], "mixed": [[1, 16, 8, -1]]}', r"grid.mixed=(1, 16, 8, -1)"),
        ('{"batch": [1], "context": [16], "colour": 1}', "colour"),
        ('{"batch": [1], "context": [100000]}', "no decode step of it fits"),
    ],
)
def test_bad_grids_are_refused_by_field(tmp_path: Path, grid: str, said: str) -> None:
    given = options(tmp_path)
    (tmp_path / "grid.json").write_text(grid, encoding="utf-8")
    if "100000" in grid:
        (tmp_path / "grid.json").write_text(grid[:-1] + ', "idle": false}', encoding="utf-8")
    done = CliRunner().invoke(probe, ["run", *given])
    assert done.exit_code != 0
    assert said in done.output


def test_speculation_is_refused() -> None:
    given = ServeOptions(model="Llama-248M", speculative_method="ngram")
    with pytest.raises(MeasureRefused, match="speculative_method='ngram'"):
        build_rig(given)


def test_a_replay_predicted_by_a_curve_three_times_too_slow_says_so(
    measured: tuple[ResultFile, str], tmp_path: Path
) -> None:
    """Three times the step time: capacity is a third, so the list comes at a third of the rate; its busy seconds are over-predicted."""
    file = json.loads(json.dumps(measured[0].curve))
    file["parameters"] = {
        name: value * (1 if name.startswith("experts") else 3.0) for name, value in file["parameters"].items()
    }
    file["residual"] = None
    slow = msgspec.structs.replace(load_result(msgspec.json.encode(measured[0])), curve=file)
    small = rig(tmp_path / "m", max_num_seqs=8)
    found = with_replay(slow, small, seconds=0.1, arrivals=draw_arrivals(8, Lengths((4, 8), (2, 4)), seed=1))
    assert found.fit is not None
    assert found.fit.errors["replay"].bias > 0.3


def test_a_list_is_replayed_at_half_and_four_fifths_of_capacity(
    measured: tuple[ResultFile, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A list that ends at 7 mean gaps is over after 7 / (load x capacity) seconds. One disturbed replay of the two counts for both."""
    ends: list[float] = []
    disturbed: set[int] = set()

    def quiet(_: Rig, arrivals: Sequence[Arrival], *__: object) -> tuple[Served, str, list[str]]:
        ends.append(arrivals[-1].at)
        noise = ["off its pace"] if len(ends) in disturbed else []
        return Served(1.0, 1.0, [1.0], [1.0], [(1.0, [Part(1, 8, False)])]), "; said", noise

    monkeypatch.setattr(truth, "quiet_replay", quiet)
    small = rig(tmp_path / "m", max_num_seqs=8)
    listed = [Arrival(0.0, 8, 4), Arrival(7.0, 8, 4)]
    before = with_replay(measured[0], small, seconds=1.0, arrivals=listed).fit
    assert measured[0].curve is not None
    assert before is not None
    assert before.contaminated == []
    most = truth.capacity(CurveDocument.of(measured[0].curve), listed, truth.books_of(small))
    assert ends == pytest.approx([14 / most, 8.75 / most])
    disturbed.add(3)
    after = with_replay(measured[0], small, seconds=1.0, arrivals=listed).fit
    assert after is not None
    assert after.contaminated == ["replay"]
    assert after.notes[-2].endswith("; said; off its pace")
    assert after.notes[-1].endswith("; said")


def test_an_interrupted_run_writes_what_it_has_and_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C at the tenth visit: nine are in the file and in the journal; the same command measures the others."""
    plain, count = Visitor.visit, itertools.count(1)

    def visit(self: Visitor, shape: Shape, round_number: int = 0, reference: bool = False) -> list[Sample]:
        if next(count) == 10:
            raise KeyboardInterrupt
        return plain(self, shape, round_number, reference)

    monkeypatch.setattr(Visitor, "visit", visit)
    given = options(tmp_path, replay=0)
    done = CliRunner().invoke(probe, ["run", *given])
    assert done.exit_code == 0, done.output
    assert "interrupted: the rest of the plan is missing" in done.output
    first = read_result(tmp_path / "curve.json").samples
    assert len(first) == 9 * 3
    assert CliRunner().invoke(probe, ["run", *given]).exit_code == 0
    whole = read_result(tmp_path / "curve.json").samples
    assert whole[: 9 * 3] == first
    assert len(whole) == 2 * (15 + 3) * 3
    assert not (tmp_path / "curve.json.journal.jsonl").exists()


def test_a_machine_that_is_never_quiet_gives_a_curve_that_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watch, "contaminated", lambda *_: True)
    given = options(tmp_path, rounds=1, replay=0)
    strict = CliRunner().invoke(probe, ["run", *given])
    assert "16 shapes have no clean sample and are in no fit" in strict.output
    assert read_result(tmp_path / "curve.json").curve is None
    done = CliRunner().invoke(probe, ["run", *given, "--keep-contaminated"])
    assert done.exit_code == 0, done.output
    assert "16 of 16 shapes were measured only while others used the machine" in done.output
    assert "in no point" not in done.output
    found = read_result(tmp_path / "curve.json")
    assert found.curve is not None
    assert {(point.disturbed, point.n == point.contaminated) for point in found.points} == {(True, True)}


def test_what_is_known_of_the_error_of_disturbed_points() -> None:
    """Quartiles 1 and 1.2, 2 and 2.6, 1 and 2: 20 %, 30 % and 100 % apart, the middle one is told."""
    points = [
        Point(kind="decode", seconds=low, batch=1, context_sum=1, p25=low, p75=high, disturbed=True)
        for low, high in ((1.0, 1.2), (2.0, 2.6), (1.0, 2.0))
    ]
    assert disturbance(points, 7) == (
        "3 of 7 shapes were measured only while others used the machine: the quicker quarter of their samples stands for them, "
        "half of which lie 30% apart; such times are rather too long"
    )


def test_a_model_without_routed_layers_has_no_experts(tmp_path: Path) -> None:
    assert rig(tmp_path / "m", "mla without routed layers").experts == Experts(0, 0)
    assert rig(tmp_path / "n", "mixtral").experts == Experts(4, 2)
