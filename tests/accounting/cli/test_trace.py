"""Does `tokencogs trace import` book traces, and say what it can't use?"""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path

import pytest

from tests.accounting.cli.conftest import Run

pytestmark = [pytest.mark.storage, pytest.mark.one_server]

AZURE = (
    "TIMESTAMP,ContextTokens,GeneratedTokens\n2026-07-01 18:17:03.9799600,4808,10\n2026-07-01 18:17:04.0319600,3180,8\n"
)
SAID = ("--provider", "openai", "--model", "o3")


@pytest.fixture
def acme(tokencogs: Run, tenant: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.setenv("TOKENCOGS_DATA", str(tmp_path / "data"))
    return tokencogs


def test_a_trace_is_booked_and_a_second_time_is_duplicates_whatever_its_compression(acme: Run, tmp_path: Path) -> None:
    plain, packed = tmp_path / "azure.csv", tmp_path / "azure.csv.gz"
    plain.write_text(AZURE)
    packed.write_bytes(gzip.compress(AZURE.encode()))
    first = acme("trace", "import", "azure", str(plain), *SAID, "--cache-read", "none")
    assert (first.exit_code, first.stdout) == (0, "accepted 2, duplicates 0, conflicts 0, rejected 0\n")
    again = acme("trace", "import", "azure", str(packed), *SAID, "--cache-read", "none")
    assert (again.exit_code, again.stdout) == (0, "accepted 0, duplicates 2, conflicts 0, rejected 0\n")
    assert list(tmp_path.glob("*.rejected.jsonl")) == []


def test_a_limit_takes_the_first_rows(acme: Run, tmp_path: Path) -> None:
    path = tmp_path / "azure.csv"
    path.write_text(AZURE)
    assert acme("trace", "import", "azure", str(path), *SAID, "--limit", "1").stdout.startswith(
        "accepted 1, duplicates 0,"
    )
    assert acme("trace", "import", "azure", str(path), *SAID).stdout.startswith("accepted 1, duplicates 1,")


def test_a_bad_row_is_written_down_and_the_exit_code_is_1(acme: Run, tmp_path: Path) -> None:
    path, rejected = tmp_path / "azure.csv", tmp_path / "why.jsonl"
    path.write_text(AZURE + "yesterday,1,1\n")
    result = acme("trace", "import", "azure", str(path), *SAID, "--rejected", str(rejected))
    assert (result.exit_code, result.stdout) == (1, "accepted 2, duplicates 0, conflicts 0, rejected 1\n")
    assert result.stderr.endswith(f"rows left out, with reasons: {rejected}\n")
    assert json.loads(rejected.read_text()) == {
        "row": 3,
        "field": "TIMESTAMP",
        "value": "yesterday",
        "reason": "is not YYYY-MM-DD hh:mm:ss with an optional fraction and zone",
    }


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("azure", "--block-lifetime", "5m"), "block_lifetime='0:05:00': azure has no prefix hashes to compute with"),
        (("mooncake", "--block-lifetime", "5"), "--block-lifetime='5': is no time such as 60s, 5m or 1h"),
        (("mooncake", "--start", "soon"), "--start='soon': is no moment such as 2026-10-01T00:00:00Z"),
        (
            ("mooncake", "--start", "2026-07-01"),
            "start='2026-07-01T00:00:00': has no zone; write it with Z or its UTC offset",
        ),
        (("mooncake",), "start=None: is needed: times of a mooncake trace count from an unstated moment"),
    ],
)
def test_what_can_not_be_used_is_said_in_one_line(
    acme: Run, tmp_path: Path, words: tuple[str, ...], message: str
) -> None:
    path = tmp_path / "file"
    path.write_text(AZURE)
    source, *rest = words
    result = acme("trace", "import", source, str(path), *SAID, *rest)
    assert (result.exit_code, result.stderr.splitlines()[-1]) == (2, f"Error: {message}")


def test_provider_and_model_must_be_said(acme: Run, tmp_path: Path) -> None:
    path = tmp_path / "azure.csv"
    path.write_text(AZURE)
    result = acme("trace", "import", "azure", str(path))
    assert result.exit_code == 2
    assert "Missing option '--provider'" in result.stderr


def test_a_pipe_is_refused_as_a_trace_is_read_twice(acme: Run) -> None:
    reading, writing = os.pipe()
    os.write(writing, AZURE.encode())
    os.close(writing)
    result = acme("trace", "import", "azure", f"/dev/fd/{reading}", *SAID)
    os.close(reading)
    assert (result.exit_code, result.stdout) == (2, "")
    assert "is a pipe; a trace is read twice, so a file is expected" in result.stderr
