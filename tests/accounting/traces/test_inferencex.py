"""Is the agentic request log read with its traps: failures, units, two logs of one run, cache claims?"""

from __future__ import annotations

import csv
import io
from collections import Counter
from datetime import UTC, datetime
from typing import Any

import pytest

from accounting.traces.inferencex import INFERENCEX
from tests.accounting.traces.rows import bad, event, events, read, read_file
from tests.shared_data import shared

PLAIN = {
    "run": "tp4-conc12",
    "user_id": "User-008",
    "request_idx": "12",
    "trace_id": "trace_0110",
    "request_start_time": "1776752063.2133627",
    "prefill_complete_time": "1776752119.6195648",
    "request_complete_time": "1776752150.5623417",
    "input_tokens": "98335",
    "output_tokens_expected": "259",
    "output_tokens_actual": "1134",
    "cache_hit_blocks": "1527",
    "cache_miss_blocks": "9",
    "ttft": "56.4062020778656",
    "success": "True",
    "error_message": "",
}
NO_TOKEN = {"prefill_complete_time": PLAIN["request_start_time"], "ttft": "0.0", "output_tokens_actual": "0"}
FAILED = {**NO_TOKEN, "success": "False"}


def log(*changes: dict[str, str]) -> str:
    text = io.StringIO()
    writer = csv.DictWriter(text, list(PLAIN))
    writer.writeheader()
    writer.writerows({**PLAIN, **change} for change in changes)
    return text.getvalue()


def one(change: dict[str, str], **stated: Any) -> Any:
    return event(read(INFERENCEX, log(change), **stated)[0])


def test_a_row_is_an_event_of_its_run_with_all_its_times() -> None:
    row = one({}, provider="vllm")
    assert row.event_id == "trace:inferencex:000000000000:1"
    assert row.occurred_at == datetime(2026, 4, 21, 6, 14, 23, 213_362, UTC)
    assert row.first_token_at == datetime(2026, 4, 21, 6, 15, 19, 619_564, UTC)
    assert row.completed_at == datetime(2026, 4, 21, 6, 15, 50, 562_341, UTC)
    assert (row.deployment, row.replica, row.user_id, row.trace_id) == (
        "tp4-conc12",
        "tp4-conc12",
        "User-008",
        "trace_0110",
    )
    assert (row.usage.input_tokens, row.usage.output_tokens, row.status) == (98_335, 1_134, "ok")
    assert row.tags == {
        "request_idx": "12",
        "output_tokens_expected": "259",
        "cache_hit_blocks": "1527",
        "cache_miss_blocks": "9",
    }


def test_a_stated_deployment_is_taken_and_the_run_stays_the_replica() -> None:
    row = one({}, deployment="b200")
    assert (row.deployment, row.replica) == ("b200", "tp4-conc12")


def test_a_failed_request_keeps_its_input_and_end_and_has_no_first_token() -> None:
    row = one(FAILED)
    assert (row.status, row.usage.input_tokens, row.usage.output_tokens) == ("error", 98_335, 0)
    assert row.first_token_at is None
    assert row.completed_at == datetime(2026, 4, 21, 6, 15, 50, 562_341, UTC)


def test_a_successful_request_without_a_token_has_no_first_token() -> None:
    row = one(NO_TOKEN)
    assert (row.status, row.first_token_at) == ("ok", None)


@pytest.mark.parametrize(("stated", "expected"), [("unknown", None), ("none", 0), ("logged", 97_728)])
def test_the_logs_cache_blocks_count_only_where_asked_for(stated: str, expected: int | None) -> None:
    assert one({}, cache_read=stated).usage.cache_read_tokens == expected


def test_a_logged_cache_read_leaves_a_token_of_new_input() -> None:
    full = {"input_tokens": "640", "cache_hit_blocks": "10", "cache_miss_blocks": "0"}
    assert one(full, cache_read="logged").usage.cache_read_tokens == 639


def test_cache_blocks_that_do_not_make_the_input_are_a_bad_row_where_they_count() -> None:
    row = bad(read(INFERENCEX, log({"cache_miss_blocks": "10"}), cache_read="logged")[0])
    equation = "cache_hit_blocks 1527 + cache_miss_blocks 10 is not input_tokens 98335 / 64, rounded down"
    assert (row.field, row.reason) == ("cache_hit_blocks", equation)


def test_a_time_to_first_token_in_milliseconds_is_a_bad_row() -> None:
    row = bad(read(INFERENCEX, log({"ttft": "56406.2020778656"}))[0])
    assert (row.field, row.value) == ("ttft", "56406.2020778656")
    assert row.reason == "seconds expected: prefill_complete_time - request_start_time is 56406202 microseconds"


def test_a_success_of_another_spelling_is_a_bad_row() -> None:
    row = bad(read(INFERENCEX, log({"success": "1"}))[0])
    assert (row.field, row.value, row.reason) == ("success", "1", "is neither True nor False")


def test_the_same_request_under_another_runs_name_is_the_same_event() -> None:
    rows = events(read(INFERENCEX, log({}, {"user_id": "User-009"}, {"run": "tp8-conc8"})))
    assert rows[2] == rows[0]
    assert rows[1].event_id == "trace:inferencex:000000000000:2"


def test_the_text_of_an_error_is_not_kept() -> None:
    row = one({**FAILED, "error_message": "canary prompt"})
    assert "canary" not in repr(row)


def test_a_start_moves_all_times_of_all_rows_alike() -> None:
    later = {"request_start_time": "1776752064.2133627", "prefill_complete_time": "1776752064.2133627", "ttft": "0.0"}
    first, second = events(read(INFERENCEX, log({}, later), start=datetime(2026, 7, 1, tzinfo=UTC)))
    assert first.occurred_at == datetime(2026, 7, 1, tzinfo=UTC)
    assert first.completed_at == datetime(2026, 7, 1, 0, 1, 27, 348_979, UTC)
    assert second.occurred_at == datetime(2026, 7, 1, 0, 0, 1, tzinfo=UTC)


def test_the_known_failures_of_the_agentic_log() -> None:
    rows = events(read_file(INFERENCEX, shared("inferencex/agentic_requests.csv")))
    assert Counter(row.status for row in rows) == {"ok": 1_307, "error": 975}
    inputs: Counter[str] = Counter()
    for row in rows:
        assert row.usage is not None
        inputs[row.status] += row.usage.input_tokens
    assert inputs == {"ok": 101_790_908, "error": 73_383_424}
    assert f"{100 * inputs['error'] / inputs.total():.0f}" == "42"
    assert not any(row.first_token_at for row in rows if row.status == "error")


def test_one_run_of_the_agentic_log_stands_there_twice_and_counts_once() -> None:
    rows = events(read_file(INFERENCEX, shared("inferencex/agentic_requests.csv")))
    assert len(rows) == 2_282
    assert len({row.event_id for row in rows}) == 2_242
    twice = [row for row, times in Counter(row.event_id for row in rows).items() if times == 2]
    assert len(twice) == 40
