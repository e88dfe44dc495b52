"""How do a total and its stated parts become disjoint counts? Parts are held against the whole; what can't be told apart is said."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from accounting.usage.formats.counts import check_parts, optional_count
from accounting.usage.native import NativeUsage
from accounting.usage.wire import Finding, UsageContradiction

Object = Mapping[str, Any]
Parts = dict[str, int]

MODALITIES = ("audio_tokens", "image_tokens", "video_tokens")


@dataclass
class Tokens:
    """Counts of one call.

    Attributes:
        unclassified: tokens of the stated total that are in no class.
        reported_cost_usd: what the body says the call cost, None where it does not.
    """

    usage: NativeUsage
    findings: list[Finding] = field(default_factory=list)
    unclassified: int = 0
    reported_cost_usd: Decimal | None = None


def stated(counts: Object, names: tuple[str, ...], where: str, evidence: Object) -> Parts:
    """The named counts at `where` that are stated, under their dotted names."""
    found = {f"{where}.{name}": optional_count(counts, name, evidence) for name in names}
    return {name: number for name, number in found.items() if number is not None}


def cache_writes(input_details: Object, where: str, evidence: Object) -> Parts:
    """Cache writes by lifetime, as fields of NativeUsage; what the lifetimes do not cover has none stated."""
    total = stated(input_details, ("cache_write_tokens",), where, evidence)
    written = sum(total.values())
    inner = f"{where}.cache_write_tokens_details"
    lifetimes = {
        name: optional_count(input_details, f"cache_write_tokens_details.{name}", evidence) or 0
        for name in ("ttl_30m_tokens", "ttl_12h_tokens")
    }
    check_parts(
        (f"{where}.cache_write_tokens", written),
        {f"{inner}.{name}": number for name, number in lifetimes.items()},
        evidence,
    )
    return {
        "cache_write_30m_tokens": lifetimes["ttl_30m_tokens"],
        "cache_write_12h_tokens": lifetimes["ttl_12h_tokens"],
        "cache_write_tokens": written - sum(lifetimes.values()),
    }


@dataclass(frozen=True)
class Input:
    """What a body states of its input.

    Attributes:
        total: cache included. name: its field. details, where: the object of its parts and that object's path.
        cached: tokens read from a cache, None where unknown. cached_name: the field that says so.
        cached_by_modality: how the cached tokens divide, None where the body does not say.
    """

    name: str
    total: int
    details: Object
    where: str
    cached: int | None
    cached_name: str
    cached_by_modality: Object | None = None


def input_counts(given: Input, evidence: Object, findings: list[Finding]) -> dict[str, int | None]:
    """Fields of NativeUsage for the input. Raises UsageContradiction where parts exceed their whole."""
    writes = cache_writes(given.details, given.where, evidence)
    cached = given.cached or 0
    written = {f"{given.where}.cache_write_tokens": sum(writes.values())} if any(writes.values()) else {}
    taken = {given.cached_name: cached, **written}
    check_parts((given.name, given.total), taken, evidence, reason="cached_exceeds_input")
    modal = stated(given.details, MODALITIES, given.where, evidence)
    text = stated(given.details, ("text_tokens",), given.where, evidence)
    check_parts((given.name, given.total), {**text, **modal}, evidence)
    parts = {name: modal.get(f"{given.where}.{name}", 0) for name in MODALITIES}
    uncached_total = given.total - cached - sum(writes.values())
    cached_parts = (
        _cached_as_stated(given, evidence, findings)
        if given.cached_by_modality is not None
        else _cached_at_least(given, parts, uncached_total, evidence, findings)
    )
    for name, number in parts.items():
        inside = {f"{given.where}.cached_tokens_details.{name}": cached_parts[name]}
        check_parts((f"{given.where}.{name}", number), inside, evidence)
    uncached = {name: number - cached_parts[name] for name, number in parts.items()}
    check_parts(
        ("uncached input", uncached_total), {f"uncached {name}": number for name, number in uncached.items()}, evidence
    )
    return {
        "input_tokens": given.total,
        "cache_read_tokens": given.cached,
        **writes,
        "audio_input_tokens": uncached["audio_tokens"],
        "image_input_tokens": uncached["image_tokens"],
        "video_input_tokens": uncached["video_tokens"],
        "audio_cache_read_tokens": cached_parts["audio_tokens"],
    }


def _cached_as_stated(given: Input, evidence: Object, findings: list[Finding]) -> Parts:
    where = f"{given.where}.cached_tokens_details"
    split = given.cached_by_modality or {}
    found = stated(split, ("text_tokens", *MODALITIES), where, evidence)
    check_parts((given.cached_name, given.cached or 0), found, evidence)
    parts = {name: found.get(f"{where}.{name}", 0) for name in MODALITIES}
    for name in ("image_tokens", "video_tokens"):
        if parts[name]:
            findings.append(Finding("cache_read_without_class", f"{where}.{name} {parts[name]} priced as cached text"))
    return parts


def _cached_at_least(given: Input, parts: Parts, uncached: int, evidence: Object, findings: list[Finding]) -> Parts:
    """Cached tokens are text first, as nothing else is stated; only what does not fit into the uncached input must have been cached."""
    none = dict.fromkeys(parts, 0)
    modal = {f"{given.where}.{name}": number for name, number in parts.items() if number}
    if not modal or not given.cached:
        return none
    numbers = f"{given.cached_name} {given.cached}, " + ", ".join(f"{name} {number}" for name, number in modal.items())
    excess = max(0, sum(modal.values()) - uncached)
    if excess and len(modal) > 1:
        raise UsageContradiction("modality_of_cache_unstated", f"{numbers}, uncached {uncached}", evidence)
    findings.append(Finding("modality_of_cache_unstated", f"{numbers}: {excess} taken as cached"))
    return none | {name: excess for name, number in parts.items() if number}


def output_counts(name: str, total: int, details: Object, where: str, evidence: Object) -> dict[str, int | None]:
    """Fields of NativeUsage for the output, reasoning inside it. Raises UsageContradiction where parts exceed their whole."""
    reasoning = stated(details, ("reasoning_tokens",), where, evidence)
    predicted = stated(details, ("accepted_prediction_tokens", "rejected_prediction_tokens"), where, evidence)
    modal = stated(details, ("audio_tokens", "image_tokens"), where, evidence)
    text = stated(details, ("text_tokens",), where, evidence)
    for parts in (reasoning, predicted, {**text, **modal}):
        check_parts((name, total), parts, evidence)
    return {
        "output_tokens": total,
        "reasoning_tokens": sum(reasoning.values()),
        "audio_output_tokens": modal.get(f"{where}.audio_tokens", 0),
        "image_output_tokens": modal.get(f"{where}.image_tokens", 0),
    }
