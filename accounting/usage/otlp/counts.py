"""What does one span say it used? Inclusive counts of any spelling become a native usage, or a contradiction with its equation."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from accounting.usage.formats.counts import LIMIT, check_parts, optional_count
from accounting.usage.formats.fields import amount
from accounting.usage.formats.langfuse_usage import usage_of_details
from accounting.usage.formats.structure import cached_split, json_object
from accounting.usage.formats.tokens import Tokens
from accounting.usage.native import NativeUsage
from accounting.usage.otlp.vocabulary import GEN_AI, LANGFUSE_COST, LANGFUSE_USAGE, NAMES, OPENINFERENCE
from accounting.usage.wire import Finding, UsageContradiction

Object = Mapping[str, Any]

MODAL = ("audio_input", "image_input", "video_input", "audio_cache_read", "image_cache_read", "text_cache_read")


def tokens_of(attributes: Object, kept: Object) -> Tokens:
    """Counts of one span: OpenTelemetry's names where it has any, else OpenInference's, else Langfuse's.

    Raises UsageContradiction: `sources_disagree`, `cached_exceeds_input`, `part_exceeds_whole`, `tokens_do_not_add_up`,
    and those of a count or an amount.
    """
    findings: list[Finding] = []
    if counts := counts_of(attributes, _GEN_AI, kept):
        tokens = Tokens(usage_of(counts, GEN_AI, kept, findings), findings)
    elif counts := counts_of(attributes, _OPENINFERENCE, kept):
        tokens = Tokens(
            usage_of(counts, OPENINFERENCE, kept, findings), findings, _unclassified(counts, kept, findings)
        )
    else:
        tokens = usage_of_details(json_object(attributes.get(LANGFUSE_USAGE)), kept)
    tokens.reported_cost_usd = _reported(attributes, kept)
    return tokens


def _reported(attributes: Object, kept: Object) -> Decimal | None:
    for key in NAMES["cost"]:
        if key in attributes:
            return amount(attributes, key, kept)
    if LANGFUSE_COST in attributes:
        return amount(json_object(attributes[LANGFUSE_COST]), "total", kept)
    return None


def _slots(family: Mapping[str, tuple[str, ...]]) -> dict[str, str]:
    return {key: slot for slot, keys in family.items() for key in keys}


_GEN_AI, _OPENINFERENCE = _slots(GEN_AI), _slots(OPENINFERENCE)


def counts_of(attributes: Object, slots: Mapping[str, str], kept: Object) -> dict[str, int]:
    """The stated counts by slot. Two spellings of one slot must agree."""
    found: dict[str, int] = {}
    for key, value in attributes.items():
        slot = slots.get(key)
        if slot is None:
            continue
        tokens = (
            value if type(value) is int and 0 <= value <= LIMIT else optional_count(attributes, key, kept, text=True)
        )
        if tokens is not None and found.setdefault(slot, tokens) != tokens:
            other = next(name for name in attributes if slots.get(name) == slot and attributes[name] is not None)
            raise UsageContradiction("sources_disagree", f"{other} {found[slot]} <> {key} {tokens}", kept)
    return found


def usage_of(
    counts: Mapping[str, int], family: Mapping[str, tuple[str, ...]], kept: Object, findings: list[Finding]
) -> NativeUsage:
    """Native usage of inclusive counts; a count that is absent is 0, as the conventions leave zeros out.

    Raises UsageContradiction: `cached_exceeds_input`, `part_exceeds_whole`.
    """
    get = counts.get
    total, output, reasoning = get("input", 0), get("output", 0), get("reasoning", 0)
    cached, five, hour = get("cache_read", 0), get("cache_write_5m", 0), get("cache_write_1h", 0)
    written = get("cache_write", five + hour)
    if cached + written > total:
        parts = {family["cache_read"][0]: cached, family["cache_write"][0]: written}
        stated = {name: tokens for name, tokens in parts.items() if tokens}
        check_parts((family["input"][0], total), stated, kept, reason="cached_exceeds_input")
    if five + hour > written:
        lifetimes = {family[slot][0]: counts[slot] for slot in ("cache_write_5m", "cache_write_1h") if slot in counts}
        check_parts((family["cache_write"][0], written), lifetimes, kept)
    made = get("audio_output", 0) + get("image_output", 0)
    if reasoning > output or made > output:
        slots = ("reasoning",) if reasoning > output else ("audio_output", "image_output")
        check_parts(
            (family["output"][0], output), {family[slot][0]: get(slot, 0) for slot in slots if slot in family}, kept
        )
    usage = NativeUsage(
        input_tokens=total,
        cache_read_tokens=cached,
        cache_write_5m_tokens=five,
        cache_write_1h_tokens=hour,
        cache_write_tokens=written - five - hour,
        output_tokens=output,
        reasoning_tokens=reasoning,
        audio_output_tokens=get("audio_output", 0),
        image_output_tokens=get("image_output", 0),
    )
    if not counts.keys().isdisjoint(MODAL):
        _modalities(usage, counts, family, kept, findings)
    return usage


def _modalities(
    usage: NativeUsage,
    counts: Mapping[str, int],
    family: Mapping[str, tuple[str, ...]],
    kept: Object,
    findings: list[Finding],
) -> None:
    """Splits the modalities into cached and fresh; like the input itself they hold their cached part."""
    modal = {name: counts.get(f"{name}_input", 0) for name in ("image", "audio", "video")}
    beside = usage.input_tokens - usage.cache_write_tokens - usage.cache_write_5m_tokens - usage.cache_write_1h_tokens
    parts = {family[f"{name}_input"][0]: tokens for name, tokens in modal.items() if tokens}
    check_parts((f"{family['input'][0]} without cache writes", beside), parts, kept)
    stated = {name: counts.get(f"{name}_cache_read", 0) for name in ("text", "image", "audio")}
    cached = usage.cache_read_tokens or 0
    whole = {"text": beside - sum(modal.values()), **modal}
    for name, tokens in stated.items():
        check_parts((f"{name} input", whole[name]), {f"{name} cache_read": tokens}, kept)
    check_parts(("cache_read", cached), {f"{name} cache_read": tokens for name, tokens in stated.items()}, kept)
    split, certain = cached_split(whole, cached, stated)
    if not certain:
        detail = f"cache_read {cached} of {whole} taken as {split}"
        findings.append(Finding("modality_of_cache_unstated", detail))
    usage.audio_input_tokens = modal["audio"] - split["audio"]
    usage.image_input_tokens = modal["image"] - split["image"]
    usage.video_input_tokens = modal["video"] - split["video"]
    usage.audio_cache_read_tokens = split["audio"]


def _unclassified(counts: Mapping[str, int], kept: Object, findings: list[Finding]) -> int:
    """Tokens of a stated total that are in neither prompt nor completion; a total below their sum is a contradiction."""
    total, prompt, completion = counts.get("total"), counts.get("input", 0), counts.get("output", 0)
    if total is None or total == prompt + completion:
        return 0
    equation = f"llm.token_count.total {total} <> prompt {prompt} + completion {completion} = {prompt + completion}"
    if total < prompt + completion:
        raise UsageContradiction("tokens_do_not_add_up", equation, kept)
    findings.append(Finding("tokens_do_not_add_up", equation))
    return total - prompt - completion
