"""Which spans are model calls, and what do they say? Leaves are booked; an agent's, a tool's or a carried total never is."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec

from accounting.usage.formats.contradicted import ContradictedCall, check_range
from accounting.usage.formats.evidence import allow
from accounting.usage.formats.fields import amount
from accounting.usage.formats.langfuse import usage_of_buckets
from accounting.usage.native import NativeUsage
from accounting.usage.otlp.counts import counts_of, unclassified, usage_of
from accounting.usage.otlp.decode import Span
from accounting.usage.otlp.vocabulary import (
    AGGREGATED,
    COUNTED,
    GEN_AI,
    LANGFUSE_COST,
    LANGFUSE_USAGE,
    NAMES,
    OPENINFERENCE,
    WORDS,
)
from accounting.usage.wire import Call, Context, Finding, Status, UsageContradiction
