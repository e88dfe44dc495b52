"""What does a Groq body charge for? The chat shape; a stream carries its usage in `x_groq`, and the times beside it are no counts."""

from __future__ import annotations

from collections.abc import Sequence

from accounting.usage.formats import marks
from accounting.usage.formats.answer import keys
from accounting.usage.formats.chat import chat_answer, chat_tokens, stated_cached
from accounting.usage.wire import Body, Call, Context

NAME = "groq"
IDENTITY = (
    "total_tokens = prompt_tokens + completion_tokens; prompt_tokens_details.cached_tokens <= prompt_tokens; "
    "completion_tokens_details.reasoning_tokens <= completion_tokens; queue, prompt, completion and total time are seconds"
)
KEYS = keys((marks.CHAT,), "groq")


def recognises(body: Body) -> bool:
    """A chat completion with Groq's times in its usage, or its own envelope in a stream."""
    return marks.shape(body) == marks.CHAT and marks.vendor(body) == NAME


def read(body: Body | Sequence[Body], context: Context) -> list[Call]:
    """One call. Details that are absent are none. Raises UsageContradiction where the identity does not hold."""
    given = chat_answer(body)
    return [given.call(context, NAME, marks.CHAT, lambda: chat_tokens(given, stated_cached(given)))]
