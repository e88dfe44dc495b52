"""What does an OpenAI Responses body charge for? Inclusive input and output, cache writes by lifetime, and each web search."""

from __future__ import annotations

from collections.abc import Sequence

from accounting.usage.formats import marks
from accounting.usage.formats.answer import keys
from accounting.usage.formats.responses import responses_answer, responses_tokens
from accounting.usage.formats.sidecalls import beside_response
from accounting.usage.wire import Body, Call, Context

NAME = "openai_responses"
IDENTITY = (
    "total_tokens = input_tokens + output_tokens; "
    "input_tokens_details.cached_tokens + .cache_write_tokens <= input_tokens; "
    "cache_write_tokens_details.ttl_30m_tokens + .ttl_12h_tokens <= cache_write_tokens; "
    "output_tokens_details.reasoning_tokens <= output_tokens; "
    "web searches are the output items web_search_call whose action is a search, never a count of usage; "
    "tool_usage.image_gen and svg_usage are calls of their own, of the models that drew"
)
KEYS = keys((marks.RESPONSES,), "openai", "openai_codex", "aws", "aws.bedrock", "bedrock")


def recognises(body: Body) -> bool:
    """A response object, or an event that carries one, without another vendor's marks."""
    return marks.shape(body) == marks.RESPONSES and marks.vendor(body) == "openai"


def read(body: Body | Sequence[Body], context: Context) -> list[Call]:
    """The call, and those of the models that drew images for it. Details that are absent are none. Raises UsageContradiction."""
    given = responses_answer(body)
    main = given.call(context, "openai", marks.RESPONSES, lambda: responses_tokens(given))
    return [main, *beside_response(given, context, "openai")]
