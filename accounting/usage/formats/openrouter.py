"""What does an OpenRouter body charge for, and what does it say it cost? Its charge, and with one's own key the vendor's on top."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from decimal import Decimal

import msgspec

from accounting.usage.formats import anthropic_messages, marks
from accounting.usage.formats.answer import Answer, keys
from accounting.usage.formats.chat import chat_answer, chat_tokens, stated_cached
from accounting.usage.formats.counts import optional_count
from accounting.usage.formats.fields import amount
from accounting.usage.formats.responses import responses_answer, responses_tokens
from accounting.usage.formats.tokens import Tokens
from accounting.usage.wire import Body, Call, Context, Finding

NAME = "openrouter"
IDENTITY = (
    "tokens as openai_chat, openai_responses or anthropic_messages, by the shape of the body; "
    "reported cost = cost, which already holds the upstream cost; "
    "only with is_byok is the vendor paid beside it: cost + cost_details.upstream_inference_cost"
)
KEYS = keys((marks.CHAT, marks.RESPONSES, "messages"), "openrouter")
UPSTREAM = "cost_details.upstream_inference_cost"


def recognises(body: Body) -> bool:
    """A chat completion or a response with OpenRouter's cost details or own-key flag."""
    return marks.shape(body) in (marks.CHAT, marks.RESPONSES) and marks.vendor(body) == NAME


def read(body: Body | Sequence[Body], context: Context) -> list[Call]:
    """One call with its reported cost. Raises UsageContradiction where the identity of the shape does not hold."""
    if marks.shape_of(body) == marks.RESPONSES:
        response = responses_answer(body)
        return [response.call(context, NAME, marks.RESPONSES, lambda: _with_cost(response, responses_tokens(response)))]
    if _is_message(body):
        return _message(body, context)
    chat = chat_answer(body)
    return [chat.call(context, NAME, marks.CHAT, lambda: _with_cost(chat, chat_tokens(chat, stated_cached(chat))))]


def _is_message(body: Body | Sequence[Body]) -> bool:
    first = body if isinstance(body, Mapping) else next(iter(body), {})
    return isinstance(first, Mapping) and first.get("type") in ("message", "message_start")


def _message(body: Body | Sequence[Body], context: Context) -> list[Call]:
    """Anthropic's shape, as OpenRouter serves it under /messages; its cost stands in the same usage."""
    sent = body if isinstance(body, Mapping) else list(body)
    main, *others = anthropic_messages.read(sent, msgspec.structs.replace(context, provider=context.provider or NAME))
    cost, findings = reported_cost(main.usage_body.get("usage") or {}, main.usage_body)
    return [replace(main, reported_cost_usd=cost, findings=(*main.findings, *findings)), *others]


def _with_cost(given: Answer, tokens: Tokens) -> Tokens:
    searches = optional_count(given.usage or {}, "server_tool_use.web_search_requests", given.evidence)
    tokens.usage.web_search_requests += searches or 0
    tokens.reported_cost_usd, findings = reported_cost(given.usage or {}, given.evidence)
    tokens.findings.extend(findings)
    return tokens


def reported_cost(usage: Body, evidence: Body) -> tuple[Decimal | None, list[Finding]]:
    """What the call cost by OpenRouter's own account; None where it does not say, or says only its own part of it."""
    charged, upstream = amount(usage, "cost", evidence), amount(usage, UPSTREAM, evidence)
    if charged is None or usage.get("is_byok") is not True:
        return charged, []
    if upstream is None:
        return None, [Finding("reported_cost_incomplete", f"is_byok true, cost {charged:f}, {UPSTREAM} absent")]
    return charged + upstream, []
