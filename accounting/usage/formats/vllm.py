"""What did a vLLM server, or another server one runs oneself, compute? The OpenAI shapes; cache reads it does not state are unknown."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from accounting.usage.formats import marks
from accounting.usage.formats.answer import keys
from accounting.usage.formats.chat import chat_answer, chat_tokens, stated_cached
from accounting.usage.formats.responses import responses_answer, responses_tokens
from accounting.usage.wire import Body, Call, Context

NAME = "vllm"
IDENTITY = (
    "total_tokens = prompt_tokens + completion_tokens; prompt_tokens_details.cached_tokens <= prompt_tokens, "
    "sent only with --enable-prompt-tokens-details and only above 0, so an absent count is unknown and not 0; "
    "responses: as openai_responses, where a cached count of 0 is unknown too, since the server writes 0 for what it does not count"
)
KEYS = keys(
    (marks.CHAT, marks.RESPONSES), "vllm", "hosted_vllm", "self_hosted", "ollama", "llama_cpp", "lm_studio", "tgi"
)


def recognises(body: Body) -> bool:
    """A chat completion with fields that vLLM alone adds to the body."""
    return marks.shape(body) in (marks.CHAT, marks.RESPONSES) and marks.vendor(body) == NAME


def read(body: Body | Sequence[Body], context: Context) -> list[Call]:
    """One call. Raises UsageContradiction where the identity of the shape does not hold."""
    if marks.shape_of(body) == marks.RESPONSES:
        response = responses_answer(body)
        count = partial(responses_tokens, response, zero_cached_is_unknown=True)
        return [response.call(context, NAME, marks.RESPONSES, count)]
    chat = chat_answer(body)
    return [chat.call(context, NAME, marks.CHAT, lambda: chat_tokens(chat, stated_cached(chat, absent=None)))]
