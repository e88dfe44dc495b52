"""Which calls does a Langfuse export or ingestion event hold? Generations and embeddings; spans and agents repeat their children."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from accounting.usage.formats.contradicted import counted
from accounting.usage.formats.counts import allow
from accounting.usage.formats.fields import first_text, text
from accounting.usage.formats.langfuse_parts import observation, split
from accounting.usage.formats.langfuse_usage import stated_usage, tokens_of
from accounting.usage.formats.structure import json_object, mapping, mappings, moment
from accounting.usage.wire import Body, Call, Context

__all__ = ["IDENTITY", "KEYS", "NAME", "read", "recognises", "split"]

NAME = "langfuse"
IDENTITY = (
    "usageDetails: buckets exclude each other and total is their sum; keys with a dot are parts of input or output; "
    "usage in OpenAI's or Gemini's style: as openai_chat, openai_responses or gemini; "
    "in Langfuse's earlier style: total = input + output, and the cached part is unknown"
)
KEYS: tuple[tuple[str, str], ...] = ()
"""Any provider's calls: the envelope says that the rule applies."""
LEAVES = ("GENERATION", "EMBEDDING")
OTHERS = ("SPAN", "EVENT", "AGENT", "TOOL", "CHAIN", "RETRIEVER", "EVALUATOR", "GUARDRAIL")
PROVIDERS = ("gen_ai.provider.name", "gen_ai.system", "llm.provider", "llm.system")
"""Attributes of the span that an observation was made from: Langfuse itself states no provider."""
WORDS = ("type", "model", "unit", "level", *PROVIDERS)
_KEPT = (
    "type",
    "model",
    "level",
    "usageDetails",
    "usage_details",
    "usage",
    "inputUsage",
    "outputUsage",
    "totalUsage",
    "providedCostDetails",
    "costDetails",
    "calculatedTotalCost",
)


def recognises(body: Body) -> bool:
    if isinstance(body.get("body"), Mapping) and str(body.get("type")).endswith(("-create", "-update")):
        return True
    if any(recognises(event) for event in mappings(body.get("batch"))) or "observations" in body:
        return True
    return body.get("type") in (*LEAVES, *OTHERS) and ("traceId" in body or "usageDetails" in body)


def read(body: Body | list[Body], context: Context) -> list[Call]:
    calls = (_call(*observation(piece), context) for piece in split(body))
    return [call for call in calls if call is not None]


def _call(given: Body, trace: Body, context: Context) -> Call | None:
    """None for an observation that is no model call and states no usage."""
    leaf, (usage, in_buckets) = given.get("type") in LEAVES, stated_usage(given)
    if not leaf and not usage:
        return None
    attributes = _attributes(given)
    provider = first_text(attributes, *PROVIDERS)
    about = {"metadata": {"attributes": {PROVIDERS[0]: provider}}} if provider else {}
    kept = allow({**{key: given[key] for key in _KEPT if key in given}, **about}, WORDS)
    response_id, trace_id, own_id = _response_id(attributes), text(given, "traceId"), text(given, "id")
    call = Call(
        usage=None,
        usage_body=kept,
        provider=context.provider or provider or "unknown",
        surface=context.surface or NAME,
        model=text(given, "model"),
        response_id=response_id,
        event_id=f"{trace_id}-{own_id}" if own_id and not response_id else None,
        status="error" if given.get("level") == "ERROR" else None,
        occurred_at=moment(given, "startTime"),
        first_token_at=moment(given, "completionStartTime"),
        completed_at=moment(given, "endTime"),
        user_id=text(trace, "userId"),
        trace_id=trace_id,
        tags=_tags(trace),
        aggregate=not leaf,
    )
    return counted(call, lambda: tokens_of(usage, in_buckets, given, kept)) if leaf and usage else call


def _response_id(attributes: Mapping[str, Any]) -> str | None:
    """The provider's id of one response; the id of an assistant's run, which several responses share, is none."""
    found = text(attributes, "gen_ai.response.id")
    return None if found is None or found.startswith("run_") else found


def _attributes(given: Body) -> Mapping[str, Any]:
    """The attributes of the span behind an observation; an export writes its metadata as JSON text."""
    return mapping(json_object(given.get("metadata")).get("attributes"))


def _tags(trace: Body) -> dict[str, str] | None:
    tags = {"session.id": session} if (session := text(trace, "sessionId")) else {}
    stated = trace.get("tags")
    tags |= {tag[:256]: "" for tag in (stated if isinstance(stated, list) else []) if isinstance(tag, str) and tag}
    return tags or None
