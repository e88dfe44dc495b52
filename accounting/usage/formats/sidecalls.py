"""Which further models worked on a response of the OpenAI family? Image generation inside a response, drawings in text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from accounting.usage.formats.answer import Answer, details
from accounting.usage.formats.counts import check_parts, check_sum, count, optional_count
from accounting.usage.formats.responses import IMAGE_TOOL, image_tools, output_items
from accounting.usage.formats.tokens import Input, Tokens, input_counts, stated
from accounting.usage.native import NativeUsage
from accounting.usage.wire import Call, Context, Finding

INPUT, OUTPUT = "input_tokens_details", "output_tokens_details"
_DIVIDED = ("text_tokens", "image_tokens")


def beside_response(given: Answer, context: Context, provider: str) -> Iterator[Call]:
    """Calls that a response holds beside its own usage: `image_generation`, and `svg-N` for each drawing."""
    yield from image_generation(given, context, provider)
    for place, item in enumerate(output_items(given.body, f"{IMAGE_TOOL}_call"), 1):
        yield from svg(item, given, context, provider, f"svg-{place}")


def image_generation(given: Answer, context: Context, provider: str) -> Iterator[Call]:
    """What the image tool of a response used, under the tool's own model; nothing where it was not used.

    The body sums the tool's calls. Its cached count is unknown where it is absent.
    """
    used = details(given.body, "tool_usage.image_gen", given.evidence)
    if not used.get("total_tokens") and not used.get("output_tokens") and not used.get("input_tokens"):
        return
    models = {tool.get("model") for tool in image_tools(given.body)}
    model = models.pop() if len(models) == 1 else None
    aside = Answer({**given.body, "model": model}, used, given.evidence)
    yield aside.call(
        context, provider, "images", lambda: image_tokens(aside, None), named=(model, None), part="image_generation"
    )


def svg(body: Mapping[str, Any], given: Answer, context: Context, provider: str, part: str) -> Iterator[Call]:
    """What drawing in text used, which names its own model; nothing where the body states none."""
    used = details(body, "svg_usage", given.evidence)
    if used:
        aside = Answer({**given.body, "model": used.get("model")}, used, given.evidence)
        named = (used.get("model"), None)
        yield aside.call(context, provider, "images", lambda: _svg_tokens(aside), named=named, part=part)


def image_tokens(given: Answer, cached_absent: int | None = 0) -> Tokens:
    """Counts of image generation: output is image where the body does not divide it. Raises UsageContradiction."""
    usage, evidence, findings = given.usage or {}, given.evidence, list[Finding]()
    read, written = _total(given)
    inputs, outputs = details(usage, INPUT, evidence), details(usage, OUTPUT, evidence)
    for name, whole, parts, where in (
        ("input_tokens", read, inputs, INPUT),
        ("output_tokens", written, outputs, OUTPUT),
    ):
        divided = stated(parts, _DIVIDED, where, evidence)
        check_sum((name, whole if len(divided) == len(_DIVIDED) else None), divided, evidence)
    cached = optional_count(usage, "cached_tokens", evidence)
    split = details(usage, "cached_tokens_details", evidence)
    by_modality = {name: split.get(f"cached_{name}") for name in _DIVIDED} if split else None
    cached = cached_absent if cached is None else cached
    counts = input_counts(
        Input("input_tokens", read, inputs, INPUT, cached, "cached_tokens", by_modality), evidence, findings
    )
    image = optional_count(outputs, "image_tokens", evidence)
    check_parts(("output_tokens", written), {f"{OUTPUT}.image_tokens": image or 0}, evidence)
    counts |= {"output_tokens": written, "image_output_tokens": written if image is None else image}
    return Tokens(NativeUsage(**counts), findings)  # type: ignore[arg-type]


def _svg_tokens(given: Answer) -> Tokens:
    read, written = _total(given)
    reasoning = optional_count(given.usage or {}, "reasoning_tokens", given.evidence) or 0
    check_parts(("output_tokens", written), {"reasoning_tokens": reasoning}, given.evidence)
    return Tokens(NativeUsage(input_tokens=read, output_tokens=written, reasoning_tokens=reasoning))


def _total(given: Answer) -> tuple[int, int]:
    usage, evidence = given.usage or {}, given.evidence
    read, written = count(usage, "input_tokens", evidence), count(usage, "output_tokens", evidence)
    total = ("total_tokens", optional_count(usage, "total_tokens", evidence))
    check_sum(total, {"input_tokens": read, "output_tokens": written}, evidence)
    return read, written
