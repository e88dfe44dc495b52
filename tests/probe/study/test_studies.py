"""Does every study run on a tiny model, do its facts come out as by hand, and do recorded rounds flip with their arms?"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

torch = pytest.importorskip("torch", reason="the engine's tests need the extra `probe`")

from click.testing import CliRunner  # noqa: E402

from probe.cli import probe  # noqa: E402
from probe.engine.models.shapes import num_parameters  # noqa: E402
from probe.study import attention, batching, chunked_prefill, length, moe, paging, speculation  # noqa: E402
from probe.study.errors import StudyRefused  # noqa: E402
from probe.study.frame import Result  # noqa: E402
from probe.study.lab import Lab, greedy  # noqa: E402
from probe.study.names import NAMES  # noqa: E402
from probe.study.size import SIZES  # noqa: E402
from probe.study.studies import STUDIES, run_study  # noqa: E402

RECORDED = json.loads(Path(__file__).with_name("recorded.json").read_text(encoding="utf-8"))


def lab(size: str = "tiny") -> Lab:
    return Lab(SIZES[size], torch.device("cpu"))


@pytest.mark.parametrize("name", NAMES)
def test_a_study_runs_on_a_tiny_model_and_states_its_rounds(name: str) -> None:
    """Whose claims hold is not asked: a tiny model's time is overhead."""
    report = run_study(name, "tiny", 2)
    assert report.results
    assert all(len(one.costs_a) == len(one.costs_b) == 2 for one in report.results)
    whole = json.loads(report.json())
    assert whole["verdict"] in ("holds", "fails", "undecided")
    assert whole["results"][0]["judged_low"] <= whole["results"][0]["judged_high"]
    assert report.text().splitlines()[-1].startswith("verdict: ")


def test_every_study_has_its_name() -> None:
    assert tuple(STUDIES) == NAMES == tuple(sorted(RECORDED))


CLAIMS = [
    pytest.param(Result(**one), id=f"{name}: {one['name']}, {one['a']}") for name in NAMES for one in RECORDED[name]
]


@pytest.mark.parametrize("result", CLAIMS)
def test_recorded_rounds_flip_with_their_arms(result: Result) -> None:
    """Seven rounds of each study on a small CPU model: what held in one direction fails in the other, and the ratio is turned over."""
    found, swapped = result.judgement, result.swapped().judgement
    assert swapped.ratio == pytest.approx(1 / found.ratio)
    opposite = {"holds": "fails", "fails": "holds", "undecided": "undecided"}
    expected = found.verdict if result.same is not None else opposite[found.verdict]
    assert swapped.verdict == expected


@pytest.mark.parametrize("size", ["tiny", "cpu"])
def test_attentions_are_compared_at_equal_parameters(size: str) -> None:
    counts = [num_parameters(config) for config in attention.variants(lab(size)).values()]
    assert max(counts) / min(counts) < 1.02


def test_what_a_token_keeps_in_the_cache_by_hand() -> None:
    """4 layers of 8 heads of 64 in two bytes: 4 * 2 * 8 * 64 * 2 = 8,192; two heads a quarter of it, one an eighth; a latent of 128 and
    32 rotated: 4 * 160 * 2 = 1,280."""
    found = attention.facts(lab("cpu"))["cache bytes a token"]
    assert found == {"MHA": 8192, "GQA": 2048, "MQA": 1024, "MLA": 1280}


def test_a_mixture_uses_what_the_dense_model_has_and_holds_what_the_wide_one_has() -> None:
    """Two of eight experts of half the width; routers, 8 * 512 numbers a layer, come on top."""
    mixture, active, loaded = moe.variants(lab("cpu"))
    assert mixture.moe is not None
    assert 2 * mixture.moe.moe_intermediate_size == active.intermediate_size == 2048
    assert loaded.intermediate_size == 8192
    assert num_parameters(mixture) - num_parameters(loaded) == 4 * 8 * 512


def test_experts_touched_by_hand() -> None:
    """Sixteen tokens of two of eight experts each: 8 * (1 - 0.75^16) = 7.92."""
    assert moe.facts(lab("cpu"))["experts touched by 16 tokens"] == 7.92


def test_a_model_has_positions_for_the_longest_prompts() -> None:
    """As on a GPU, where the long context is 8,192 tokens and the prompts of one study are 7/4 of it."""
    one = Lab(replace(SIZES["tiny"], long=8192), torch.device("cpu"))
    assert len(one.model().rope.cos) == 16384
    one.engine(one.model(), 16384).add_request(one.tokens(14336), greedy(1), "long")


def test_a_straight_line_s_middle_is_half_of_both_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lengths 12, 48 and 84 are in even steps; a second a token makes both arms alike: 96, and 4 * (97 + 1) with the new token of each."""
    monkeypatch.setattr(Lab, "step", lambda _, __, parts: lambda: float(sum(new + cached for new, cached in parts)))
    prompts, steps = length.contrasts(lab())
    assert prompts.name == "a prompt of 12, 48, 84 tokens"
    assert (prompts.a.measure(), prompts.b.measure()) == (96, 96)
    assert (steps.a.measure(), steps.b.measure()) == (392, 392)


def test_a_token_of_a_full_batch_is_its_share_of_the_step(monkeypatch: pytest.MonkeyPatch) -> None:
    """Steps of 8 s: a token of four takes 2 s, one alone 8."""
    monkeypatch.setattr(Lab, "step", lambda *_: lambda: 8.0)
    tokens, _ = batching.contrasts(lab())
    assert (tokens.a.measure(), tokens.b.measure()) == (2, 8)


def test_a_drafted_answer_s_seconds_are_shared_by_the_tokens_after_the_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sixteen seconds for eight tokens."""
    monkeypatch.setattr(speculation, "drained", lambda _: 16.0)
    high, low = speculation.contrasts(lab())
    assert [arm.measure() for arm in (high.a, high.b, low.a, low.b)] == [2, 2, 2, 2]


def test_slots_wasted_by_hand() -> None:
    """Lengths 16 and 17 hold one and two pages: 33 of 48; reserved at 64 each, 33 of 128."""
    assert paging.wasted([16, 17], 16) == pytest.approx(15 / 48)
    assert paging.wasted([16, 17], 64) == pytest.approx(95 / 128)


def test_tokens_a_verify_step_by_hand() -> None:
    """Half of each draft kept: 1 + 1/2 + 1/4 + 1/8 + 1/16 of a token, to three places; a tenth: 1.1111, nine tenths: 0.40951 / 0.1."""
    assert speculation.facts(lab()) == {
        "tokens a step at 10%": 1.111,
        "tokens a step at 50%": 1.938,
        "tokens a step at 90%": 4.095,
    }


def test_a_prompt_in_chunks_leaves_those_who_decode_their_place_in_each_step() -> None:
    """Four decode, so a budget of eight leaves four tokens of each step to the prompt of 48."""
    assert chunked_prefill.facts(lab())["chunk"] == 8


def test_refusals_name_the_option() -> None:
    with pytest.raises(StudyRefused, match="rounds=1"):
        run_study("batching", "tiny", 1)
    with pytest.raises(StudyRefused, match="name='luck'"):
        run_study("luck", "tiny", 2)


def test_the_command_prints_the_verdict_and_writes_raw_rounds(tmp_path: Path) -> None:
    out = tmp_path / "r.json"
    done = CliRunner().invoke(
        probe, ["study", "paging", "--size", "tiny", "--rounds", "2", "--device", "cpu", "--out", str(out)]
    )
    assert done.exit_code == 0, done.output
    assert "paged / reserved = " in done.output
    assert len(json.loads(out.read_text())["results"][0]["costs_a"]) == 2


def test_attention_s_share_of_a_long_prompt_by_hand() -> None:
    """Four layers, 1,792 tokens: 4 * 4 * 8 * 64 * 896 = 7,340,032 operations a token on pairs; 2 * 4 * (655,360 + 393,216) = 8,388,608 on
    weights: 46.7 %."""
    assert length.facts(lab("cpu")) == {"attention's share of a prompt of 1792": 0.467}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--device", "tpu"), "device='tpu': is neither cpu nor cuda"),
        (("--out", "nowhere/x.json"), "out='nowhere/x.json': its folder isn't there"),
    ],
)
def test_what_a_study_can_not_use_is_refused_before_it_measures(words: tuple[str, ...], said: str) -> None:
    done = CliRunner().invoke(probe, ["study", "batching", "--size", "tiny", "--rounds", "2", *words])
    assert (done.exit_code, said in done.output) == (1, True)
