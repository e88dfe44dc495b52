"""Which calls does an OTLP/JSON export request hold, whose spans follow the OpenInference conventions?"""

from __future__ import annotations

from accounting.usage.formats.otlp_attributes import read, speaks_openinference, split
from accounting.usage.wire import Body

__all__ = ["IDENTITY", "KEYS", "NAME", "read", "recognises", "split"]

NAME = "openinference"
IDENTITY = (
    "llm.token_count.total >= prompt + completion (the rest is unclassified); prompt_details.cache_read + cache_write <= prompt, "
    "completion_details.reasoning <= completion"
)
KEYS: tuple[tuple[str, str], ...] = ()
"""Any provider's calls: the envelope says that the rule applies."""


def recognises(body: Body) -> bool:
    return speaks_openinference(body)
