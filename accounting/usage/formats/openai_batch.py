"""Which call does one line of an OpenAI batch's output file hold? The response inside it, served as a batch job."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from accounting.usage.formats import marks, openai_chat, openai_embeddings, openai_responses
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
    return [replace(call, batch=True) for call in reader(inner, context)]
