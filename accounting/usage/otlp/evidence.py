"""What of a span is kept as evidence? Its counts and the short words that decide how they are read; no id, no text of a person."""

from __future__ import annotations

from typing import Any

from accounting.usage.formats.evidence import allow
from accounting.usage.formats.structure import json_object
from accounting.usage.otlp.decode import Span, integer
from accounting.usage.otlp.vocabulary import COUNTED, LANGFUSE_COST, LANGFUSE_USAGE, WORDS


def evidence(span: Span) -> dict[str, Any]:
    """The pruned span, which `span_of` reads again to the same counts and the same time."""
    chosen = {
        key: value if key in WORDS else integer(value)
        for key, value in span.attributes.items()
        if (key in WORDS and isinstance(value, str)) or key.startswith(COUNTED)
    }
    attributes = allow(chosen, WORDS)
    for key in (LANGFUSE_USAGE, LANGFUSE_COST):
        if key in span.attributes:
            attributes[key] = allow(json_object(span.attributes[key]))
    return {"start_ns": span.start_ns, "end_ns": span.end_ns, "error": span.error, "attributes": attributes}
