"""Which module reads this format, this provider's surface, or a body of unknown origin?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import ModuleType

from accounting.usage.formats import (
    anthropic_messages,
    azure_openai,
    bedrock_converse,
    bedrock_invoke,
    claude_code,
    cohere,
    deepseek,
    gemini,
    groq,
    langfuse,
    litellm,
    mistral,
    openai_batch,
    openai_chat,
    openai_compatible,
    openai_embeddings,
    openai_images,
    openai_realtime,
    openai_responses,
    openinference,
    openrouter,
    otlp_attributes,
    posthog,
    sglang,
    snowflake_cortex,
    vllm,
    xai,
)
from accounting.usage.wire import Body, Context

_COLLECTORS = (litellm, langfuse, posthog, claude_code, openinference, otlp_attributes)
_PROVIDERS = (
    openai_chat,
    openai_responses,
    openai_realtime,
    openai_images,
    openai_embeddings,
    openai_batch,
    azure_openai,
    anthropic_messages,
    gemini,
    bedrock_converse,
    bedrock_invoke,
    mistral,
    deepseek,
    xai,
    groq,
    cohere,
    openrouter,
    openai_compatible,
    vllm,
    sglang,
    snowflake_cortex,
)
MODULES: tuple[ModuleType, ...] = (*_COLLECTORS, *_PROVIDERS)
"""Collectors first: their records hold a provider's body inside."""
FORMATS: Mapping[str, ModuleType] = {module.NAME: module for module in MODULES}
BY_KEY: Mapping[tuple[str, str], ModuleType] = {key: module for module in MODULES for key in module.KEYS}
"""(provider, surface) -> module; no pair has two."""


SHAPES = frozenset({"openai_chat", "openai_responses", "openai_embeddings", "openai_compatible", "anthropic_messages"})
"""Formats that many providers send: there the provider's own rule counts. A provider's own format is read as that."""


def choose(name: str, context: Context) -> ModuleType:
    """The module for a body sent as format `name`. Raises KeyError for an unknown name.

    A body of DeepSeek sent as `openai_chat` is read by DeepSeek's rule, where the context names DeepSeek.
    """
    named = FORMATS[name]
    if name not in SHAPES or not context.provider:
        return named
    surfaces = dict.fromkeys(surface for _, surface in named.KEYS)
    found = (BY_KEY.get((context.provider.lower(), surface)) for surface in surfaces)
    return next((module for module in found if module is not None), named)


def detect(body: Body | Sequence[Body]) -> ModuleType | None:
    """The module whose structure a body has, for a stream that of its last telling event; None: no known format."""
    events = [body] if isinstance(body, Mapping) else [event for event in reversed(body) if isinstance(event, Mapping)]
    return next((module for event in events for module in MODULES if module.recognises(event)), None)
