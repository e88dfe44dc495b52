"""Does a server whose steps follow a known law give back that law, and does accounting read the curve?"""

from __future__ import annotations

import json

import pytest

from accounting.selfhosted.curve_json import load_curve
from probe.curve.schema import ResultFile, dump_result, load_result
from probe.curve.setup_shape import Shape
from probe.http.load import Call
from probe.http.plan import Plan, Setup
from probe.http.result import Measured, fitted, result_of
from probe.http.saturation import Load
from probe.http.server import Server
from probe.http.steps import decode_samples, prefill_samples
from probe.http.summary import served_of
from tests.probe.http.calls import made

BARE = 0.001
PLAN = Plan((1, 4, 16), (100, 400, 1600), 12, rounds=1)
QUIET = Load(0.1, 0.0)


def step(batch: int, context: float) -> float:
    """5 ms, 0.1 ms a sequence, 1 us for each 10 tokens that it attends to."""
    return 0.005 + 0.0001 * batch + 1e-7 * batch * context


def prompt_alone(tokens: int) -> float:
    """A bare request, 5 ms, 20 us a token, 2 ns a pair."""
    return BARE + 0.005 + 20e-6 * tokens + 2e-9 * tokens**2 / 2


def users(batch: int, tokens: int) -> list[Call]:
    """All sent at once; after the prompt's own step every token is a step of the whole batch."""
    at = [prompt_alone(tokens)]
    for output in range(1, PLAN.output_tokens):
        at.append(at[-1] + step(batch, tokens + output))
    return [made(0.0, at, prompt=tokens) for _ in range(batch)]


@pytest.fixture(scope="module")
def result() -> ResultFile:
    found = Measured()
    for batch, tokens in PLAN.cells:
        calls = users(batch, tokens)
        served = served_of(calls, QUIET, concurrency=batch)
        assert served is not None
        assert not found.add(calls, QUIET, served)
        found.samples["decode", batch, tokens] += decode_samples(calls, batch, 0, saturated=False)
        if batch == 1:
            found.samples["prefill", batch, tokens] += prefill_samples(calls, BARE, 0, saturated=False)
        found.closed[batch, tokens].append(served)
    server = Server("vllm", "m", "0.32.0", 4096)
    return fitted(result_of(server, PLAN, Setup("cpu", dtype="bfloat16"), Shape(), found), ["said"])


def test_the_law_comes_back(result: ResultFile) -> None:
    """Contexts within a cell grow by eleven tokens, so its median is that of the middle one."""
    assert result.curve is not None
    found = result.curve["parameters"]
    assert found["t_0"] == pytest.approx(0.005, rel=0.01)
    assert found["a"] == pytest.approx(1e-4, rel=0.05)
    assert found["c"] == pytest.approx(1e-7, rel=0.01)
    assert found["d"] == pytest.approx(20e-6, rel=0.01)
    assert found["f"] == pytest.approx(2e-9, rel=0.05)


def test_accounting_reads_the_curve(result: ResultFile) -> None:
    """5 ms + 4 * 0.1 ms + 4 * 400 * 0.1 us = 5.56 ms."""
    curve = load_curve(json.dumps(result.curve))
    assert float(curve.answer(4, 400).step_seconds) == pytest.approx(0.00556, rel=0.01)


@pytest.mark.parametrize(
    ("name", "setup", "said"),
    [
        ("m", Setup("cpu", dtype="fp8"), "fp8"),
        ("Qwen/Qwen3-8B-FP8", Setup("cpu"), "fp8"),
        ("Qwen3-8B-AWQ", Setup("cpu", dtype="bfloat16"), "awq"),
        ("m", Setup("cpu", dtype="bfloat16", quantization="int4"), "int4"),
        ("m", Setup("cpu", dtype="bfloat16"), None),
    ],
)
def test_weights_that_dtype_or_name_call_quantised_are(name: str, setup: Setup, said: str | None) -> None:
    assert result_of(Server("vllm", name, "0.32.0", 4096), PLAN, setup, Shape(), Measured()).model.quantization == said


def test_the_file_is_one_of_the_published_schema_with_its_notes_first(result: ResultFile) -> None:
    assert load_result(dump_result(result)) == result
    assert result.fit is not None
    assert result.fit.notes[0].startswith("measured from outside")
    assert result.fit.notes[1] == "said"


def test_every_step_of_a_cell_is_one_sample(result: ResultFile) -> None:
    """Eleven steps in each of nine cells, and three prompts alone."""
    assert sum(one.kind == "decode" for one in result.samples) == 99
    assert sum(one.kind == "prefill" for one in result.samples) == 3


def test_loads_of_a_saturated_client_make_no_curve() -> None:
    found, late = Measured(), Load(0.95, 0.0)
    for batch, tokens in PLAN.cells:
        calls = users(batch, tokens)
        served = served_of(calls, late, concurrency=batch)
        assert found.add(calls, late, served)
        found.samples["decode", batch, tokens] += decode_samples(calls, batch, 0, saturated=True)
        assert served is not None
        found.closed[batch, tokens].append(served)
    result = fitted(result_of(Server("vllm", "m", None, None), PLAN, Setup("cpu"), Shape(), found), [])
    assert result.curve is None
    assert len(result.served) == 9
    assert result.fit is not None
    assert any(note.startswith("no curve") for note in result.fit.notes)


def test_what_is_missing_is_said() -> None:
    """Two of three loads were too slow; of the worst of either kind is told. Four at once never were."""
    found = Measured(loads=3, late=[Load(0.95, 0.001), Load(0.2, 0.0071)], ended="requests=4: none")
    found.samples["decode", 4, 64] = []
    assert found.notes == [
        "measuring ended early: requests=4: none",
        "client saturated in 2 of 3 loads: it used up to 0.95 of a core and woke up to 7.1 ms late; their samples are marked and not "
        "fitted",
        "no step of 4x64: so many never decoded at once without a prompt between them",
    ]
