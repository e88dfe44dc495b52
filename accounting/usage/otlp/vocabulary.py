"""Which span attributes say what? Every spelling met, the current one first, by what it means here."""

from __future__ import annotations

from collections.abc import Mapping

U = "gen_ai.usage."
GEN_AI: Mapping[str, tuple[str, ...]] = {
    "input": (f"{U}input_tokens", f"{U}prompt_tokens"),
    "output": (f"{U}output_tokens", f"{U}completion_tokens"),
    "cache_read": (
        f"{U}cache_read.input_tokens",
        f"{U}cache_read_input_tokens",
        f"{U}input_tokens.cached",
        f"{U}details.cache_read_tokens",
    ),
    "cache_write": (
        f"{U}cache_write.input_tokens",
        f"{U}cache_creation.input_tokens",
        f"{U}cache_creation_input_tokens",
        f"{U}input_tokens.cache_write",
        f"{U}details.cache_write_tokens",
    ),
    "cache_write_5m": ("anthropic.usage.cache_creation.ephemeral_5m_input_tokens",),
    "cache_write_1h": ("anthropic.usage.cache_creation.ephemeral_1h_input_tokens",),
    "reasoning": (
        f"{U}reasoning.output_tokens",
        f"{U}output_tokens.reasoning",
        f"{U}reasoning_tokens",
        f"{U}details.reasoning_tokens",
    ),
    "audio_input": (f"{U}audio.input_tokens", f"{U}details.input_audio_tokens"),
    "image_input": (f"{U}image.input_tokens",),
    "video_input": (f"{U}video.input_tokens",),
    "text_cache_read": (f"{U}text.cache_read.input_tokens",),
    "audio_cache_read": (f"{U}audio.cache_read.input_tokens", f"{U}details.cache_audio_read_tokens"),
    "image_cache_read": (f"{U}image.cache_read.input_tokens",),
    "audio_output": (f"{U}audio.output_tokens", f"{U}details.output_audio_tokens"),
    "image_output": (f"{U}image.output_tokens",),
}
"""OpenTelemetry's GenAI conventions: the input holds the cache, the output the reasoning; earlier names, Sentry's, pydantic-ai's."""

T = "llm.token_count."
OPENINFERENCE: Mapping[str, tuple[str, ...]] = {
    "input": (f"{T}prompt",),
    "output": (f"{T}completion",),
    "total": (f"{T}total",),
    "cache_read": (f"{T}prompt_details.cache_read", f"{T}prompt_details.cache_input"),
    "cache_write": (f"{T}prompt_details.cache_write",),
    "audio_input": (f"{T}prompt_details.audio",),
    "reasoning": (f"{T}completion_details.reasoning",),
    "audio_output": (f"{T}completion_details.audio",),
}

LANGFUSE_USAGE, LANGFUSE_COST = "langfuse.observation.usage_details", "langfuse.observation.cost_details"
"""JSON texts that Langfuse's own SDK writes."""

NAMES: Mapping[str, tuple[str, ...]] = {
    "provider": ("gen_ai.provider.name", "gen_ai.system", "llm.provider", "llm.system"),
    "model": (
        "gen_ai.request.model",
        "llm.request.model",
        "langfuse.observation.model.name",
        "llm.model_name",
        "embedding.model_name",
    ),
    "response_model": ("gen_ai.response.model", "llm.response.model"),
    "response_id": ("gen_ai.response.id",),
    "operation": ("gen_ai.operation.name",),
    "kind": ("openinference.span.kind", "langfuse.observation.type", "traceloop.span.kind"),
    "step": ("ai.operationId",),
    "service_tier": (
        "openai.response.service_tier",
        "gen_ai.openai.response.service_tier",
        "gen_ai.response.service_tier",
    ),
    "requested_service_tier": (
        "openai.request.service_tier",
        "gen_ai.openai.request.service_tier",
        "gen_ai.request.service_tier",
    ),
    "cost": (f"{U}cost", "gen_ai.usage.total_cost", "llm.cost.total"),
    "user": ("user.id", "enduser.id", "langfuse.user.id"),
    "error": ("error.type",),
    "conversation": ("gen_ai.conversation.id", "session.id"),
    "agent": ("gen_ai.agent.name",),
    "service": ("service.name",),
    "environment": ("deployment.environment.name", "deployment.environment"),
    "first_chunk": ("gen_ai.response.time_to_first_chunk",),
}

AGGREGATED = "gen_ai.aggregated_usage."
COUNTED = (U, T, AGGREGATED, "llm.cost.", "anthropic.usage.")
"""Beginnings of keys whose numbers are evidence, known or not."""

WORDS = frozenset(
    key
    for slot in (
        "provider",
        "model",
        "response_model",
        "operation",
        "kind",
        "step",
        "service_tier",
        "requested_service_tier",
        "error",
    )
    for key in NAMES[slot]
)
"""Keys whose short words are evidence."""

COUNTS = frozenset(key for family in (GEN_AI, OPENINFERENCE) for keys in family.values() for key in keys)
_KEYS = frozenset(key for keys in NAMES.values() for key in keys) | COUNTS


def wanted(key: str) -> bool:
    """Is this attribute of any use? All others are dropped where they are decoded: prompts and answers go no further."""
    return key in _KEYS or key.startswith(COUNTED) or key in (LANGFUSE_USAGE, LANGFUSE_COST)
