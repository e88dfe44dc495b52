"""What does a Mistral body charge for? The chat shape, its cached tokens inside the prompt under one of two names."""

from __future__ import annotations

from collections.abc import Sequence

from accounting.usage.formats import marks
from accounting.usage.formats.answer import Answer, keys
from accounting.usage.formats.chat import agreed_cached, chat_answer, chat_tokens
from accounting.usage.formats.evidence import shown
from accounting.usage.formats.tokens import Tokens
from accounting.usage.wire import Body, Call, Context, Finding

NAME = "mistral"
IDENTITY = (
    "total_tokens = prompt_tokens + completion_tokens; cached tokens <= prompt_tokens, "
    "stated as prompt_tokens_details.cached_tokens or num_cached_tokens, which agree where both are stated"
)
KEYS = keys((marks.CHAT,), "mistral", "mistral_ai", "mistralai")


def recognises(body: Body) -> bool:
    """A chat completion with Mistral's count of cached tokens or of audio seconds."""
    return marks.shape(body) == marks.CHAT and marks.vendor(body) == NAME


def read(body: Body | Sequence[Body], context: Context) -> list[Call]:
    """One call. Raises UsageContradiction where the identity does not hold or the two cached counts disagree."""
    given = chat_answer(body)
    return [given.call(context, NAME, marks.CHAT, lambda: _tokens(given))]


def _tokens(given: Answer) -> Tokens:
    cached, name = agreed_cached(given, "num_cached_tokens")
    tokens = chat_tokens(given, cached, cached_name=name)
    seconds = (given.usage or {}).get("prompt_audio_seconds")
    if isinstance(seconds, int | float) and seconds > 0:
        tokens.findings.append(Finding("unit_without_class", f"prompt_audio_seconds {shown(seconds)}"))
    return tokens
