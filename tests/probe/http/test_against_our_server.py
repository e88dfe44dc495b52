"""Does the HTTP probe make a curve of our own server, run as a process, with every count as asked?"""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

pytest.importorskip("torch", reason="the engine's tests need the extra `probe`")

from probe.cli import probe
from probe.curve.curve import CurveDocument
from probe.curve.schema import ResultFile, read_result
from probe.http.plan import Plan, Setup
from probe.http.sweep import probe_http
from tests.probe.http.served import probe_serve

TINY = ("Llama-3.1-8B", "--scale", "0.02", "--dtype", "float32", "--served-model-name", "tiny")


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> object:
    folder = tmp_path_factory.mktemp("serve")
    with probe_serve(*TINY, log=folder / "log") as found:
        yield found


def measured(url: str, path: Path, *options: str) -> tuple[ResultFile, str]:
    done = CliRunner().invoke(probe, ["http", url, "--gpu", "cpu", "--out", str(path), *options])
    assert done.exit_code == 0, done.output
    return read_result(path), done.output


@pytest.fixture(scope="module")
def result(url: str, tmp_path_factory: pytest.TempPathFactory) -> ResultFile:
    path = tmp_path_factory.mktemp("http") / "r.json"
    grid = ("--concurrency", "1,2,4", "--input-tokens", "16,64", "--output-tokens", "12", "--rounds", "2")
    return measured(url, path, *grid, "--rate", "20", "--duration", "0.5", "--dtype", "float32")[0]


def test_the_server_is_recognised_and_described(result: ResultFile) -> None:
    assert (result.run.via, result.engine.name, result.model.name, result.device.gpu) == (
        "http",
        "tokencogs",
        "tiny",
        "cpu",
    )


def test_every_request_was_answered_as_asked_without_help_of_a_cache(result: ResultFile) -> None:
    """Two users' requests of two rounds: one line a cell of the median round, 2 requests a user; outputs are 12 tokens."""
    closed = [run for run in result.served if run.request_rate is None]
    assert sorted((run.concurrency, run.input_tokens, run.requests) for run in closed) == [
        (1, 16, 2), (1, 64, 2), (2, 16, 4), (2, 64, 4), (4, 16, 8), (4, 64, 8),
    ]  # fmt: skip
    assert {(run.output_tokens, run.failed, run.cached_tokens) for run in result.served} == {(12, 0, 0)}
    assert result.fit is not None
    assert not [note for note in result.fit.notes if "cached" in note or "requests:" in note]


def test_an_open_loop_has_its_rate_and_its_latencies(result: ResultFile) -> None:
    opened = [run for run in result.served if run.request_rate == 20]
    assert [run.input_tokens for run in opened] == [16, 64]
    assert all(run.ttft_median and run.itl_median and run.event_loop_lag is not None for run in opened)


def test_decode_samples_are_of_the_batch_and_contexts_that_were_kept(result: ResultFile) -> None:
    """A request of 16 tokens decodes at contexts 17 to 27: 12 outputs, the first of which is the prompt's."""
    batches = {len(one.contexts) for one in result.samples if one.kind == "decode"}
    assert batches <= {1, 2, 4}
    assert 1 in batches
    short = [
        context for one in result.samples for context in one.contexts if one.kind == "decode" and max(one.contexts) < 64
    ]
    assert min(short) >= 17
    assert max(short) <= 27
    assert {tuple(one.prefills[0]) for one in result.samples if one.kind == "prefill"} == {(16, 0), (64, 0)}


def test_after_each_load_of_the_grid_something_else_may_be_measured(url: str) -> None:
    """Rounds go through the grid to and fro."""
    seen: list[tuple[int, int, int]] = []
    plan = Plan((1, 2), (16,), 4, each=1, rounds=2, seed=5)
    probe_http(url, plan, Setup("cpu"), pause=lambda *load: seen.append(load))
    assert seen == [(0, 1, 16), (0, 2, 16), (1, 2, 16), (1, 1, 16)]


def test_a_prompt_that_the_server_has_seen_is_not_measured_by(url: str, tmp_path: Path) -> None:
    """The same seed again: every prompt lies in the server's cache, and nothing is measured."""
    again = ("--concurrency", "1", "--input-tokens", "64", "--output-tokens", "4", "--rounds", "1", "--seed", "77")
    measured(url, tmp_path / "a.json", *again)
    done = CliRunner().invoke(probe, ["http", url, "--gpu", "cpu", "--out", str(tmp_path / "b.json"), *again])
    assert done.exit_code == 1
    assert "cached_tokens: 48 of a prompt of random tokens: was this --seed used before?" in done.output
    assert not (tmp_path / "b.json").exists()


def test_a_curve_comes_of_it_where_the_client_kept_up(result: ResultFile) -> None:
    """A busy machine may make the client late: then the file says why it has no curve."""
    assert result.fit is not None
    if result.curve is not None:
        assert CurveDocument.of(result.curve).file["curve_id"] == result.result_id
    else:
        assert any(note.startswith("no curve") for note in result.fit.notes)


def test_a_server_that_refuses_is_named_with_its_words(url: str, tmp_path: Path) -> None:
    asked = [
        "http",
        url,
        "--gpu",
        "cpu",
        "--out",
        str(tmp_path / "c.json"),
        "--vocabulary",
        "999999",
        "--input-tokens",
        "64",
    ]
    done = CliRunner().invoke(probe, asked)
    assert done.exit_code == 1
    assert "token id" in done.output
    assert "status=400" in done.output
