"""Do the commands show what served runs say: every load, the gap to a composed curve, costs under both rules, extrapolation?"""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner

from probe.curve.cli import curve as commands
from probe.curve.errors import CurveRefused
from probe.curve.schema import DeviceInfo, EngineInfo, ModelInfo, ResultFile, Run, Served, dump_result, read_result
from probe.fit.result import with_curve
from probe.imports.common import Given
from probe.imports.formats import read_foreign
from tests.probe.fit.points import DENSE, grid
from tests.shared_data import shared

# 10 requests a second of 256 in and 128 out at 10 ms a token: 12.8 decode at once.
BUSY = Served(
    input_tokens=256,
    output_tokens=128,
    request_rate=10,
    requests_per_second=10,
    tpot_median=0.01,
    output_tokens_per_second=1280,
)


def result(name: str, **more: object) -> ResultFile:
    made = ResultFile(
        version=1,
        result_id=name,
        run=Run(measured_at="2026-11-01", via="import"),
        model=ModelInfo(name="m", dtype="bfloat16"),
        engine=EngineInfo(name="e"),
        device=DeviceInfo(gpu="g"),
    )
    made = msgspec.structs.replace(made, **more)
    try:
        return with_curve(made)
    except CurveRefused:
        return made


def run(tmp_path: Path, *words: str | ResultFile) -> tuple[int, str]:
    """Exit code and output; result files stand for their paths."""
    found = CliRunner().invoke(commands, [word if isinstance(word, str) else _file(tmp_path, word) for word in words])
    return found.exit_code, found.output


def _file(tmp_path: Path, result: ResultFile) -> str:
    path = tmp_path / f"{result.result_id}.json"
    path.write_bytes(dump_result(result))
    return str(path)


def test_a_table_shows_every_load_that_was_served_so_that_a_fall_is_seen(tmp_path: Path) -> None:
    """1, 3 and 6 users get 100, 240 and 80 tokens a second: 6 cost three times what 3 do."""
    served = [
        Served(input_tokens=90, output_tokens=20, concurrency=users, output_tokens_per_second=pace, cache_hit_share=0.5)
        for users, pace in ((1, 100), (3, 240), (6, 80))
    ]
    code, shown = run(tmp_path, "show", result("fall", served=served), "--gpu-price", "3.6")
    assert code == 0, shown
    assert "     3      100     12.50      240.0         -    4.1667" in shown
    assert "     6      100     75.00       80.0         -   12.5000" in shown


def test_a_cell_that_no_run_covered_is_marked_and_is_no_best_batch(tmp_path: Path) -> None:
    """2 and 8 users at 100 tokens, 2 at 400: 8 at 400 was never served."""
    served = [
        Served(input_tokens=context - 10, output_tokens=20, concurrency=users, tpot_median=0.01)
        for users, context in ((2, 100), (8, 100), (2, 400))
    ]
    code, shown = run(tmp_path, "show", result("holes", served=served))
    assert code == 0, shown
    cells = [
        (line.split()[:2], line.endswith("extrapolated")) for line in shown.splitlines() if line.startswith("     ")
    ]
    assert cells == [(["2", "100"], False), (["8", "100"], False), (["2", "400"], False), (["8", "400"], True)]


def test_runs_of_which_no_curve_can_be_made_still_show_what_is_known(tmp_path: Path) -> None:
    code, shown = run(tmp_path, "show", result("one", served=[BUSY]))
    assert code == 0
    assert "no curve: what was measured is not enough for one" in shown


def test_the_gap_to_a_composed_curve_and_both_costs_by_hand(tmp_path: Path) -> None:
    """The curve's step of 12.8 at 320 tokens is 5 + 0.128 + 0.12288 = 5.25088 ms; prompts of 256 take 2.6255 ms each, 2.6 % of the time:
    5.3925 of 10 ms. At 3.6 dollars an hour 0.001 a second: 0.7813 a million output, 0.2604 a million of all; 2.6 % of it over 2,560 tokens
    a second in, the rest over 1,280 out."""
    served = result("served", served=[BUSY, msgspec.structs.replace(BUSY, request_rate=11)])
    code, shown = run(tmp_path, "served", served, result("floor", points=grid(DENSE)), "--gpu-price", "3.6")
    assert code == 0, shown
    assert "    10.000    12.8      10.00        54%      0.7812    0.2604    0.0103    0.7607" in shown
    assert "note: at 13 decoding at once the curve explains 54% of a served token's time" in shown


def test_runs_of_other_gpus_are_not_this_curve_s_setup(tmp_path: Path) -> None:
    served = result("served", served=[BUSY, BUSY], device=DeviceInfo(gpu="g", count=2))
    code, shown = run(tmp_path, "served", served, result("floor", points=grid(DENSE)))
    assert code == 2
    assert "gpus=1: the runs are of 2 GPUs" in shown


def test_published_costs_of_llama_on_h100_and_the_gap_at_saturation(tmp_path: Path) -> None:
    """7.60 dollars a million output tokens at one request a second, 0.311 at 200: the composed curve explains 92 % there and 40 % here."""
    [floor] = read_foreign("op-tables", shared("op-tables") / "h100_sxm", Given(model="Llama-3.1-8B"))
    runs = read_foreign("served-runs", shared("served-runs/master_results.csv"), Given(input_tokens=512))
    llama = next(one for one in runs if one.result_id == "served-C1")
    code, shown = run(tmp_path, "served", llama, with_curve(floor), "--gpu-price", "6.98")
    assert code == 0, shown
    first, *_, last = [line.split() for line in shown.splitlines() if line.startswith(" ")]
    assert (first[3], first[4]) == ("92%", "7.5991")
    assert (last[3], last[4]) == ("40%", "0.3108")
    assert "note: prefill is a floor's, so input's part of the bill is rather too low" in shown


def test_ratios_beyond_what_one_of_both_measured_are_marked(tmp_path: Path) -> None:
    """Batches 1 to 64 on one side, 100 to 200 on the other: nothing is common, so the first's are shown."""
    far = [msgspec.structs.replace(BUSY, tpot_median=batch / 1280) for batch in (100, 200)]
    code, shown = run(tmp_path, "compare", result("near", points=grid(DENSE)), result("far", served=far))
    assert code == 0, shown
    ratios = shown.split("far over near")[1].splitlines()
    assert [line.endswith("extrapolated") for line in ratios if line.startswith("     1")] == [True]


def test_a_first_token_of_a_prompt_that_was_not_measured_is_marked_where_it_is_shown(tmp_path: Path) -> None:
    """Prompts were measured to 2,048 tokens, contexts to 8,192: at 4,096 the step is known, and the first token is not."""
    near = result("near", points=grid(DENSE))
    code, shown = run(tmp_path, "show", near, "--context", "4096", "--ttft", "1")
    assert code == 0, shown
    ends = {line.split()[1]: line.split()[5:] for line in shown.splitlines() if line.startswith("     1")}
    assert ends == {"256": ["-"], "1024": ["-"], "4096": ["-", "ttft", "extrapolated"]}
    assert "best batch at 4096: 64 (cache not stated)  extrapolated" in shown
    _, shown = run(tmp_path, "show", near, "--context", "4096", "--itl", "1")
    assert "best batch at 4096: 64 (cache not stated)\n" in shown
    _, shown = run(tmp_path, "compare", near, result("other", points=grid(DENSE)))
    ratios = [line for line in shown.split("other over near")[1].splitlines() if line.startswith("     1")]
    assert [line.endswith("  ttft extrapolated") for line in ratios] == [False, False, True]


def test_curves_of_two_models_or_of_other_gpus_say_so(tmp_path: Path) -> None:
    other = result("other", points=grid(DENSE), model=ModelInfo(name="n"), device=DeviceInfo(gpu="g", count=2))
    _, shown = run(tmp_path, "compare", result("near", points=grid(DENSE)), other)
    assert "note: two models: m and n" in shown
    assert "note: 1 and 2 GPUs a replica" in shown


def test_gpus_and_dtypes_that_differ_are_named_beside_one_price(tmp_path: Path) -> None:
    near = result("near", points=grid(DENSE))
    other = result("other", points=grid(DENSE), device=DeviceInfo(gpu="H100"), model=ModelInfo(name="m", dtype="fp8"))
    _, shown = run(tmp_path, "compare", near, other, "--gpu-price", "2")
    assert "note: two GPUs: g and H100; one price an hour is not both's" in shown
    assert "note: weights in bfloat16 and in fp8" in shown
    _, shown = run(tmp_path, "compare", near, result("same", points=grid(DENSE), device=DeviceInfo(gpu="G")))
    assert "two GPUs" not in shown


def test_a_first_token_is_that_of_chunks_as_large_as_the_engine_had_them(tmp_path: Path) -> None:
    """1,024 tokens in chunks of 256 beside none: 4 steps' loop instead of one."""
    ttft = []
    for name, budget in (("whole", None), ("chunks", 256)):
        engine = EngineInfo(name="e", max_num_batched_tokens=budget)
        _, shown = run(tmp_path, "show", result(name, points=grid(DENSE), engine=engine))
        (line,) = [line.split() for line in shown.splitlines() if line.split()[:2] == ["1", "1024"]]
        ttft.append(float(line[4]))
    assert ttft[1] > 1.2 * ttft[0]


def test_a_curve_of_another_setup_is_not_said_to_explain_its_runs(tmp_path: Path) -> None:
    """At 4 ms a token the curve's 5.39 are 135 %; another model and GPU are named."""
    quick = msgspec.structs.replace(BUSY, tpot_median=0.004)
    served = result("served", served=[quick, msgspec.structs.replace(quick, request_rate=11)])
    floor = result("floor", points=grid(DENSE), model=ModelInfo(name="n", dtype="bfloat16"), device=DeviceInfo(gpu="h"))
    code, shown = run(tmp_path, "served", served, floor)
    assert code == 0, shown
    assert "more than there was, so it is not this setup's" in shown
    assert "note: two models: m and n; their tokens are not each other's: not the same setup" in shown
    assert "note: two GPUs: g and h" in shown


def test_what_else_lies_in_a_folder_of_curves_is_named_and_the_curves_are_listed(tmp_path: Path) -> None:
    _file(tmp_path, result("near", points=grid(DENSE)))
    (tmp_path / "grid.json").write_text('{"batch": [1]}')
    found = CliRunner().invoke(commands, ["list", str(tmp_path)])
    assert found.exit_code == 0
    assert "near  m  g  step" in found.stdout
    assert "grid.json: no result file" in found.stderr


@pytest.mark.parametrize("dtype", ["bf16", "fp16", "half", "float32", "none", "auto"])
def test_a_cache_of_a_plain_dtype_changes_no_answers(dtype: str) -> None:
    plain = result("plain", points=grid(DENSE), engine=EngineInfo(name="e", kv_cache_dtype=dtype)).curve
    packed = result("packed", points=grid(DENSE), engine=EngineInfo(name="e", kv_cache_dtype="fp8")).curve
    assert plain is not None
    assert packed is not None
    assert (plain["behaviour_changing"], packed["behaviour_changing"]) == (False, True)


@pytest.mark.parametrize(("words", "said"), [
    (("show", "none.json"), "file='none.json'"),
    (("import", "vllm-bench-serve", "none.json"), "none.json"),
    (("import", "served-runs", "points.csv"), "columns=['config', "),
    (("import", "inferencex", "points.csv"), "columns=['model', "),
    (("import", "trtllm-tables", "points.csv"), "columns=['gpu', "),
    (("import", "aiperf", "list.json"), "one JSON object is expected"),
    (("import", "guidellm", "list.json"), "one JSON object is expected"),
    (("show", "none.json", "--gpu-price", "nan"), "nan is not a finite number"),
    (("import", "served-runs", "points.csv", "--input-tokens", "-5"), "-5.0 is not in the range"),
    (("list", "nowhere"), "folder='nowhere'"),
    (("list", ".", "--api", "http://127.0.0.1:9", "--key", "k"), "give one or the other"),
    (("show", "list.json", "--ttft", "1"), "ttft=1.0: a target goes with --context"),
    (("import", "inferencex", "points.csv", "--out", "points.csv"), "out='points.csv'"),
    (("show", "some-id", "--api", "http://127.0.0.1:9"), "--key"),
    (("show", "some-id", "--api", "http://[::1", "--key", "k"), "url='http://[::1'"),
])  # fmt: skip
def test_what_can_not_be_read_is_refused_by_name(
    words: tuple[str, ...], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "points.csv").write_text("a,b\n1,2\n")
    (tmp_path / "list.json").write_text("[]")
    monkeypatch.chdir(tmp_path)
    code, shown = run(tmp_path, *words)
    assert code == 2
    assert said in " ".join(shown.split())


def test_a_curve_whose_date_nobody_stated_says_so_wherever_it_is_shown(tmp_path: Path) -> None:
    """Published tables have none; --measured-at gives them one."""
    where = [str(shared("served-runs/master_results.csv")), "--input-tokens", "512", "--out", str(tmp_path)]
    code, shown = run(tmp_path, "import", "served-runs", *where)
    assert code == 0, shown
    assert all(line.endswith("date not stated: give --measured-at") for line in shown.splitlines())
    kept = read_result(tmp_path / "served-C1.json")
    assert (kept.curve or {})["measured_at"] == "unknown"
    assert kept.fit is not None
    assert kept.fit.notes[0] == "date not stated: how old these figures are can't be told"
    _, shown = run(tmp_path, "list", str(tmp_path))
    assert all(line.endswith("date not stated") for line in shown.splitlines())
    _, shown = run(tmp_path, "show", kept)
    assert "note: date not stated" in shown
    _, shown = run(tmp_path, "compare", kept, read_result(tmp_path / "served-C2.json"))
    assert [line for line in shown.splitlines() if "date not stated" in line] == [
        "note: served-C1: date not stated",
        "note: served-C2: date not stated",
    ]
    code, shown = run(tmp_path, "import", "served-runs", *where, "--measured-at", "2026-06-01")
    assert code == 0
    assert "date not stated" not in shown
    kept = read_result(tmp_path / "served-C1.json")
    assert kept.run.measured_at == "2026-06-01"
    assert not any("date" in note for note in kept.fit.notes)  # type: ignore[union-attr]


@pytest.mark.parametrize(("format", "file"), [
    ("inferencex", "inferencex/throughput_points.csv"), ("inferencex", "inferencex/agentic_agg_json"),
])  # fmt: skip
def test_published_points_without_a_date_say_so_too(format: str, file: str, tmp_path: Path) -> None:
    _, shown = run(tmp_path, "import", format, str(shared(file)), "--gpus", "8", "--out", str(tmp_path))
    assert shown
    assert all("date not stated" in line for line in shown.splitlines())


def test_a_composed_floor_without_a_date_says_so_too(tmp_path: Path) -> None:
    words = [
        "import",
        "op-tables",
        str(shared("op-tables") / "h200_sxm"),
        "--model",
        "Qwen3-8B",
        "--out",
        str(tmp_path),
    ]
    _, shown = run(tmp_path, *words)
    assert shown.rstrip().endswith("curve, date not stated: give --measured-at")
    _, shown = run(tmp_path, *words, "--measured-at", "2026-06-01")
    assert shown.rstrip().endswith("0 runs, curve")
