"""What does a Snowflake Cortex body charge for? The chat shape, but its cached tokens lie beside the prompt and not inside."""

from __future__ import annotations

from collections.abc import Sequence

from accounting.usage.formats import marks
from accounting.usage.formats.answer import keys
from accounting.usage.formats.chat import chat_answer, chat_tokens, stated_cached
from accounting.usage.wire import Body, Call, Context

NAME = "snowflake_cortex"
IDENTITY = (
    "total_tokens = prompt_tokens + prompt_tokens_details.cached_tokens + completion_tokens, "
    "cache writes beside the prompt as well; total input = total_tokens - completion_tokens"
)
KEYS = keys((marks.CHAT,), "snowflake", "snowflake_cortex")


def recognises(body: Body) -> bool:
    """Never: the body is OpenAI's to the last field, so the sender has to name this format or its provider."""
    return False


def read(body: Body | Sequence[Body], context: Context) -> list[Call]:
    """One call. Details that are absent are none. Raises UsageContradiction where the identity does not hold."""
    given = chat_answer(body)
    return [
        given.call(
            context, "snowflake", marks.CHAT, lambda: chat_tokens(given, stated_cached(given), cached_inside=False)
        )
    ]
