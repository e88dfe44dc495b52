"""How are the counts of a Chat Completions `usage` read, given what its vendor's rule says about cached and reasoning tokens?"""

from __future__ import annotations

from collections.abc import Sequence

from accounting.usage.formats.answer import Answer, answer, details
from accounting.usage.formats.counts import check_sum, count, optional_count
from accounting.usage.formats.tokens import Input, Tokens, input_counts, output_counts
from accounting.usage.native import NativeUsage
from accounting.usage.wire import Body, Finding, UsageContradiction

PROMPT, COMPLETION = "prompt_tokens_details", "completion_tokens_details"
CACHED = f"{PROMPT}.cached_tokens"


def chat_answer(body: Body | Sequence[Body]) -> Answer:
    """One chat completion, streamed or not; some vendors put the usage of a stream elsewhere."""
    return answer(body, usage_at=("usage", "x_groq.usage"))


def stated_cached(given: Answer, absent: int | None = 0) -> int | None:
    """`prompt_tokens_details.cached_tokens`, or `absent` where the body does not state it: 0 where that means none, else None."""
    found = optional_count(given.usage or {}, CACHED, given.evidence)
    return absent if found is None else found


def agreed_cached(given: Answer, other: str) -> tuple[int, str]:
    """Cached tokens that a vendor states as `prompt_tokens_details.cached_tokens` or as `other`, and the field that does; none: 0.

    Raises UsageContradiction `sources_disagree`.
    """
    found = {name: optional_count(given.usage or {}, name, given.evidence) for name in (CACHED, other)}
    stated = {name: number for name, number in found.items() if number is not None}
    if len(set(stated.values())) > 1:
        equation = " <> ".join(f"{name} {number}" for name, number in stated.items())
        raise UsageContradiction("sources_disagree", equation, given.evidence)
    return next(((number, name) for name, number in stated.items()), (0, CACHED))


def chat_tokens(
    given: Answer,
    cached: int | None,
    *,
    cached_name: str = CACHED,
    cached_inside: bool = True,
    reasoning_inside: bool = True,
    total_is_open: bool = False,
) -> Tokens:
    """Counts of one chat completion.

    Args:
        cached: tokens read from the prompt cache, None where unknown. cached_name: the field that says so.
        cached_inside: they are part of `prompt_tokens`; otherwise they, and cache writes, lie beside it.
        reasoning_inside: reasoning is part of `completion_tokens`; otherwise it lies beside it.
        total_is_open: `total_tokens` may hold tokens that no other field states; they are unclassified, with a finding.

    Raises UsageContradiction where the identity of that rule does not hold.
    """
    usage, evidence, findings = given.usage or {}, given.evidence, list[Finding]()
    prompt, completion = count(usage, "prompt_tokens", evidence), count(usage, "completion_tokens", evidence)
    inputs, outputs = details(usage, PROMPT, evidence), details(usage, COMPLETION, evidence)
    beside_input = {} if cached_inside else {cached_name: cached or 0} | _written(given)
    beside_output = {} if reasoning_inside else {f"{COMPLETION}.reasoning_tokens": _reasoning(given)}
    identity = {"prompt_tokens": prompt, **beside_input, "completion_tokens": completion, **beside_output}
    unclassified = 0
    if total_is_open:
        unclassified = _unclassified(given, identity, findings)
    else:
        check_sum(("total_tokens", optional_count(usage, "total_tokens", evidence)), identity, evidence)
    whole = Input("prompt_tokens", prompt + sum(beside_input.values()), inputs, PROMPT, cached, cached_name)
    counts = input_counts(whole, evidence, findings) | output_counts(
        "completion_tokens", completion + sum(beside_output.values()), outputs, COMPLETION, evidence
    )
    return Tokens(NativeUsage(**counts), findings, unclassified)  # type: ignore[arg-type]


def _written(given: Answer) -> dict[str, int]:
    name = f"{PROMPT}.cache_write_tokens"
    written = optional_count(given.usage or {}, name, given.evidence)
    return {name: written} if written else {}


def _reasoning(given: Answer) -> int:
    return optional_count(given.usage or {}, f"{COMPLETION}.reasoning_tokens", given.evidence) or 0


def _unclassified(given: Answer, identity: dict[str, int], findings: list[Finding]) -> int:
    total = optional_count(given.usage or {}, "total_tokens", given.evidence)
    if total is None or total == sum(identity.values()):
        return 0
    parts = " + ".join(f"{name} {number}" for name, number in identity.items())
    equation = f"total_tokens {total} <> {parts} = {sum(identity.values())}"
    if total < sum(identity.values()):
        raise UsageContradiction("tokens_do_not_add_up", equation, given.evidence)
    findings.append(Finding("tokens_do_not_add_up", equation))
    return total - sum(identity.values())
