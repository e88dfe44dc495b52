"""Which call does a Gemini body hold? The prompt includes the cache; thoughts and tool-use prompts stand beside prompt and candidates."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from typing import Any

from accounting.usage.formats.contradicted import counted
from accounting.usage.formats.counts import allow, check_parts, optional_count
from accounting.usage.formats.fields import first_text, merged
from accounting.usage.formats.structure import cached_split, items, mapping, mappings, moment
from accounting.usage.formats.tokens import Tokens
from accounting.usage.native import NativeUsage
from accounting.usage.wire import Body, Call, Context, Finding, UsageContradiction

NAME = "gemini"
IDENTITY = (
    "totalTokenCount = promptTokenCount + candidatesTokenCount + toolUsePromptTokenCount + thoughtsTokenCount, or the same "
    "without the last where candidatesTokenCount holds the thoughts already (earlier APIs); "
    "cachedContentTokenCount <= promptTokenCount; each list of modalities sums to at most its count"
)
SURFACES = ("generate_content", "embed_content", "live", "batch_generate_content")
KEYS = tuple(("google", surface) for surface in SURFACES)
WORDS = ("modelVersion", "modality", "trafficType", "serviceTier", "createTime")
MODALITIES = ("TEXT", "DOCUMENT", "IMAGE", "AUDIO", "VIDEO")
"""In the order in which unstated cached tokens are given out. The pages of a document are billed as images."""

Object = Mapping[str, Any]


def recognises(body: Body) -> bool:
    return _metadata(_response(body)) is not None


def read(body: Body | list[Body], context: Context) -> list[Call]:
    chunks = [_response(chunk) for chunk in (mappings(body) if isinstance(body, list) else [body])]
    response = merged(chunks)
    usage = _camel(_metadata(response) or {})
    kept = allow({**{key: response[key] for key in WORDS if key in response}, "usageMetadata": usage}, WORDS)
    call = Call(
        usage=None,
        usage_body=kept,
        provider=context.provider or "google",
        surface=context.surface or "generate_content",
        model=first_text(response, "modelVersion", "model_version"),
        response_id=first_text(response, "responseId", "response_id"),
        service_tier=first_text(usage, "serviceTier", "trafficType"),
        occurred_at=moment(response, "createTime"),
        batch=None if chunks == [body] or isinstance(body, list) else True,
        findings=_grounding(response),
    )
    if usage.get("promptTokenCount") is not None or usage.get("totalTokenCount") is not None:
        return [counted(call, lambda: usage_of_metadata(usage, kept))]
    return [call]


def _response(body: Body) -> Body:
    """The response itself, also where it stands in a line of a batch's results."""
    inner = mapping(body.get("response"))
    return inner if _metadata(inner) is not None else body


def _metadata(response: Body) -> Object | None:
    found = response.get("usageMetadata", response.get("usage_metadata"))
    return found if isinstance(found, Mapping) else None


def _camel(usage: Object) -> dict[str, Any]:
    """Field names as on the wire; the Python package writes them with underscores."""
    return {
        re.sub(r"_([a-z])", lambda match: match[1].upper(), key): (
            [_camel(item) if isinstance(item, Mapping) else item for item in value]
            if isinstance(value, list)
            else value
        )
        for key, value in usage.items()
        if isinstance(key, str)
    }


def _grounding(response: Body) -> tuple[Finding, ...]:
    """Searches are billed per prompt or per query by the model's generation, and no price list states either."""
    queries = sum(
        len(found)
        for candidate in mappings(response.get("candidates"))
        if isinstance(found := mapping(candidate.get("groundingMetadata")).get("webSearchQueries"), list)
    )
    return (Finding("unpriced_units", f"{queries} search queries of grounding are not priced"),) if queries else ()


def usage_of_metadata(usage: Object, kept: Object) -> Tokens:
    """Counts of one `usageMetadata`. Raises UsageContradiction where an identity does not hold."""

    def stated(name: str) -> int:
        return optional_count(usage, name, kept) or 0

    prompt, cached, tool_use = (stated(f"{name}TokenCount") for name in ("prompt", "cachedContent", "toolUsePrompt"))
    answer = "response" if usage.get("responseTokenCount") is not None else "candidates"
    answered, thoughts = stated(f"{answer}TokenCount"), stated("thoughtsTokenCount")
    check_parts(("promptTokenCount", prompt), {"cachedContentTokenCount": cached}, kept, reason="cached_exceeds_input")
    given = {"promptTokenCount": prompt, f"{answer}TokenCount": answered, "toolUsePromptTokenCount": tool_use}
    output = _output(usage, given, thoughts, kept)
    prompted = _modalities(usage, "promptTokensDetails", ("promptTokenCount", prompt), kept)
    stated_cached = _modalities(usage, "cacheTokensDetails", ("cachedContentTokenCount", cached), kept)
    prompted = prompted or Counter(stated_cached)
    prompted["TEXT"] += prompt - sum(prompted.values())
    for modality, tokens in stated_cached.items():
        inside = {f"cacheTokensDetails {modality}": tokens}
        check_parts((f"promptTokensDetails {modality}", prompted[modality]), inside, kept)
    of_cache, certain = cached_split({name: prompted[name] for name in MODALITIES}, cached, stated_cached)
    findings = []
    if not certain:
        detail = f"cachedContentTokenCount {cached} of {_said(prompted)} taken as {_said(of_cache)}"
        findings.append(Finding("modality_of_cache_unstated", detail))
    tools = _modalities(usage, "toolUsePromptTokensDetails", ("toolUsePromptTokenCount", tool_use), kept)
    fresh = {name: prompted[name] - of_cache[name] + tools[name] for name in MODALITIES}
    made = _modalities(usage, f"{answer}TokensDetails", (f"{answer}TokenCount", answered), kept)
    native = NativeUsage(
        input_tokens=prompt + tool_use,
        cache_read_tokens=cached,
        audio_input_tokens=fresh["AUDIO"],
        image_input_tokens=fresh["IMAGE"] + fresh["DOCUMENT"],
        video_input_tokens=fresh["VIDEO"],
        audio_cache_read_tokens=of_cache["AUDIO"],
        output_tokens=output,
        reasoning_tokens=thoughts,
        audio_output_tokens=made["AUDIO"],
        image_output_tokens=made["IMAGE"],
    )
    return Tokens(native, findings)


def _output(usage: Object, given: Mapping[str, int], thoughts: int, kept: Object) -> int:
    """Candidates and thoughts; the stated total says whether the candidates hold the thoughts already."""
    total, beside = optional_count(usage, "totalTokenCount", kept), sum(given.values()) + thoughts
    answered = next(tokens for name, tokens in given.items() if name.startswith(("candidates", "response")))
    if total in (None, beside):
        return answered + thoughts
    if total == sum(given.values()) and thoughts <= answered:
        return answered
    terms = " + ".join(
        f"{name} {tokens}" for name, tokens in {**given, "thoughtsTokenCount": thoughts}.items() if tokens
    )
    equation = f"totalTokenCount {total} <> {terms} = {beside}, nor without thoughts {beside - thoughts}"
    raise UsageContradiction("tokens_do_not_add_up", equation, kept)


def _modalities(usage: Object, name: str, whole: tuple[str, int], kept: Object) -> Counter[str]:
    """Tokens by modality as a list states them; an absent count is 0, as protobuf leaves zeros out."""
    found: Counter[str] = Counter()
    for item in items(usage, name, kept):
        modality = item.get("modality")
        found[modality if modality in MODALITIES else "TEXT"] += optional_count(item, "tokenCount", kept) or 0
    check_parts(whole, {f"{name} {modality}": tokens for modality, tokens in found.items()}, kept)
    return found


def _said(tokens: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {number}" for name, number in tokens.items() if number)
