"""Does a file of events get into the ledger, with each bad row told apart?"""

from __future__ import annotations

import gzip
import json
import os
import threading
from pathlib import Path

import pytest

from tests.accounting.cli.conftest import Run
from tests.events import body, event, lines

pytestmark = [pytest.mark.storage, pytest.mark.one_server]


@pytest.fixture
def acme(tokencogs: Run, tenant: str) -> Run:
    return tokencogs


def test_lines_are_booked_and_a_second_time_are_duplicates(acme: Run, tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    path.write_bytes(lines([event("e1"), event("e2")]))
    first, second = acme("ingest", str(path)), acme("ingest", str(path))
    assert (first.exit_code, first.stdout) == (0, "accepted 2, duplicates 0, conflicts 0, rejected 0\n")
    assert (second.exit_code, second.stdout) == (0, "accepted 0, duplicates 2, conflicts 0, rejected 0\n")
    assert not (tmp_path / "events.jsonl.rejected.jsonl").exists()


def test_a_compressed_array_is_booked(acme: Run, tmp_path: Path) -> None:
    path = tmp_path / "events.json.gz"
    path.write_bytes(gzip.compress(body([event("e1"), event("e2"), event("e3")])))
    assert acme("ingest", str(path)).stdout == "accepted 3, duplicates 0, conflicts 0, rejected 0\n"


def test_bad_rows_are_written_down_with_line_and_reason_and_the_exit_code_is_1(acme: Run, tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    bad = json.dumps(event("e2", usage={"output_tokens": -1}))
    other = json.dumps(event("e1", usage={"output_tokens": 7}))
    path.write_text("\n".join([json.dumps(event("e1")), "", bad, json.dumps(event("e3"))]))
    result = acme("ingest", str(path))
    assert (result.exit_code, result.stdout) == (1, "accepted 2, duplicates 0, conflicts 0, rejected 1\n")
    path.write_text(other)
    assert acme("ingest", str(path)).stdout == "accepted 0, duplicates 0, conflicts 1, rejected 0\n"
    row = json.loads((tmp_path / "events.jsonl.rejected.jsonl").read_text())
    assert row == {
        "line": 1,
        "event_id": "e1",
        "field": None,
        "value": None,
        "reason": "event_id is known with a different body; the first one stays",
        "row": other,
    }


def test_the_reason_of_a_rejected_row_names_field_and_value(acme: Run, tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    path.write_bytes(lines([event("e1"), event("e2", usage={"cache_read_tokens": 2000})]))
    result = acme("ingest", str(path))
    assert result.stderr.endswith(f"rows left out, with reasons: {path}.rejected.jsonl\n")
    row = json.loads(Path(f"{path}.rejected.jsonl").read_text())
    assert {name: row[name] for name in ("line", "event_id", "field", "value", "reason")} == {
        "line": 2,
        "event_id": "e2",
        "field": "usage.input_tokens",
        "value": "1000",
        "reason": "is less than the sum of its parts: cache_read_tokens 2000 = 2000",
    }


def test_a_file_longer_than_a_batch_keeps_its_line_numbers(acme: Run, tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    rows = [event(f"e{number}") for number in range(5_002)]
    rows[5_001]["usage"] = {"input_tokens": "many"}
    path.write_bytes(lines(rows))
    assert acme("ingest", str(path)).stdout == "accepted 5001, duplicates 0, conflicts 0, rejected 1\n"
    assert json.loads(Path(f"{path}.rejected.jsonl").read_text())["line"] == 5_002


def test_a_pipe_of_more_than_a_batch_is_booked_to_its_end(acme: Run) -> None:
    """A pipe has no place in it that a bar could follow."""
    reading, writing = os.pipe()

    def send() -> None:
        with os.fdopen(writing, "wb") as file:
            file.write(lines([event(f"p{number}") for number in range(5_001)]))

    sender = threading.Thread(target=send)
    sender.start()
    result = acme("ingest", f"/dev/fd/{reading}")
    os.close(reading)
    sender.join()
    assert (result.exit_code, result.stdout) == (0, "accepted 5001, duplicates 0, conflicts 0, rejected 0\n")


def test_an_unknown_tenant_is_not_found(acme: Run, tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    path.write_bytes(lines([event("e1")]))
    result = acme("ingest", str(path), "--tenant", "nobody")
    assert (result.exit_code, result.stderr) == (1, "Error: tenant='nobody': does not exist\n")
