"""Claude Code session logs: the records of one message are one call."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from accounting.usage.formats import claude_code
from tests.accounting.usage.formats.family import NOBODY, counts, only


def record(message: str, output: int, second: int, **more: Any) -> dict[str, Any]:
    return {
        "type": "assistant",
        "timestamp": f"2026-04-16T06:00:{second:02}.000Z",
        "sessionId": "s-1",
        "uuid": f"u-{second}",
        "requestId": f"req-{message}",
        "message": {
            "id": message,
            "type": "message",
            "model": "claude-sonnet-4-6",
            "content": [{"type": "text", "text": "canary"}],
            "usage": {"input_tokens": 12, "cache_read_input_tokens": 20_000, "output_tokens": output},
        },
        **more,
    }


def test_the_last_record_of_a_message_stands_and_the_first_says_when() -> None:
    [call] = claude_code.read([record("m-1", 3, 1), record("m-1", 41, 2), record("m-1", 118, 3)], NOBODY)
    assert counts(call) == {"input_tokens": 20_012, "cache_read_tokens": 20_000, "output_tokens": 118}
    assert call.occurred_at == datetime(2026, 4, 16, 6, 0, 1, tzinfo=UTC)
    assert (call.response_id, call.trace_id, call.surface) == ("m-1", "s-1", "claude_code")


def test_other_messages_are_other_calls() -> None:
    calls = claude_code.read([record("m-1", 3, 1), record("m-2", 4, 2)], NOBODY)
    assert [call.response_id for call in calls] == ["m-1", "m-2"]


def test_records_that_are_no_answer_are_no_calls() -> None:
    written = record("m-3", 0, 3)
    written["message"]["model"] = "<synthetic>"
    asked = {"type": "user", "sessionId": "s-1", "uuid": "u-0", "message": {"role": "user", "content": "canary"}}
    assert claude_code.read([asked, written, {"type": "summary", "summary": "canary"}], NOBODY) == []


def test_a_record_alone_is_read_with_its_stated_cost() -> None:
    call = only(claude_code, record("m-1", 3, 1, costUSD=0.0125))
    assert (call.reported_cost_usd, call.provider) == (Decimal("0.0125"), "anthropic")


def test_only_session_records_are_recognised() -> None:
    assert claude_code.recognises(record("m-1", 3, 1))
    assert not claude_code.recognises(record("m-1", 3, 1)["message"])
