"""What does an OpenAI Chat Completions body charge for? All input with its cached part inside, all output with its reasoning inside."""

from __future__ import annotations

from collections.abc import Sequence

from accounting.usage.formats import marks
from accounting.usage.formats.answer import keys
from accounting.usage.formats.chat import chat_answer, chat_tokens, stated_cached
from accounting.usage.wire import Body, Call, Context

NAME = "openai_chat"
IDENTITY = (
    "total_tokens = prompt_tokens + completion_tokens; "
    "prompt_tokens_details.cached_tokens + .cache_write_tokens <= prompt_tokens, each modality <= prompt_tokens; "
    "completion_tokens_details.reasoning_tokens <= completion_tokens, accepted + rejected predictions <= completion_tokens"
)
KEYS = keys((marks.CHAT,), "openai", "openai_codex")


def recognises(body: Body) -> bool:
    """A chat completion without another vendor's marks."""
    return marks.shape(body) == marks.CHAT and marks.vendor(body) == "openai"


def read(body: Body | Sequence[Body], context: Context) -> list[Call]:
    """One call. Details that are absent are none. Raises UsageContradiction where the identity does not hold."""
    given = chat_answer(body)
    return [given.call(context, "openai", marks.CHAT, lambda: chat_tokens(given, stated_cached(given)))]
