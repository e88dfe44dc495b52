"""Where does a Langfuse observation state its usage and its cost, and in which of its styles?"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from accounting.usage.formats import openai_chat, openai_responses
from accounting.usage.formats.buckets import usage_of_buckets
from accounting.usage.formats.counts import check_sum, optional_count
from accounting.usage.formats.evidence import shown
from accounting.usage.formats.fields import amount
from accounting.usage.formats.gemini import usage_of_metadata
from accounting.usage.formats.structure import mapping
from accounting.usage.formats.tokens import Tokens
from accounting.usage.native import NativeUsage
from accounting.usage.wire import Body, Context, UsageContradiction

Object = Mapping[str, Any]

PLAIN = {
    "input": ("promptTokens", "input"),
    "output": ("completionTokens", "output"),
    "total": ("totalTokens", "total"),
}
"""The earlier style, two spellings each."""
UNITS = ("CHARACTERS", "MILLISECONDS", "SECONDS", "IMAGES", "REQUESTS")
COLUMNS = {"inputUsage": "input", "outputUsage": "output", "totalUsage": "total"}
"""Columns of an export without usage details; Langfuse writes 0 in all three where it knows nothing."""
DETAILS = ("usageDetails", "usage_details")


def stated_usage(observation: Body) -> tuple[Object, bool]:
    """(usage, whether it is in buckets): the details, else the usage object, else the export's columns; empty where there is none."""
    for key in (*DETAILS, "usage"):
        found = mapping(observation.get(key))
        if found:
            return found, key in DETAILS
    return {name: observation[column] for column, name in COLUMNS.items() if observation.get(column)}, False


def tokens_of(usage: Object, in_buckets: bool, observation: Body, kept: Object) -> Tokens:
    """Counts in whichever style the object is written. Raises UsageContradiction where that style's identity does not hold."""
    tokens = usage_of_details(usage, kept) if in_buckets else _styled(usage, kept) or _plain(usage, kept)
    tokens.reported_cost_usd = _reported(usage, observation, kept)
    return tokens


def usage_of_details(details: Object, kept: Object) -> Tokens:
    """Counts of usage details: an SDK may write a vendor's own object there, else they are buckets."""
    return _styled(details, kept) or usage_of_buckets(details, kept)


def _styled(usage: Object, kept: Object) -> Tokens | None:
    return _openai(usage) or _gemini(usage, kept)


def _openai(usage: Object) -> Tokens | None:
    """An object in OpenAI's style, whatever further keys it holds."""
    if "prompt_tokens" in usage:
        call = openai_chat.read({"usage": usage}, Context())[0]
    elif "input_tokens" in usage and ("total_tokens" in usage or "input_tokens_details" in usage):
        call = openai_responses.read({"usage": usage}, Context())[0]
    else:
        return None
    return None if call.usage is None else Tokens(call.usage, list(call.findings), call.unclassified_tokens)


def _gemini(usage: Object, kept: Object) -> Tokens | None:
    return usage_of_metadata(usage, kept) if "promptTokenCount" in usage else None


def _plain(usage: Object, kept: Object) -> Tokens:
    """Input, output and total: what of the input came from a cache is not said, and so not known."""
    if (unit := usage.get("unit")) not in (None, "TOKENS"):
        raise UsageContradiction("not_tokens", f"usage.unit is {unit if unit in UNITS else shown(unit)}", kept)
    stated = {
        name: tokens
        for name, spellings in PLAIN.items()
        for spelling in spellings
        if (tokens := optional_count(usage, spelling, kept)) is not None
    }
    total, parts = stated.pop("total", None), {name: stated.get(name, 0) for name in ("input", "output")}
    check_sum(("total", total), parts, kept)
    return Tokens(NativeUsage(input_tokens=parts["input"], cache_read_tokens=None, output_tokens=parts["output"]))


def _reported(usage: Object, observation: Body, kept: Object) -> Decimal | None:
    """What the sender says the call cost; an export's own calculation and its 0 for `not provided` are no report."""
    exported = "providedCostDetails" in observation or "calculatedTotalCost" in observation
    details = "providedCostDetails" if exported else "costDetails"
    for body, path in ((observation, f"{details}.total"), (usage, "totalCost"), (usage, "cost")):
        found = amount(body, path, kept)
        if found is not None and (found or not exported):
            return found
    return None
