"""What does a format module read from a wire body? Calls in one vocabulary, with their evidence, or a contradiction with its equation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from typing import Any, Literal

import msgspec

from accounting.usage.native import Moment, NativeUsage, Purpose, Status, Tags, Text

Body = Mapping[str, Any]
Totals = Literal["own", "carried"]


class Context(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True, kw_only=True):
    """What the sender knows beside the body; where both state a thing, the context wins on who and when, the body on usage.

    Attributes:
        event_id: idempotency key; None: derived from the body (identity.py).
        occurred_at: start of the request; None: taken from the body where it states one.
        surface: the interface called (`chat_completions`, `responses`, ...), where the format serves several.
        requested_service_tier: as asked for; the tier served is read from the body.
        batch: through a batch interface; None: as the body or else the surface says.
        totals: whose tokens the body counts: `own`, of the call alone; `carried`, a run's total that goes on counting from earlier
            calls or holds other calls' counts, so that it is recognised and never added. None: as the format's rule finds.
    """

    event_id: Text | None = None
    occurred_at: Moment | None = None
    first_token_at: Moment | None = None
    completed_at: Moment | None = None
    provider: Text | None = None
    surface: Text | None = None
    model: Text | None = None
    deployment: Text | None = None
    replica: Text | None = None
    region: Text | None = None
    requested_service_tier: Text | None = None
    batch: bool | None = None
    status: Status | None = None
    purpose: Purpose | None = None
    account_id: Text | None = None
    user_id: Text | None = None
    feature: Text | None = None
    task_id: Text | None = None
    trace_id: Text | None = None
    retry_of: Text | None = None
    tags: Tags | None = None
    reasoning_effort: Text | None = None
    score: float | None = None
    totals: Totals | None = None


@dataclass(frozen=True)
class Finding:
    """Something about a booked call that a person should look at. Attributes: reason: a code; detail: the numbers in words."""

    reason: str
    detail: str


@dataclass(frozen=True, kw_only=True)
class Call:
    """One billable call as a format module reads it.

    Attributes:
        usage: counts in native terms (input total with cache included); None where the body carries no usage at all, which is
            a state of its own and never zero. `cache_read_tokens=None` in it: the body does not say.
        usage_body: the body pruned by allow-list to what the rule reads (usage, model, ids, tier, times, counted tool calls);
            never a prompt, an answer or a tool's argument. Reading it again with the same context gives the same calls, so that
            kept evidence can be normalised anew by a changed rule.
        provider, surface: the key of the rule that read it.
        model: as requested, or as stated where the body has one name only; response_model: as served where both are known.
        part: distinguishes several calls of one body (`compaction-1`); '' for the one call of most bodies.
        service_tier: as served, in the provider's own word. speed `fast` is the tier `fast`.
        aggregate: the counts repeat those of other calls (an agent span, carried totals): recognised, never booked.
        unclassified_tokens: tokens in the stated total that belong to no class; never priced.
    """

    usage: NativeUsage | None
    usage_body: Mapping[str, Any]
    provider: str
    surface: str
    model: str | None
    response_model: str | None = None
    response_id: str | None = None
    part: str = ""
    service_tier: str | None = None
    requested_service_tier: str | None = None
    region: str | None = None
    batch: bool | None = None
    status: Status | None = None
    occurred_at: datetime | None = None
    first_token_at: datetime | None = None
    completed_at: datetime | None = None
    user_id: str | None = None
    account_id: str | None = None
    feature: str | None = None
    task_id: str | None = None
    trace_id: str | None = None
    tags: Mapping[str, str] | None = None
    reasoning_effort: str | None = None
    event_id: str | None = None
    reported_cost_usd: Decimal | None = None
    aggregate: bool = False
    unclassified_tokens: int = 0
    findings: tuple[Finding, ...] = field(default=())


class UsageContradiction(Exception):
    """A body whose numbers can't all be true.

    Attributes:
        reason: a code (`negative_count`, `identity_broken`, `part_exceeds_whole`, `not_a_count`, `unknown_format`, ...).
        equation: the numbers, e.g. `total_tokens 2306 <> prompt_tokens 2006 + completion_tokens 301 = 2307`.
        usage_body: the usage part of the body, by allow-list.
    """

    def __init__(self, reason: str, equation: str, usage_body: Mapping[str, Any]) -> None:
        self.reason = reason
        self.equation = equation
        self.usage_body = usage_body
        super().__init__(f"{reason}: {equation}")


@dataclass(frozen=True)
class Suspended:
    """A body, or a call of it, that contradicts itself: kept with its reason, booked nowhere until it is replayed.

    Attributes:
        index: position of the body in what was sent.
        event_id: the call's id as far as it could be told; derived from the evidence otherwise.
        reason, detail: a code and the equation that failed.
        wire_format, context, usage_body: what a replay reads again; JSON texts.
        occurred_at: of the call, None where nothing says it.
    """

    index: int
    event_id: str
    reason: str
    detail: str
    wire_format: str
    context: str
    usage_body: str
    occurred_at: datetime | None = None

    def to_json(self) -> dict[str, object]:
        return {name: getattr(self, name) for name in ("index", "event_id", "reason", "detail")}
