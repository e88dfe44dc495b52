"""What does a Cohere body charge for? Its billed units; the tokens beside them, and how many were cached, are what the model saw."""

from __future__ import annotations

from collections.abc import Sequence

from accounting.usage.formats.answer import Answer, answer, details
from accounting.usage.formats.counts import check_parts, optional_count, value_at
from accounting.usage.formats.evidence import shown
from accounting.usage.formats.tokens import Tokens
from accounting.usage.native import NativeUsage
from accounting.usage.wire import Body, Call, Context, Finding

NAME = "cohere"
IDENTITY = (
    "charged = billed_units: input_tokens + image_tokens in, output_tokens out, none of them at a cache price; "
    "cached_tokens <= tokens.input_tokens; billed searches, images and classifications are units without a class"
)
KEYS = (("cohere", "chat"), ("cohere", "embeddings"))
UNITS = ("search_units", "images", "classifications")


def recognises(body: Body) -> bool:
    """Billed units in `usage` or, from older endpoints, in `meta`."""
    return value_at(body, "usage.billed_units") is not None or value_at(body, "meta.billed_units") is not None


def read(body: Body | Sequence[Body], context: Context) -> list[Call]:
    """One call. Raises UsageContradiction where the identity does not hold."""
    given = answer(body, usage_at=("usage", "delta.usage", "meta"))
    embedded = "meta" in given.body or value_at(given.body, "embeddings") is not None
    return [given.call(context, NAME, "embeddings" if embedded else "chat", lambda: _tokens(given))]


def _tokens(given: Answer) -> Tokens:
    usage, evidence = given.usage or {}, given.evidence
    billed, seen = details(usage, "billed_units", evidence), details(usage, "tokens", evidence)
    read, image, written = (
        optional_count(billed, name, evidence) or 0 for name in ("input_tokens", "image_tokens", "output_tokens")
    )
    prompt, cached = optional_count(seen, "input_tokens", evidence), optional_count(usage, "cached_tokens", evidence)
    if prompt is not None:
        check_parts(("tokens.input_tokens", prompt), {"cached_tokens": cached or 0}, evidence)
    units = {name: billed[name] for name in UNITS if billed.get(name)}
    findings = [Finding("unit_without_class", f"billed_units.{name} {shown(number)}") for name, number in units.items()]
    return Tokens(NativeUsage(input_tokens=read + image, image_input_tokens=image, output_tokens=written), findings)
