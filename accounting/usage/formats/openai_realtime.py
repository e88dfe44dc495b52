"""What does a Realtime session charge for? Each response that is done, by modality, and each transcription of what was heard."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from accounting.usage.formats import marks
from accounting.usage.formats.answer import Answer, answer, details, keys
from accounting.usage.formats.contradicted import ContradictedCall
from accounting.usage.formats.counts import check_sum, count, optional_count, value_at
from accounting.usage.formats.evidence import shown
from accounting.usage.formats.fields import text
from accounting.usage.formats.tokens import Input, Tokens, input_counts, output_counts
from accounting.usage.native import NativeUsage
from accounting.usage.wire import Body, Call, Context, Finding, UsageContradiction

NAME = "openai_realtime"
IDENTITY = (
    "total_tokens = input_tokens + output_tokens; the modalities of input_token_details sum to at most input_tokens and hold "
    "their cached part, cached_tokens_details to at most cached_tokens; a transcription is charged by its own model"
)
KEYS = keys((marks.REALTIME, "transcriptions"), "openai", "azure")
INPUT, OUTPUT = "input_token_details", "output_token_details"
HEARD = "conversation.item.input_audio_transcription.completed"
_MODELS = ("session.audio.input.transcription.model", "session.input_audio_transcription.model")


def recognises(body: Body) -> bool:
    """A realtime response, an event that carries one, or a usage with `token` details (in the singular)."""
    return marks.shape(body) == marks.REALTIME or body.get("type") == HEARD


def read(body: Body | Sequence[Body], context: Context) -> list[Call]:
    """The calls of one event or of a session's events, in their order.

    Raises UsageContradiction where a call's identity does not hold; the evidence then holds all calls of the session.
    """
    events = _events(body)
    session = [event for event in events if isinstance(event.get("session"), Mapping)]
    spoken = next((found for event in session if (found := text(event, "session.model"))), None)
    heard = next((found for event in session for path in _MODELS if (found := text(event, path))), None)
    charged = [_answer(event, heard if event.get("type") == HEARD else spoken) for event in events if _charges(event)]
    try:
        calls = [_call(given, context) for given in charged]
    except ContradictedCall as contradiction:
        if len(charged) > 1:
            contradiction.usage_body = {"events": [given.evidence for given in charged]}
        raise
    if len(calls) > 1 and context.event_id:
        calls = [replace(call, part=f"response-{place}") for place, call in enumerate(calls, 1)]
    return calls


def _events(body: Body | Sequence[Body]) -> list[Body]:
    inside = body.get("events") if isinstance(body, Mapping) else body
    events = list(inside) if isinstance(inside, list | tuple) else [body]
    for event in events:
        if not isinstance(event, Mapping):
            raise UsageContradiction("not_an_object", f"event is {shown(event)}", {})
    return [event for event in events if isinstance(event, Mapping)]


def _charges(event: Body) -> bool:
    kind = event.get("type")
    return kind in (None, "response.done", HEARD) or isinstance(event.get("usage"), Mapping)


def _answer(event: Body, model: str | None) -> Answer:
    inner = event.get("response")
    whole: dict[str, Any] = dict(inner) if isinstance(inner, Mapping) else dict(event)
    if event.get("type") == HEARD:
        whole = {"id": event.get("item_id"), "type": HEARD, "status": "completed", "usage": event.get("usage")}
        whole["model"] = event.get("model")
    if model and not whole.get("model"):
        whole["model"] = model
    return answer(whole)


def _call(given: Answer, context: Context) -> Call:
    """The context names the model of the session, not the one that wrote down what it heard."""
    heard = given.body.get("type") == HEARD
    surface = "transcriptions" if heard or value_at(given.body, "usage.type") else marks.REALTIME
    named = (text(given.body, "model", given.evidence), None) if heard else None
    return given.call(context, "openai", surface, lambda: _tokens(given), named=named)


def _tokens(given: Answer) -> Tokens:
    usage, evidence, findings = given.usage or {}, given.evidence, list[Finding]()
    if usage.get("type") == "duration":
        raise UsageContradiction("unit_without_class", f"usage.seconds {shown(usage.get('seconds'))}", evidence)
    read, written = count(usage, "input_tokens", evidence), count(usage, "output_tokens", evidence)
    total = ("total_tokens", optional_count(usage, "total_tokens", evidence))
    check_sum(total, {"input_tokens": read, "output_tokens": written}, evidence)
    inputs = details(usage, INPUT, evidence)
    cached = optional_count(inputs, "cached_tokens", evidence) or 0
    split = details(inputs, "cached_tokens_details", evidence) or None
    whole = Input("input_tokens", read, inputs, INPUT, cached, f"{INPUT}.cached_tokens", split)
    counts = input_counts(whole, evidence, findings) | output_counts(
        "output_tokens", written, details(usage, OUTPUT, evidence), OUTPUT, evidence
    )
    return Tokens(NativeUsage(**counts), findings)  # type: ignore[arg-type]
