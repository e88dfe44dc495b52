"""What does a chat body of another vendor with OpenAI's shape charge for? OpenAI's rule, with each vendor's one departure from it."""

from __future__ import annotations

from collections.abc import Sequence

from accounting.usage.formats import marks
from accounting.usage.formats.answer import Answer, keys
from accounting.usage.formats.chat import agreed_cached, chat_answer, chat_tokens
from accounting.usage.formats.tokens import Tokens
from accounting.usage.wire import Body, Call, Context

NAME = "openai_compatible"
IDENTITY = (
    "total_tokens = prompt_tokens + completion_tokens; cached tokens <= prompt_tokens, stated as "
    "prompt_tokens_details.cached_tokens or cached_tokens, which agree where both are stated; "
    "google: total_tokens also holds thinking that no field states, which is unclassified"
)
TOTAL_IS_OPEN = frozenset({"google", "gemini", "gcp.gemini", "gcp.vertex_ai", "vertex_ai"})
"""Google's OpenAI endpoint leaves thinking out of `completion_tokens` and keeps it in `total_tokens`."""

KEYS = keys(
    (marks.CHAT,),
    NAME,
    *sorted(TOTAL_IS_OPEN),
    *("anthropic", "aws", "baseten", "cerebras", "cohere", "databricks", "deepinfra", "fireworks", "heroku"),
    *("huggingface", "hyperbolic", "minimax", "moonshot", "moonshotai", "nebius", "novita", "nvidia", "perplexity"),
    *("sambanova", "together", "together_ai", "vercel", "zai", "z-ai", "zhipuai"),
)


def recognises(body: Body) -> bool:
    """A chat completion that counts cached tokens at the top of its usage."""
    return marks.shape(body) == marks.CHAT and marks.vendor(body) == NAME


def read(body: Body | Sequence[Body], context: Context) -> list[Call]:
    """One call. Details that are absent are none. Raises UsageContradiction where the identity does not hold."""
    given = chat_answer(body)
    return [given.call(context, NAME, marks.CHAT, lambda: _tokens(given, context.provider in TOTAL_IS_OPEN))]


def _tokens(given: Answer, total_is_open: bool) -> Tokens:
    cached, name = agreed_cached(given, "cached_tokens")
    return chat_tokens(given, cached, cached_name=name, total_is_open=total_is_open)
