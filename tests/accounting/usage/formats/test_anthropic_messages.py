"""Anthropic Messages: input excludes the cache, writes have two lifetimes, iterations may lie beside the top level."""

from __future__ import annotations

from typing import Any

from accounting.usage.formats import anthropic_messages
from accounting.usage.wire import Context
from tests.accounting.usage.formats.family import NOBODY, contradiction, counts, only

OPUS, SONNET = "claude-opus-4-8", "claude-sonnet-4-6"


def message(**usage: Any) -> dict[str, Any]:
    return {
        "id": "msg_01",
        "type": "message",
        "role": "assistant",
        "model": SONNET,
        "content": [{"type": "text", "text": "canary-answer", "index": 77}],
        "usage": {"input_tokens": 10, "output_tokens": 5, **usage},
    }


def iteration(kind: str, read: int, written: int, **more: Any) -> dict[str, Any]:
    return {"type": kind, "input_tokens": read, "output_tokens": written, **more}


def test_input_reads_and_writes_lie_beside_each_other() -> None:
    body = message(
        cache_read_input_tokens=36_000,
        cache_creation_input_tokens=3_000,
        cache_creation={"ephemeral_5m_input_tokens": 1_200, "ephemeral_1h_input_tokens": 1_800},
        output_tokens_details={"thinking_tokens": 3},
    )
    assert counts(only(anthropic_messages, body)) == {
        "input_tokens": 39_010,
        "cache_read_tokens": 36_000,
        "cache_write_5m_tokens": 1_200,
        "cache_write_1h_tokens": 1_800,
        "output_tokens": 5,
        "reasoning_tokens": 3,
    }


def test_what_the_split_does_not_cover_was_written_for_five_minutes() -> None:
    split = {"ephemeral_5m_input_tokens": 4_000, "ephemeral_1h_input_tokens": 30_000}
    call = only(anthropic_messages, message(cache_creation_input_tokens=50_000, cache_creation=split))
    assert counts(call)["cache_write_5m_tokens"] == 20_000
    assert counts(call)["cache_write_1h_tokens"] == 30_000


def test_a_split_above_the_creation_total_is_a_contradiction() -> None:
    split = {"ephemeral_5m_input_tokens": 60, "ephemeral_1h_input_tokens": 50}
    assert contradiction(anthropic_messages, message(cache_creation_input_tokens=100, cache_creation=split)) == (
        "part_exceeds_whole",
        "ephemeral_5m_input_tokens 60 + ephemeral_1h_input_tokens 50 = 110 > cache_creation_input_tokens 100",
    )


def test_server_tools_are_units() -> None:
    call = only(anthropic_messages, message(server_tool_use={"web_search_requests": 2, "web_fetch_requests": 1}))
    assert counts(call) == {
        "input_tokens": 10,
        "output_tokens": 5,
        "web_search_requests": 2,
        "web_fetch_requests": 1,
    }


def test_tier_speed_and_place_are_those_of_the_usage() -> None:
    assert only(anthropic_messages, message(service_tier="batch")).service_tier == "batch"
    assert only(anthropic_messages, message(service_tier="standard", speed="fast")).service_tier == "fast"
    assert only(anthropic_messages, message(inference_geo="us")).region == "us"
    assert only(anthropic_messages, message(inference_geo="not_available")).region is None


def test_the_id_says_who_served_it() -> None:
    assert only(anthropic_messages, message()).provider == "anthropic"
    assert only(anthropic_messages, message() | {"id": "msg_bdrk_01"}).provider == "aws"
    assert only(anthropic_messages, message() | {"id": "msg_vrtx_01"}).provider == "google"
    assert only(anthropic_messages, message(), Context(provider="azure")).provider == "azure"


def test_a_compaction_is_a_call_of_its_own() -> None:
    iterations = [iteration("compaction", 180_000, 3_500), iteration("message", 10, 5)]
    main, compaction = anthropic_messages.read(message(iterations=iterations), NOBODY)
    assert counts(main) == {"input_tokens": 10, "output_tokens": 5}
    assert (compaction.part, compaction.model) == ("compaction-1", SONNET)
    assert counts(compaction) == {"input_tokens": 180_000, "output_tokens": 3_500}


def test_an_advisor_is_charged_under_its_own_model() -> None:
    iterations = [
        iteration("message", 4, 3),
        iteration("advisor_message", 2_529, 38, model=OPUS),
        iteration("message", 6, 2),
    ]
    main, advisor = anthropic_messages.read(message(iterations=iterations), NOBODY)
    assert (main.model, counts(main)) == (SONNET, {"input_tokens": 10, "output_tokens": 5})
    assert (advisor.part, advisor.model) == ("advisor-1", OPUS)
    assert counts(advisor) == {"input_tokens": 2_529, "output_tokens": 38}


def test_a_declined_attempt_is_charged_only_for_output() -> None:
    def parts(output: int) -> list[tuple[str, str | None]]:
        declined = iteration("message", 10, output, model=OPUS)
        served = iteration("fallback_message", 10, 5, model=SONNET)
        calls = anthropic_messages.read(message(iterations=[declined, served]), NOBODY)
        return [(call.part, call.model) for call in calls]

    assert parts(0) == [("", SONNET)]
    assert parts(7) == [("", SONNET), ("declined-1", OPUS)]


def test_the_top_level_is_the_sum_of_the_served_iterations() -> None:
    body = message(iterations=[iteration("message", 4, 3), iteration("message", 7, 2)])
    assert contradiction(anthropic_messages, body) == (
        "tokens_do_not_add_up",
        "input_tokens 10 <> iterations.0.input_tokens 4 + iterations.1.input_tokens 7 = 11",
    )


def test_an_iteration_of_an_unknown_kind_is_a_finding() -> None:
    body = message(iterations=[iteration("message", 10, 5), iteration("canary", 900, 1)])
    [call] = anthropic_messages.read(body, NOBODY)
    assert [finding.reason for finding in call.findings] == ["unknown_iteration"]


def stream(*deltas: dict[str, Any]) -> list[dict[str, Any]]:
    start = message(cache_creation_input_tokens=40, cache_creation={"ephemeral_1h_input_tokens": 40}, output_tokens=1)
    return [
        {"type": "message_start", "message": start},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "canary"}},
        *({"type": "message_delta", "delta": {}, "usage": usage} for usage in deltas),
        {"type": "message_stop"},
    ]


def test_streamed_counts_are_cumulative_and_the_last_one_stands() -> None:
    events = stream({"output_tokens": 9}, {"input_tokens": 12, "output_tokens": 15, "cache_read_input_tokens": None})
    [call] = anthropic_messages.read(events, NOBODY)
    assert counts(call) == {"input_tokens": 52, "cache_write_1h_tokens": 40, "output_tokens": 15}
    assert (call.response_id, call.findings) == ("msg_01", ())


def test_a_stream_without_its_end_is_counted_with_a_finding() -> None:
    [call] = anthropic_messages.read(stream(), NOBODY)
    assert counts(call)["output_tokens"] == 1
    assert [finding.reason for finding in call.findings] == ["stream_incomplete"]


def test_a_line_of_batch_results_holds_a_message_or_an_error() -> None:
    line = {"custom_id": "1", "result": {"type": "succeeded", "message": message(service_tier="batch")}}
    [call] = anthropic_messages.read(line, NOBODY)
    assert (call.service_tier, counts(call)) == ("batch", {"input_tokens": 10, "output_tokens": 5})
    [unsaid] = anthropic_messages.read(
        {"custom_id": "1", "result": {"type": "succeeded", "message": message()}}, NOBODY
    )
    assert (unsaid.service_tier, unsaid.batch) == (None, True)  # only a batch's results have that envelope
    assert anthropic_messages.read(message(), NOBODY)[0].batch is None
    [expired] = anthropic_messages.read({"custom_id": "2", "result": {"type": "expired"}}, NOBODY)
    assert (expired.usage, expired.status) == (None, "error")


def test_missing_usage_is_not_zero_usage() -> None:
    assert only(anthropic_messages, message() | {"usage": None}).usage is None
    assert counts(only(anthropic_messages, message(input_tokens=0, output_tokens=0))) == {}


def test_counts_of_a_wrong_kind_are_refused() -> None:
    assert contradiction(anthropic_messages, message(output_tokens=True))[0] == "not_a_count"
    assert contradiction(anthropic_messages, message(input_tokens=-1))[0] == "negative_count"
    assert contradiction(anthropic_messages, message(cache_creation="canary"))[0] == "not_an_object"
    assert contradiction(anthropic_messages, message(input_tokens=2**31 - 1, cache_read_input_tokens=1)) == (
        "count_out_of_range",
        "input_tokens in total 2147483648 > 2147483647",
    )


def test_only_its_own_bodies_are_recognised() -> None:
    assert anthropic_messages.recognises(message())
    assert anthropic_messages.recognises({"model": "m", "usage": {"input_tokens": 1, "cache_creation_input_tokens": 0}})
    assert not anthropic_messages.recognises({"usage": {"prompt_tokens": 1, "cache_creation_input_tokens": 0}})
    assert not anthropic_messages.recognises(message() | {"id": "msg_bdrk_01"})
