"""How are the counts of an OpenAI Responses `usage` read, and which of its output items are charged by the piece?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from accounting.usage.formats.answer import WORDS, Answer, answer, details
from accounting.usage.formats.counts import check_sum, count, optional_count
from accounting.usage.formats.evidence import allow, shown
from accounting.usage.formats.tokens import Input, Tokens, input_counts, output_counts
from accounting.usage.native import NativeUsage
from accounting.usage.wire import Body, Finding, UsageContradiction

INPUT, OUTPUT = "input_tokens_details", "output_tokens_details"
CACHED = f"{INPUT}.cached_tokens"
SEARCHES = "web_search_calls"
"""Where the evidence keeps how many searches the output items hold, since it holds no output."""

IMAGE_TOOL = "image_generation"


def responses_answer(body: Body | Sequence[Body]) -> Answer:
    """One response: the object, one event that carries it, or the events of its stream."""
    objects = [_inner(event) for event in ([body] if isinstance(body, Mapping) else body)]
    whole = answer([inner for inner in objects if inner is not None], also=("tool_usage", SEARCHES))
    kept: dict[str, Any] = {"tools": image_tools(whole.body), "output": _drawn(whole.body)}
    searches = _searches(whole.body)
    kept[SEARCHES] = {"num_requests": searches} if searches else None
    return Answer(whole.body, whole.usage, whole.evidence | {key: value for key, value in kept.items() if value})


def _inner(event: Any) -> Body | None:
    if not isinstance(event, Mapping):
        raise UsageContradiction("not_an_object", f"event is {shown(event)}", {})
    kind = event.get("type")
    if not isinstance(kind, str) or not kind.startswith("response."):
        return event
    response = event.get("response")
    return response if isinstance(response, Mapping) else None


def _searches(body: Body) -> int:
    """Searches among the output items; opening a page and finding in it are steps of a search that cost nothing of their own."""
    if not isinstance(body.get("output"), list):
        return optional_count(body, f"{SEARCHES}.num_requests") or 0
    actions = [item.get("action") for item in output_items(body, "web_search_call")]
    return sum(not isinstance(action, Mapping) or action.get("type", "search") == "search" for action in actions)


def output_items(body: Body, kind: str) -> list[Mapping[str, Any]]:
    """The output items of one type."""
    output = body.get("output")
    items = output if isinstance(output, list) else []
    return [item for item in items if isinstance(item, Mapping) and item.get("type") == kind]


def image_tools(body: Body) -> list[dict[str, Any]]:
    """The image generation tools that a response says it was given, by model alone."""
    tools = body.get("tools")
    given = [tool for tool in (tools if isinstance(tools, list) else []) if isinstance(tool, Mapping)]
    images = ({"type": IMAGE_TOOL, "model": tool.get("model")} for tool in given if tool.get("type") == IMAGE_TOOL)
    return list(allow({"tools": list(images)}, WORDS)["tools"])


def _drawn(body: Body) -> list[dict[str, Any]]:
    items = (item for item in output_items(body, f"{IMAGE_TOOL}_call") if isinstance(item.get("svg_usage"), Mapping))
    return [{"type": f"{IMAGE_TOOL}_call", "svg_usage": allow(item["svg_usage"], WORDS)} for item in items]


def responses_tokens(given: Answer, *, zero_cached_is_unknown: bool = False) -> Tokens:
    """Counts of one response. Details that are absent are none. Raises UsageContradiction where the identity does not hold."""
    usage, evidence, findings = given.usage or {}, given.evidence, list[Finding]()
    read, written = count(usage, "input_tokens", evidence), count(usage, "output_tokens", evidence)
    total = ("total_tokens", optional_count(usage, "total_tokens", evidence))
    check_sum(total, {"input_tokens": read, "output_tokens": written}, evidence)
    cached: int | None = optional_count(usage, CACHED, evidence) or 0
    if not cached and zero_cached_is_unknown:
        cached = None
    whole = Input("input_tokens", read, details(usage, INPUT, evidence), INPUT, cached, CACHED)
    counts = input_counts(whole, evidence, findings) | output_counts(
        "output_tokens", written, details(usage, OUTPUT, evidence), OUTPUT, evidence
    )
    searches = _searches(given.body)
    billable = optional_count(given.body, "tool_usage.web_search.num_requests", evidence)
    if billable not in (None, searches):
        detail = f"{searches} searches among the output items <> tool_usage.web_search.num_requests {billable}"
        findings.append(Finding("sources_disagree", detail))
    return Tokens(NativeUsage(**counts, web_search_requests=searches), findings)  # type: ignore[arg-type]
