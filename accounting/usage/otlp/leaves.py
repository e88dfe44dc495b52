"""Does a span say that it is a single model call, or that it repeats what others say?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from accounting.usage.otlp.vocabulary import AGGREGATED, NAMES

Object = Mapping[str, Any]

LEAVES = frozenset(("chat", "text_completion", "generate_content", "embeddings"))
"""`gen_ai.operation.name` of a single model call."""
NO_LEAVES = frozenset(("invoke_agent", "create_agent", "execute_tool", "invoke_workflow", "retrieval", "plan"))
"""Those of what is no model call; any other name says neither."""
LEAF_KINDS = frozenset(("LLM", "EMBEDDING", "GENERATION"))
"""Kinds of OpenInference and Langfuse that are single calls; all others (AGENT, CHAIN, TOOL, SPAN, ...) repeat their children."""


def is_leaf(attributes: Object) -> bool | None:
    """Does the span say that it is a single call, or that it is none? None: it does not say."""
    operation, step, kind = (first(attributes, slot) for slot in ("operation", "step", "kind"))
    if operation in LEAVES or operation in NO_LEAVES:
        return operation in LEAVES
    if step is not None:
        return ".do" in step
    return None if kind is None else kind.upper() in LEAF_KINDS


def is_aggregated(attributes: Object) -> bool:
    return any(key.startswith(AGGREGATED) for key in attributes)


def first(attributes: Object, slot: str) -> str | None:
    """The first spelling of a name that is stated as text."""
    for key in NAMES[slot]:
        value = attributes.get(key)
        if value and isinstance(value, str):
            return value
    return None
