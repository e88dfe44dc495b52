"""Does `tokencogs price` give exact charges line by line, name bad lines, and stay small?"""

from __future__ import annotations

import json
import subprocess
import sys
from datetime import date
from pathlib import Path

import pytest
from click.testing import CliRunner

from accounting.cli import main
from accounting.demo import workload
from tests.events import event, lines


def price(data: bytes) -> tuple[int, list[dict[str, object]], str]:
    result = CliRunner().invoke(main, ["price", "-"], input=data)
    return result.exit_code, [json.loads(line) for line in result.stdout.splitlines()], result.stderr


def test_a_charge_has_its_components_to_the_last_digit() -> None:
    # o3 from 2025-06-10 on: 2.00 in, 8.00 out a million tokens.
    code, [charge], said = price(lines([event("e1")]))
    assert (code, said) == (0, "")
    assert {
        name: charge[name]
        for name in ("event_id", "status", "billing_currency", "list_cost", "effective_cost", "basis")
    } == {
        "event_id": "e1",
        "status": "priced",
        "billing_currency": "USD",
        "list_cost": "0.0028",
        "effective_cost": "0.0028",
        "basis": "price_list",
    }
    assert [(row["token_class"], row["quantity"], row["effective_cost"]) for row in charge["components"]] == [  # type: ignore[attr-defined]
        ("uncached_input", 1000, "0.002"),
        ("output", 100, "0.0008"),
    ]


def test_a_model_without_a_price_is_unpriced_and_never_0() -> None:
    code, [charge], _ = price(lines([event("e1", model="gpt-nobody-lists")]))
    assert code == 0
    assert (charge["status"], charge["reason"], charge["list_cost"]) == ("unpriced", "unknown_model", None)


def test_an_event_of_a_deployment_waits_for_settlement() -> None:
    _, [charge], _ = price(lines([event("e1", deployment="pool-1")]))
    assert (charge["status"], charge["list_cost"]) == ("pending_settlement", None)


def test_bad_lines_are_named_the_rest_is_priced_and_the_exit_code_is_1() -> None:
    data = lines([event("e1")]) + b"\n{oops\n" + lines([event("e3", colour="red"), event("e4")])
    code, charges, said = price(data)
    assert code == 1
    assert [charge["event_id"] for charge in charges] == ["e1", "e4"]
    first, second = said.splitlines()
    assert first.startswith("line 3: body='5 bytes': ")
    assert second == "line 4: colour='red': Object contains unknown field `colour`"


def test_an_event_that_no_single_call_can_cost_is_named() -> None:
    code, charges, said = price(lines([event("e1", model="o1-pro", usage={"output_tokens": 2_000_000_000})]))
    assert (code, charges) == (1, [])
    assert said.startswith("line 1: usage: costs more than 9,000 currency units")


def test_an_array_is_refused_with_exit_code_2() -> None:
    assert price(b"[]") == (2, [], "Error: file='-': is a JSON array; one event a line is expected\n")


def test_a_closed_pipe_ends_it_without_a_traceback(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    path.write_bytes(lines(event(f"e{number}") for number in range(20_000)))
    command = f"{sys.executable} -m accounting.cli price {path} | head -1"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
    assert json.loads(done.stdout)["event_id"] == "e0"
    assert done.stderr == ""


# Prints the process's own peak at its end; what a parent is told of a child may include the parent's memory before exec.
MEASURED = """
import sys
from accounting.cli import main
main(["price", sys.argv[1]], standalone_mode=False)
print(next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM")), file=sys.stderr)
"""


@pytest.mark.parametrize(
    ("small", "large"), [(10_000, 40_000), pytest.param(50_000, 200_000, marks=pytest.mark.slow)], ids=["40k", "200k"]
)
def test_memory_does_not_grow_with_the_file(tmp_path: Path, small: int, large: int) -> None:
    assert peak_kib(tmp_path, large) < peak_kib(tmp_path, small) + 16 * 1024


def peak_kib(folder: Path, requests: int) -> int:
    """Peak resident memory of pricing so many events (about 375 bytes each, their charges about 700)."""
    path = folder / f"{requests}.jsonl"
    with path.open("wb") as file:
        file.writelines(workload.make(date(2026, 10, 1), requests, 1).batches(10_000))
    with (folder / "charges.jsonl").open("wb") as out:
        done = subprocess.run(
            [sys.executable, "-c", MEASURED, str(path)], stdout=out, stderr=subprocess.PIPE, check=True
        )
    return int(done.stderr)
