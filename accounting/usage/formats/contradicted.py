"""Whose counts contradict each other? A contradiction that still knows its call: who, when, which model, under which id."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from accounting.usage.formats.counts import LIMIT
from accounting.usage.formats.tokens import Tokens
from accounting.usage.native import NativeUsage
from accounting.usage.wire import Call, UsageContradiction


class ContradictedCall(UsageContradiction):
    """A contradiction in the counts of one known call.

    Attributes:
        call: the call without its usage; what a body with several calls, or a replay, would otherwise lose.
    """

    def __init__(self, cause: UsageContradiction, call: Call) -> None:
        super().__init__(cause.reason, cause.equation, cause.usage_body or call.usage_body)
        self.call = call


def counted(call: Call, count: Callable[[], Tokens | NativeUsage]) -> Call:
    """The call with its counts. Raises ContradictedCall where counting raises, or where a total is beyond what an event holds."""
    try:
        counts = count()
        tokens = Tokens(counts) if isinstance(counts, NativeUsage) else counts
        check_range(tokens.usage, call)
    except UsageContradiction as contradiction:
        raise ContradictedCall(contradiction, call) from contradiction
    return replace(
        call,
        usage=tokens.usage,
        unclassified_tokens=tokens.unclassified,
        reported_cost_usd=tokens.reported_cost_usd,
        findings=(*call.findings, *tokens.findings),
    )


def check_range(usage: NativeUsage, call: Call) -> None:
    """Raises UsageContradiction `count_out_of_range` where a total exceeds 2,147,483,647; its parts are checked where they are read."""
    for name, total in (("input_tokens", usage.input_tokens), ("output_tokens", usage.output_tokens)):
        if total > LIMIT:
            raise UsageContradiction("count_out_of_range", f"{name} in total {total} > {LIMIT}", call.usage_body)
