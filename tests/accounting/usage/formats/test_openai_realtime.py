"""Realtime: every response that is done is a call, by modality; what was transcribed is charged by the model that wrote it down."""

from __future__ import annotations

from typing import Any

import pytest

from accounting.usage.formats import openai_realtime
from accounting.usage.wire import Context, UsageContradiction
from tests.accounting.usage.formats.family import NOBODY, contradiction, counts, only


def _done(identity: str, total: int = 120, **details: Any) -> dict[str, Any]:
    given = {"text_tokens": 20, "audio_tokens": 80, "cached_tokens": 64}
    return {
        "type": "response.done",
        "event_id": "event_1",
        "response": {
            "id": identity,
            "object": "realtime.response",
            "status": "completed",
            "output": [{"content": [{"transcript": "canary"}]}],
            "usage": {
                "total_tokens": total,
                "input_tokens": 100,
                "output_tokens": 20,
                "input_token_details": given | details,
                "output_token_details": {"text_tokens": 5, "audio_tokens": 15},
            },
        },
    }


HEARD = {
    "type": "conversation.item.input_audio_transcription.completed",
    "item_id": "item_1",
    "transcript": "canary",
    "usage": {
        "type": "tokens",
        "total_tokens": 22,
        "input_tokens": 13,
        "input_token_details": {"text_tokens": 0, "audio_tokens": 13},
        "output_tokens": 9,
    },
}


def test_cached_audio_is_a_part_of_the_audio_and_of_the_cache() -> None:
    call = only(openai_realtime, _done("r1", cached_tokens_details={"text_tokens": 10, "audio_tokens": 54}))
    assert counts(call) == {
        "input_tokens": 100,
        "cache_read_tokens": 64,
        "audio_input_tokens": 26,
        "audio_cache_read_tokens": 54,
        "output_tokens": 20,
        "audio_output_tokens": 15,
    }
    assert (call.surface, call.response_id, call.status, call.findings) == ("realtime", "r1", "ok", ())


def test_cached_images_have_no_class_of_their_own_and_this_is_said() -> None:
    details = {"audio_tokens": 0, "image_tokens": 70, "cached_tokens_details": {"text_tokens": 4, "image_tokens": 60}}
    call = only(openai_realtime, _done("r1", **details))
    assert counts(call) == {
        "input_tokens": 100,
        "cache_read_tokens": 64,
        "image_input_tokens": 10,
        "output_tokens": 20,
        "audio_output_tokens": 15,
    }
    assert [(finding.reason, finding.detail) for finding in call.findings] == [
        (
            "cache_read_without_class",
            "input_token_details.cached_tokens_details.image_tokens 60 priced as cached text",
        )
    ]


def test_the_modality_of_cached_tokens_may_be_unstated() -> None:
    call = only(openai_realtime, _done("r1"))
    assert counts(call)["audio_input_tokens"] == 36
    assert counts(call)["audio_cache_read_tokens"] == 44
    assert [finding.reason for finding in call.findings] == ["modality_of_cache_unstated"]


def test_every_response_of_a_session_is_a_call_and_so_is_every_transcription() -> None:
    session = {
        "type": "session.created",
        "session": {"model": "gpt-realtime", "audio": {"input": {"transcription": {"model": "gpt-4o-transcribe"}}}},
    }
    calls = openai_realtime.read(
        [session, HEARD, _done("r1"), {"type": "response.audio.delta", "delta": "canary"}, _done("r2")], NOBODY
    )
    assert [(call.model, call.response_id, call.surface, call.part) for call in calls] == [
        ("gpt-4o-transcribe", "item_1", "transcriptions", ""),
        ("gpt-realtime", "r1", "realtime", ""),
        ("gpt-realtime", "r2", "realtime", ""),
    ]
    assert counts(calls[0]) == {"input_tokens": 13, "audio_input_tokens": 13, "output_tokens": 9}


def test_calls_of_a_session_under_one_event_id_stay_apart() -> None:
    calls = openai_realtime.read([_done("r1"), _done("r2")], Context(event_id="e"))
    assert [call.part for call in calls] == ["response-1", "response-2"]


def test_the_model_of_the_session_is_not_the_one_that_transcribed() -> None:
    [call] = openai_realtime.read(HEARD, Context(model="gpt-realtime"))
    assert (call.model, call.response_model) == (None, None)


def test_a_transcription_is_read_from_its_own_endpoint_too() -> None:
    call = only(openai_realtime, {"text": "canary", "usage": HEARD["usage"]}, Context(model="gpt-4o-transcribe"))
    assert (call.surface, call.model) == ("transcriptions", "gpt-4o-transcribe")


def test_what_is_charged_by_the_second_has_no_class() -> None:
    body = {**HEARD, "usage": {"type": "duration", "seconds": 2.5}}
    assert contradiction(openai_realtime, body) == ("unit_without_class", "usage.seconds 2.5")


def test_one_contradicting_response_keeps_the_evidence_of_the_whole_session() -> None:
    with pytest.raises(UsageContradiction) as caught:
        openai_realtime.read([_done("r1"), _done("r2", total=121)], NOBODY)
    assert caught.value.equation == "total_tokens 121 <> input_tokens 100 + output_tokens 20 = 120"
    events = caught.value.usage_body["events"]
    assert [event["usage"]["total_tokens"] for event in events] == [120, 121]
    assert len(openai_realtime.read({"events": events[:1]}, NOBODY)) == 1


def test_cached_parts_do_not_exceed_what_they_are_parts_of() -> None:
    body = _done("r1", cached_tokens_details={"audio_tokens": 65})
    assert contradiction(openai_realtime, body)[1].endswith("audio_tokens 65 > input_token_details.cached_tokens 64")
    body = _done("r1", cached_tokens_details={"text_tokens": 64})
    assert contradiction(openai_realtime, body) == (
        "part_exceeds_whole",
        "uncached audio_tokens 80 + uncached image_tokens 0 + uncached video_tokens 0 = 80 > uncached input 36",
    )
