"""Which call does a LiteLLM log hold? A logging payload or a spend-log row; its prompt count holds the cache for every provider."""

from __future__ import annotations

from typing import Any

from accounting.usage.formats.contradicted import counted
from accounting.usage.formats.counts import allow, optional_count
from accounting.usage.formats.fields import first_text, text
from accounting.usage.formats.litellm_usage import hit, tokens_of, usage_object
from accounting.usage.formats.structure import json_object, moment
from accounting.usage.wire import Body, Call, Context

NAME = "litellm"
IDENTITY = (
    "total_tokens = prompt_tokens + completion_tokens; cache reads + writes <= prompt_tokens; "
    "the same tokens stated twice (payload and usage object, details and top level) agree; "
    "cache_hit: the gateway answered itself and no provider was called"
)
KEYS: tuple[tuple[str, str], ...] = ()
"""Any provider's calls: the envelope says that the rule applies."""
BATCHES = ("retrieve_batch", "aretrieve_batch")
WORDS = (
    "status",
    "call_type",
    "custom_llm_provider",
    "model",
    "cache_hit",
    "service_tier",
    "speed",
    "data_residency",
    "vertex_location",
)
_KEPT = (
    "status",
    "call_type",
    "custom_llm_provider",
    "model",
    "cache_hit",
    "stream",
    "prompt_tokens",
    "completion_tokens",
    "total_tokens",
    "response_cost",
    "spend",
    "saved_cache_cost",
    "cost_breakdown",
)


def recognises(body: Body) -> bool:
    return "call_type" in body and "custom_llm_provider" in body and "prompt_tokens" in body


def read(body: Body | list[Body], context: Context) -> list[Call]:
    return [_call(row, context) for row in split(body)]


def split(body: Body | list[Body]) -> list[Body]:
    """One body a row, so that a contradiction in one costs no other call."""
    return [row for row in (body if isinstance(body, list) else [body]) if isinstance(row, dict)]


def _call(body: Body, context: Context) -> Call:
    metadata, response = json_object(body.get("metadata")), json_object(body.get("response"))
    kept = _evidence(body, metadata, response)
    failed, own_id = body.get("status") == "failure", first_text(body, "litellm_call_id", "request_id", "id")
    response_id = None if failed or hit(body) else first_text(body, "id", "request_id")
    provider = text(body, "custom_llm_provider")
    call = Call(
        usage=None,
        usage_body=kept,
        provider=context.provider or provider or "unknown",
        surface=context.surface or NAME,
        model=_bare(text(body, "model"), provider),
        response_model=text(response, "model"),
        response_id=response_id,
        event_id=None if response_id else own_id,
        service_tier="fast" if usage_object(metadata, response).get("speed") == "fast" else _tier(kept),
        region=first_text(body, "cost_breakdown.vertex_location", "cost_breakdown.data_residency"),
        batch=True if body.get("call_type") in BATCHES else None,
        status="error" if failed else None,
        occurred_at=moment(body, "startTime"),
        first_token_at=moment(body, "completionStartTime") if body.get("stream") is True else None,
        completed_at=moment(body, "endTime"),
        user_id=_user(body, metadata),
        account_id=first_text(metadata, "user_api_key_team_id", "user_api_key_org_id") or first_text(body, "team_id"),
        trace_id=first_text(body, "trace_id", "session_id"),
        tags=_tags(body, metadata),
    )
    used = any(body.get(name) for name in ("prompt_tokens", "completion_tokens", "total_tokens"))
    if body.get("prompt_tokens") is None or (failed and not used):
        return call
    return counted(call, lambda: tokens_of(body, metadata, response, kept))


def _evidence(body: Body, metadata: Body, response: Body) -> dict[str, Any]:
    """The row's counts and costs, and of metadata and response the usage only."""
    estimated = optional_count(metadata, "estimated_input_tokens", {})
    return allow(
        {
            **{key: body[key] for key in _KEPT if key in body},
            "metadata": {"usage_object": usage_object(metadata, response), "estimated_input_tokens": estimated},
            "response": {key: response[key] for key in ("model", "service_tier") if key in response},
        },
        WORDS,
    )


def _tier(kept: Body) -> str | None:
    return first_text(
        kept, "response.service_tier", "metadata.usage_object.service_tier", "cost_breakdown.service_tier"
    )


def _bare(model: str | None, provider: str | None) -> str | None:
    """The model's name without LiteLLM's own `provider/` before it."""
    return model.removeprefix(f"{provider}/") if model and provider else model


def _user(body: Body, metadata: Body) -> str | None:
    """The product's user where the caller named one; else the owner of the key."""
    return (
        text(body, "end_user")
        or first_text(metadata, "user_api_key_end_user_id", "user_api_key_user_id")
        or text(body, "user")
    )


def _tags(body: Body, metadata: Body) -> dict[str, str] | None:
    """Request tags, `key:value` taken apart, and the name of the key."""
    stated = body.get("request_tags")
    listed = json_object(stated, list) if isinstance(stated, str) else stated
    tags = listed if isinstance(listed, list) else []
    pairs = (tag.partition(":") for tag in tags if isinstance(tag, str) and tag)
    named = {key[:256]: value[:1024] for key, _, value in pairs if key}
    if alias := text(metadata, "user_api_key_alias"):
        named["user_api_key_alias"] = alias
    return named or None
