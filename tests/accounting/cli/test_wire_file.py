"""Do files of wire bodies and spans get into the ledger, with each bad row told apart?"""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
import zstandard

from accounting.usage.formats.registry import FORMATS
from tests.accounting.cli.conftest import Run
from tests.events import event
from tests.shared_data import shared
from tests.wire_bodies import body, export, sent, span

pytestmark = [pytest.mark.storage, pytest.mark.one_server]


@pytest.fixture
def acme(tokencogs: Run, tenant: str) -> Run:
    return tokencogs


def _lines(*items: Any) -> bytes:
    return b"".join(json.dumps(item).encode() + b"\n" for item in items)


def _said(accepted: int, duplicates: int = 0, rejected: int = 0, exceptions: int = 0, aggregates: int = 0) -> str:
    first = f"accepted {accepted}, duplicates {duplicates}, conflicts 0, rejected {rejected}"
    return f"{first}, exceptions {exceptions}, aggregates {aggregates}\n"


@pytest.mark.parametrize("name", sorted(FORMATS))
def test_lines_of_every_format_are_booked_once(acme: Run, tmp_path: Path, name: str) -> None:
    path = tmp_path / "bodies.jsonl"
    path.write_bytes(_lines(sent(name, 1), sent(name, 2)))
    if name in ("otlp", "openinference"):
        path.write_bytes(_lines(body(name, 1), body(name, 2)))
    assert acme("ingest", str(path), "--format", name).stdout == _said(2)
    assert acme("ingest", str(path), "--format", name).stdout == _said(0, duplicates=2)


def test_auto_tells_each_line(acme: Run, tmp_path: Path) -> None:
    path = tmp_path / "bodies.jsonl.gz"
    path.write_bytes(gzip.compress(_lines(*(sent(name) for name in ("gemini", "litellm", "openai_responses")))))
    assert acme("ingest", str(path), "--format", "auto").stdout == _said(3)


@pytest.mark.parametrize("first", ["otlp", "claude_code"])
def test_auto_tells_rows_of_others_in_a_file_that_begins_as_spans_or_a_log(
    acme: Run, tmp_path: Path, first: str
) -> None:
    path = tmp_path / "bodies.jsonl"
    path.write_bytes(_lines(body(first, 1), sent("openai_chat", 2), body(first, 3), sent("gemini", 4)))
    assert acme("ingest", str(path), "--format", "auto").stdout == _said(4)
    assert acme("ingest", str(path), "--format", "auto").stdout == _said(0, duplicates=4)


def test_a_row_of_no_format_in_a_log_is_left_out_and_a_record_without_a_call_is_none(acme: Run, tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    turn = {"type": "user", "sessionId": "s", "uuid": "u", "message": {"role": "user", "content": "hi"}}
    path.write_bytes(_lines(body("claude_code", 5), turn, {"type": "summary", "summary": "talk"}, {"foo": 1}))
    result = acme("ingest", str(path), "--format", "auto")
    assert (result.exit_code, result.stdout) == (1, _said(1, rejected=1))
    assert json.loads(Path(f"{path}.rejected.jsonl").read_text())["line"] == 4


def test_a_row_that_is_no_export_is_left_out_with_its_line(acme: Run, tmp_path: Path) -> None:
    path = tmp_path / "spans.jsonl"
    path.write_bytes(_lines(body("otlp", 2), {"id": "chatcmpl-1", "usage": {"prompt_tokens": 1}}, {}))
    result = acme("ingest", str(path), "--format", "otlp")
    assert (result.exit_code, result.stdout) == (1, _said(1, rejected=1))
    row = json.loads(Path(f"{path}.rejected.jsonl").read_text())
    assert (row["line"], row["field"]) == (2, "resourceSpans")


def test_auto_knows_native_events(acme: Run, tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    path.write_bytes(_lines(event("e1"), event("e2")))
    result = acme("ingest", str(path), "--format", "auto")
    assert result.stdout == "accepted 2, duplicates 0, conflicts 0, rejected 0\n"


def test_an_array_and_one_pretty_document_are_read(acme: Run, tmp_path: Path) -> None:
    array, document = tmp_path / "array.json", tmp_path / "document.json"
    array.write_text(json.dumps([sent("gemini", 1), sent("gemini", 2)], indent=2))
    document.write_text(json.dumps(body("gemini", 3), indent=2))
    assert acme("ingest", str(array), "--format", "gemini").stdout == _said(2)
    assert acme("ingest", str(document), "--format", "auto").stdout == _said(1)


@pytest.mark.parametrize("name", ["gen_ai_spans.pb", "gen_ai_spans.otlp.json"])
@pytest.mark.parametrize("wire_format", ["auto", "otlp"])
def test_otlp_exports_are_read(acme: Run, tmp_path: Path, name: str, wire_format: str) -> None:
    path = tmp_path / f"{name}.zst"
    path.write_bytes(zstandard.ZstdCompressor().compress(shared(f"otlp/{name}").read_bytes()))
    assert acme("ingest", str(path), "--format", wire_format).stdout == _said(100)


def test_spans_that_are_no_calls_are_ignored_and_broken_exports_are_left_out(acme: Run, tmp_path: Path) -> None:
    """As the Collector's file exporter writes them: one request a line."""
    path = tmp_path / "spans.jsonl"
    web = export(span(1, {"http.request.method": "GET"}))
    path.write_bytes(_lines(web, body("otlp", 2)) + b"{broken\n" + _lines(body("otlp", 3)))
    result = acme("ingest", str(path), "--format", "otlp")
    assert (result.exit_code, result.stdout) == (1, _said(2, rejected=1))
    row = json.loads(Path(f"{path}.rejected.jsonl").read_text())
    assert (row["line"], row["field"], row["row"]) == (3, "body", "{broken")


def test_a_pb_file_of_another_format_is_refused(acme: Run, tmp_path: Path) -> None:
    path = tmp_path / "spans.pb"
    path.write_bytes(b"")
    result = acme("ingest", str(path), "--format", "gemini")
    assert (result.exit_code, "a .pb file is an OTLP export" in result.stderr) == (2, True)


def test_bad_rows_go_to_the_rejected_file_and_contradictions_are_kept(acme: Run, tmp_path: Path) -> None:
    path = tmp_path / "bodies.jsonl"
    broken = sent("openai_chat", 2)
    broken["response"]["usage"]["total_tokens"] = 7
    wrong = {"response": body("openai_chat", 3), "context": {"user": "ann"}}
    path.write_bytes(_lines(sent("openai_chat", 1)) + b"\n{half\n" + _lines(broken, wrong))
    result = acme("ingest", str(path), "--format", "openai_chat")
    assert (result.exit_code, result.stdout) == (1, _said(1, rejected=2, exceptions=1))
    rows = [json.loads(line) for line in Path(f"{path}.rejected.jsonl").read_text().splitlines()]
    assert [(row["line"], row["field"], row["reason"]) for row in rows] == [
        (3, "body", "not JSON: JSON is malformed: object keys must be strings (byte 1)"),
        (5, "context", "Object contains unknown field `user`"),
    ]
    assert rows[0]["row"] == "{half"


def test_a_first_line_that_is_broken_costs_no_other(acme: Run, tmp_path: Path) -> None:
    path = tmp_path / "bodies.jsonl"
    path.write_bytes(b"{half\n" + _lines(sent("gemini", 1), sent("gemini", 2)))
    assert acme("ingest", str(path), "--format", "gemini").stdout == _said(2, rejected=1)
    assert json.loads(Path(f"{path}.rejected.jsonl").read_text())["line"] == 1


def test_the_records_of_a_long_log_are_read_together(acme: Run, tmp_path: Path) -> None:
    """Two records of one message lie further apart than a batch."""
    path = tmp_path / "session.jsonl"
    early, late = body("claude_code", 1), body("claude_code", 1)
    early["message"]["usage"]["output_tokens"] = 1
    between = [{"type": "user", "uuid": f"x{n}", "sessionId": "s-1", "message": {"role": "user"}} for n in range(5_010)]
    path.write_bytes(_lines(early, *between, late))
    assert acme("ingest", str(path), "--format", "auto").stdout == _said(1)


def test_an_empty_file_holds_nothing(acme: Run, tmp_path: Path) -> None:
    path = tmp_path / "empty.jsonl"
    path.write_bytes(b"\n\n")
    assert acme("ingest", str(path)).stdout == "accepted 0, duplicates 0, conflicts 0, rejected 0\n"
