"""Which call does one line of an OpenAI batch's output file hold? The response inside it, served as a batch job."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from accounting.usage.formats import marks, openai_chat, openai_embeddings, openai_responses
from accounting.usage.formats.contradicted import ContradictedCall
from accounting.usage.formats.counts import value_at
from accounting.usage.wire import Body, Call, Context, UsageContradiction

NAME = "openai_batch"
IDENTITY = "as openai_chat, openai_responses or openai_embeddings, by the shape of response.body"
KEYS = (("openai", "batch"), ("azure", "batch"))
READERS = {
    marks.RESPONSES: openai_responses.read,
    marks.EMBEDDINGS: openai_embeddings.read,
    marks.CHAT: openai_chat.read,
}


def recognises(body: Body) -> bool:
    """A custom id beside a response with its own body."""
    return "custom_id" in body and isinstance(value_at(body, "response.body"), Mapping)


def read(body: Body | Sequence[Body], context: Context) -> list[Call]:
    """The calls of the response inside. Raises UsageContradiction `unknown_format` where none is inside."""
    inner = value_at(body, "response.body") if isinstance(body, Mapping) else None
    if not isinstance(inner, Mapping):
        raise UsageContradiction("unknown_format", "response.body is absent", {})
    reader = READERS.get(marks.shape(inner) or marks.CHAT, openai_chat.read)
    try:
        calls = reader(inner, context)
    except UsageContradiction as contradiction:
        contradiction.usage_body = _line(contradiction.usage_body)
        if isinstance(contradiction, ContradictedCall):
            contradiction.call = replace(contradiction.call, batch=True)
        raise
    return [replace(call, batch=True, usage_body=_line(call.usage_body)) for call in calls]


def _line(evidence: Mapping[str, Any]) -> dict[str, Any]:
    """Evidence of the response where this rule finds it again."""
    return {"custom_id": "", "response": {"body": evidence}}
