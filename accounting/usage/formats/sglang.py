"""What did an SGLang server compute? The chat shape with reasoning at the top of usage; cache reads it does not state are unknown."""

from __future__ import annotations

from collections.abc import Sequence

from accounting.usage.formats import marks
from accounting.usage.formats.answer import Answer, keys
from accounting.usage.formats.chat import chat_answer, chat_tokens, stated_cached
from accounting.usage.formats.counts import check_parts, optional_count
from accounting.usage.formats.tokens import Tokens
from accounting.usage.wire import Body, Call, Context

NAME = "sglang"
IDENTITY = (
    "total_tokens = prompt_tokens + completion_tokens; prompt_tokens_details.cached_tokens <= prompt_tokens, sent only with "
    "--enable-cache-report and only above 0, so an absent count is unknown and not 0; reasoning_tokens <= completion_tokens"
)
KEYS = keys((marks.CHAT,), "sglang")


def recognises(body: Body) -> bool:
    """A chat completion whose choices say what stopped them, as SGLang alone does."""
    return marks.shape(body) == marks.CHAT and marks.vendor(body) == NAME


def read(body: Body | Sequence[Body], context: Context) -> list[Call]:
    """One call. Raises UsageContradiction where the identity does not hold."""
    given = chat_answer(body)
    return [given.call(context, NAME, marks.CHAT, lambda: _tokens(given))]


def _tokens(given: Answer) -> Tokens:
    tokens = chat_tokens(given, stated_cached(given, absent=None))
    reasoning = optional_count(given.usage or {}, "reasoning_tokens", given.evidence)
    if reasoning is not None:
        output = ("completion_tokens", tokens.usage.output_tokens)
        check_parts(output, {"reasoning_tokens": reasoning}, given.evidence)
        tokens.usage.reasoning_tokens = reasoning
    return tokens
