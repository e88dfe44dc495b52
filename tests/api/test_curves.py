"""Curves over HTTP: recorded once, never edited, shared ones readable by all, and pushed by the probe."""

from __future__ import annotations

import json
from collections.abc import Iterator

import httpx
import msgspec
import pytest
from click.testing import CliRunner

from accounting.selfhosted.curve_json import load_curve
from accounting.storage.curves import record_shared_curve
from api.routes.curves import EXAMPLE_CURVE
from probe.curve.cli import curve as curve_commands
from probe.curve.errors import CurveRefused
from probe.curve.push import push
from probe.curve.schema import DeviceInfo, EngineInfo, ModelInfo, ResultFile, Run
from tests.api.serving import Running, make_keys
from tests.conftest import Database
from tests.probe.fit.points import DENSE, grid

pytestmark = [pytest.mark.storage, pytest.mark.one_server]


@pytest.fixture(scope="module")
def other(api: Running, database: Database) -> Iterator[httpx.Client]:
    with api.client(make_keys(database, "bravo")["admin"]) as client:
        yield client


def test_a_curve_is_recorded_once_and_never_edited(admin: httpx.Client) -> None:
    first = admin.post("/v1/curves", json=EXAMPLE_CURVE)
    assert (first.status_code, first.json()["created"]) == (200, True)
    assert admin.post("/v1/curves", json=EXAMPLE_CURVE).json()["created"] is False
    changed = admin.post("/v1/curves", json={**EXAMPLE_CURVE, "gpu": "NVIDIA H100"})
    assert changed.status_code == 409
    assert "a curve is never edited" in changed.text
    assert admin.get("/v1/curves/qwen3-8b-h200").json() == {"curve": EXAMPLE_CURVE}


def test_a_curve_that_accounting_can_not_read_is_refused_by_field(admin: httpx.Client) -> None:
    broken = {**EXAMPLE_CURVE, "curve_id": "b", "parameters": {**EXAMPLE_CURVE["parameters"], "t_0": -1}}
    assert "parameters.t_0" in admin.post("/v1/curves", json=broken).text
    assert admin.post("/v1/curves", json=broken).status_code == 400
    for curve_id in ("", "a\x00b", "x" * 257):
        assert admin.post("/v1/curves", json={**EXAMPLE_CURVE, "curve_id": curve_id}).status_code == 400


def test_own_curves_are_own_and_shared_ones_everybodys(
    admin: httpx.Client, other: httpx.Client, database: Database
) -> None:
    admin.post("/v1/curves", json={**EXAMPLE_CURVE, "curve_id": "acmes"})
    record_shared_curve(database.owner, json.dumps({**EXAMPLE_CURVE, "curve_id": "everybodys"}))
    seen = {row["curve_id"]: row["shared"] for row in other.get("/v1/curves").json()["curves"]}
    assert seen == {"everybodys": True}
    assert other.get("/v1/curves/acmes").status_code == 404
    assert other.get("/v1/curves/everybodys").status_code == 200


def test_the_probe_pushes_a_result_that_accounting_reads(
    api: Running, keys: dict[str, str], admin: httpx.Client
) -> None:
    result = ResultFile(
        version=1,
        result_id="pushed",
        run=Run(measured_at="2026-11-01T00:00:00Z", via="in_process", seed=1),
        model=ModelInfo(name="m", dtype="bfloat16"),
        engine=EngineInfo(name="tokencogs"),
        device=DeviceInfo(gpu="cpu"),
        points=grid(DENSE),
    )
    url = str(admin.base_url)
    assert push(result, url, keys["admin"])["created"] is True
    file = admin.get("/v1/curves/pushed").json()["curve"]
    assert file["source"]["run"]["seed"] == 1
    curve = load_curve(json.dumps(file))
    # 0.005 + 8*1e-5 + 8*512*3e-8
    assert float(curve.answer(8, 512).step_seconds) == pytest.approx(0.00520288, rel=1e-6)
    with pytest.raises(CurveRefused, match="answered 403"):
        push(msgspec.structs.replace(result, result_id="again"), url, keys["viewer"])


def test_the_command_lists_shows_and_compares_what_the_api_knows(
    api: Running, keys: dict[str, str], admin: httpx.Client
) -> None:
    """The second has half the step time everywhere: twice the tokens, half the dollars. It was sent without what it was made from."""
    half = {name: value / 2 for name, value in EXAMPLE_CURVE["parameters"].items()}
    admin.post("/v1/curves", json={**EXAMPLE_CURVE, "curve_id": "whole"})
    admin.post("/v1/curves", json={**EXAMPLE_CURVE, "curve_id": "half", "parameters": half, "dtype": "float8"})
    there = ["--api", str(admin.base_url), "--key", keys["viewer"]]
    listed = CliRunner().invoke(curve_commands, ["list", *there])
    assert "half  Qwen3-8B  NVIDIA H200  step  2026-10-01" in listed.output.splitlines()
    shown = CliRunner().invoke(curve_commands, ["show", "half", *there, "--context", "1024"])
    assert shown.output.startswith("half: Qwen3-8B on vllm 0.24.0, NVIDIA H200"), shown.output
    compared = CliRunner().invoke(curve_commands, ["compare", "whole", "half", *there, "--gpu-price", "2"])
    after = compared.output.split("half over whole\n")[1].splitlines()
    assert after[1] == "     1      256      2.000     0.500     0.500"
    assert "cache: not stated" in compared.output
    assert "quality: KL not measured" in compared.output


def test_eight_gpus_of_a_curve_sent_without_its_source_cost_eight_times(
    api: Running, keys: dict[str, str], admin: httpx.Client
) -> None:
    admin.post("/v1/curves", json={**EXAMPLE_CURVE, "curve_id": "one-gpu"})
    admin.post("/v1/curves", json={**EXAMPLE_CURVE, "curve_id": "eight-gpus", "gpu": "8x NVIDIA H200"})
    words = [
        "compare",
        "one-gpu",
        "eight-gpus",
        "--api",
        str(admin.base_url),
        "--key",
        keys["viewer"],
        "--gpu-price",
        "2",
    ]
    shown = CliRunner().invoke(curve_commands, words).output
    assert (
        shown.split("eight-gpus over one-gpu\n")[1].splitlines()[1] == "     1      256      1.000     1.000     8.000"
    )


def test_the_command_says_what_the_api_said(api: Running, keys: dict[str, str], admin: httpx.Client) -> None:
    there = ["--api", str(admin.base_url), "--key"]
    absent = CliRunner().invoke(curve_commands, ["show", "nowhere", *there, keys["viewer"]])
    assert (absent.exit_code, "answered 404" in absent.output) == (2, True)
    refused = CliRunner().invoke(curve_commands, ["list", *there, "tc_acme_wrong"])
    assert (refused.exit_code, "answered 401" in refused.output) == (2, True)


def test_a_curve_is_evaluated_over_a_grid(admin: httpx.Client) -> None:
    steps = [{"kind": "decode", "seconds": 0.008, "batch": 2, "context_sum": 2000}]
    admin.post("/v1/curves", json={**EXAMPLE_CURVE, "curve_id": "drawn", "source": {"points": steps}})
    found = admin.get("/v1/curves/drawn/evaluate?batch=2&context=1000,128").json()
    assert [(cell["batch"], cell["context"]) for cell in found["cells"]] == [(2, 128), (2, 1000)]
    # 0.0049 + 2 * 0.0000094 + 2 * 1000 * 0.000000034 = 0.0049868
    assert found["cells"][1]["tokens_per_second"] == pytest.approx(2 / 0.0049868, rel=1e-12)
    assert found["cells"][1]["measured_tokens_per_second"] == 250.0


@pytest.mark.parametrize(("query", "status"), [("batch=0", 400), ("batch=a", 400), ("context=1,,2", 400), ("", 200)])
def test_an_axis_that_is_no_list_of_numbers_is_refused(admin: httpx.Client, query: str, status: int) -> None:
    admin.post("/v1/curves", json=EXAMPLE_CURVE)
    assert admin.get(f"/v1/curves/qwen3-8b-h200/evaluate?{query}").status_code == status
