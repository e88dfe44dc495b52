"""What does an xAI body charge for? The OpenAI shapes, but in chat reasoning lies beside the completion; and it states its own cost."""

from __future__ import annotations

from collections.abc import Sequence

from accounting.usage.formats import marks
from accounting.usage.formats.answer import Answer, keys
from accounting.usage.formats.chat import chat_answer, chat_tokens, stated_cached
from accounting.usage.formats.fields import amount
from accounting.usage.formats.responses import responses_answer, responses_tokens
from accounting.usage.formats.tokens import Tokens
from accounting.usage.wire import Body, Call, Context

NAME = "xai"
IDENTITY = (
    "chat: total_tokens = prompt_tokens + completion_tokens + completion_tokens_details.reasoning_tokens, "
    "prompt_tokens_details.text_tokens holds the cached tokens; "
    "responses: as openai_responses; 10,000,000,000 cost_in_usd_ticks are one dollar"
)
KEYS = keys((marks.CHAT, marks.RESPONSES), "xai", "x-ai", "x_ai")
TICKS_EXPONENT = 10


def recognises(body: Body) -> bool:
    """A chat completion or a response with the sources, tools or cost ticks that xAI counts."""
    return marks.shape(body) in (marks.CHAT, marks.RESPONSES) and marks.vendor(body) == NAME


def read(body: Body | Sequence[Body], context: Context) -> list[Call]:
    """One call. Raises UsageContradiction where the identity of the shape does not hold."""
    if marks.shape_of(body) == marks.RESPONSES:
        response = responses_answer(body)
        return [response.call(context, NAME, marks.RESPONSES, lambda: _with_cost(response, responses_tokens(response)))]
    chat = chat_answer(body)
    return [chat.call(context, NAME, marks.CHAT, lambda: _with_cost(chat, _chat_tokens(chat)))]


def _chat_tokens(given: Answer) -> Tokens:
    return chat_tokens(given, stated_cached(given), reasoning_inside=False)


def _with_cost(given: Answer, tokens: Tokens) -> Tokens:
    ticks = amount(given.usage or {}, "cost_in_usd_ticks", given.evidence)
    tokens.reported_cost_usd = None if ticks is None else ticks.scaleb(-TICKS_EXPONENT)
    return tokens
