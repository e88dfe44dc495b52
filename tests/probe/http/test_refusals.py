"""What does `tokencogs probe http` say, and keep, where the server or the options are not as hoped?"""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

pytest.importorskip("torch", reason="the command is one of the probe's, which needs the extra `probe`")

from probe.cli import probe
from probe.curve.schema import read_result
from probe.http.transport import Client
from tests.probe.http.moody import moody

GRID = ("--concurrency", "1,2", "--input-tokens", "8", "--output-tokens", "6", "--requests", "1", "--rounds", "2")


def said(url: str, out: Path, *options: str) -> tuple[int, str]:
    done = CliRunner().invoke(probe, ["http", url, "--gpu", "cpu", "--out", str(out), *GRID, *options])
    return done.exit_code, done.output


@pytest.mark.parametrize("status", [500, 0])
def test_what_was_measured_before_a_server_failed_for_good_is_kept(status: int, tmp_path: Path) -> None:
    """The six requests of round 1 are answered, then none; round 2 begins with the pair's four."""
    with moody(lambda number: (200, 6) if number < 6 else (status, 0)) as url:
        code, output = said(url, tmp_path / "r.json")
    assert code == 0
    assert "note: measuring ended early: requests=4: none was answered as asked: failed:" in output
    kept = read_result(tmp_path / "r.json")
    assert {one.round for one in kept.samples} == {0}
    assert [(run.concurrency, run.requests) for run in kept.served] == [(1, 1), (2, 2)]


def test_a_server_that_never_answers_is_refused_and_leaves_no_file(tmp_path: Path) -> None:
    with moody(lambda _: (500, 0)) as url:
        code, output = said(url, tmp_path / "r.json")
    assert code == 1
    assert "status=500" in output
    assert "the engine has failed" in output
    assert not (tmp_path / "r.json").exists()


def test_answers_that_end_early_are_counted_and_left_out(tmp_path: Path) -> None:
    """Every third one has 4 tokens instead of 6: four of the twelve requests of two rounds."""
    with moody(lambda number: (200, 4 if number % 3 == 2 else 6)) as url:
        code, output = said(url, tmp_path / "r.json")
    assert code == 0
    assert "note: 4 of 12 requests: output_tokens: 4 came, 6 were asked for" in output


@pytest.mark.parametrize(("options", "words"), [
    (("--input-tokens", "8,59"), "input_tokens=59: with 6 output tokens more than the 64 that the server takes"),
    (("--rate", "5,0"), "rate=0.0: requests a second above 0"),
    (("--concurrency", "0"), "concurrency=(0,): numbers from 1"),
])  # fmt: skip
def test_what_can_t_be_measured_is_refused_before_anything_is(
    options: tuple[str, ...], words: str, tmp_path: Path
) -> None:
    asked: list[int] = []

    def answer(number: int) -> tuple[int, int]:
        asked.append(number)
        return 200, 6

    with moody(answer) as url:
        code, output = said(url, tmp_path / "r.json", *options)
    assert (code, asked) == (1, [])
    assert words in output


def test_a_prompt_that_just_fits_is_measured(tmp_path: Path) -> None:
    with moody(lambda _: (200, 6)) as url:
        assert said(url, tmp_path / "r.json", "--input-tokens", "58")[0] == 0


def test_a_file_that_can_t_be_written_is_refused_first(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    code, output = said("http://127.0.0.1:1", tmp_path / "file" / "r.json")
    assert code == 1
    assert "r.json': Not a directory" in output or "r.json': File exists" in output


def test_two_runs_draw_other_prompts(tmp_path: Path) -> None:
    with moody(lambda _: (200, 6)) as url:
        for name in ("a", "b"):
            assert said(url, tmp_path / name)[0] == 0
    assert read_result(tmp_path / "a").run.seed != read_result(tmp_path / "b").run.seed


@pytest.mark.parametrize("url", ["http://127.0.0.1:80800", "http://127.0.0.1:0", "http://h:x", "http://[::1", "h:1"])
def test_an_address_that_is_none_is_refused(url: str, tmp_path: Path) -> None:
    code, output = said(url, tmp_path / "r.json")
    assert code == 1
    assert f"url='{url}': " in output


def test_a_host_that_can_have_no_name_is_refused(tmp_path: Path) -> None:
    """Labels of a name end at 63 characters."""
    code, output = said(f"http://{'a' * 70}.b:1", tmp_path / "r.json")
    assert code == 1
    assert f"url='{'a' * 70}.b:1': " in output


@pytest.mark.parametrize(("url", "prefix"), [
    ("http://h:1", ""), ("http://h:1/v1", ""), ("http://h:1/v1/", ""), ("http://h:1/models/x/v1", "/models/x"),
])  # fmt: skip
def test_a_base_url_of_openai_s_clients_is_one_of_ours(url: str, prefix: str) -> None:
    assert Client(url).prefix == prefix
