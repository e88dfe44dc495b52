"""What is a native usage event, and how does a body of them become checked columns?

The canonical form of an event, by which a repeated one is told from a conflicting one: the received event as JSON with sorted
keys, absent fields and default values left out (so absent = null = the default, and absent counts = 0), times in UTC, numbers
in their shortest form. `usage.cache_read_tokens: null` means unknown and differs from 0.
"""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import ROUND_HALF_EVEN, Decimal
from decimal import Context as DecimalContext
from typing import Annotated, Literal

import msgspec

Text = Annotated[str, msgspec.Meta(min_length=1, max_length=256)]
Count = Annotated[int, msgspec.Meta(ge=0, le=2_147_483_647)]
Milliseconds = Annotated[float, msgspec.Meta(ge=0)]
Moment = Annotated[datetime, msgspec.Meta(tz=True)]
Tags = Annotated[dict[Text, Annotated[str, msgspec.Meta(max_length=1024)]], msgspec.Meta(max_length=64)]

Status = Literal["ok", "error", "timeout", "cancelled"]
Purpose = Literal["production", "free", "trial", "eval", "internal", "training"]


class NativeUsage(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True, gc=False):
    """Token counts and units of one call; integers from 0 to 2,147,483,647.

    Attributes:
        input_tokens: total input, cache reads and writes included.
        cache_read_tokens: part of input; None means unknown, which leaves the event unpriced.
        cache_write_tokens: writes whose lifetime the wire does not state; the other writes name it.
        output_tokens: total output, reasoning included.
        reasoning_tokens: part of output, a memo.
        audio_input_tokens, image_input_tokens, video_input_tokens: parts of the uncached input.
        audio_cache_read_tokens: part of the cache reads.
        audio_output_tokens, image_output_tokens: parts of the output.
        web_search_requests, web_fetch_requests: counted calls of server tools.
    """

    input_tokens: Count = 0
    cache_read_tokens: Count | None = 0
    cache_write_5m_tokens: Count = 0
    cache_write_1h_tokens: Count = 0
    cache_write_30m_tokens: Count = 0
    cache_write_12h_tokens: Count = 0
    cache_write_tokens: Count = 0
    output_tokens: Count = 0
    reasoning_tokens: Count = 0
    audio_input_tokens: Count = 0
    audio_cache_read_tokens: Count = 0
    audio_output_tokens: Count = 0
    image_input_tokens: Count = 0
    image_output_tokens: Count = 0
    video_input_tokens: Count = 0
    web_search_requests: Count = 0
    web_fetch_requests: Count = 0


class NativeEvent(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True, kw_only=True, gc=False):
    """One model call as logged.

    Attributes:
        event_id: idempotency key within the tenant.
        occurred_at: start of the request; decides the price. RFC 3339 with a time zone.
        provider, surface, model, response_model: who served what through which interface; response_model is priced where given.
        deployment, replica: a self-hosted pool and its scheduler; prefill_* where that phase ran elsewhere.
        queue_ms: milliseconds waited before prefill. accepted_steps, preemptions: of a self-hosted engine.
        service_tier: as served; requested_service_tier: as asked for. batch: through a batch interface.
        reported_cost_usd: what the provider says it charged, rounded half-even to 15 decimals, kept beside the calculated cost.
        context_tokens: what the engine held at the first token; None means the total input.
        score: of an eval.
        usage: None where the call reported none (a stream without usage, a failed call): unpriced, never zero.
    """

    event_id: Text
    occurred_at: Moment
    provider: Text
    model: Text
    status: Status
    usage: NativeUsage | None
    response_id: Text | None = None
    retry_of: Text | None = None
    queue_ms: Milliseconds | None = None
    prefill_started_at: Moment | None = None
    first_token_at: Moment | None = None
    completed_at: Moment | None = None
    surface: Text | None = None
    response_model: Text | None = None
    deployment: Text | None = None
    replica: Text | None = None
    prefill_deployment: Text | None = None
    prefill_replica: Text | None = None
    accepted_steps: Count | None = None
    preemptions: Count | None = None
    reasoning_effort: Text | None = None
    score: float | None = None
    region: Text | None = None
    service_tier: Text | None = None
    requested_service_tier: Text | None = None
    reported_cost_usd: Decimal | None = None
    batch: bool = False
    purpose: Purpose = "production"
    account_id: Text | None = None
    user_id: Text | None = None
    feature: Text | None = None
    task_id: Text | None = None
    trace_id: Text | None = None
    tags: Tags | None = None
    context_tokens: Count | None = None


_CANONICAL = msgspec.json.Encoder(order="sorted")


def canonical(event: NativeEvent) -> bytes:
    """The event's canonical JSON (see the module's sentence). The event must have passed `normalise`."""
    return _CANONICAL.encode(event)


def usage_body(event: NativeEvent) -> bytes:
    """The usage part of the body as JSON: what is kept as evidence; `null` where there was none."""
    return _CANONICAL.encode(event.usage)


_REPORTED_LIMIT = Decimal(10) ** 20
_SCALE = Decimal(1).scaleb(-15)
_WIDE = DecimalContext(prec=60)
_TIMES = ("occurred_at", "prefill_started_at", "first_token_at", "completed_at")


def normalise(event: NativeEvent) -> tuple[str, object, str] | None:
    """Brings times to UTC and the reported cost to its shortest form, in place; returns (field, value, reason) of what can't be kept."""
    for name in _TIMES:
        moment = getattr(event, name)
        if moment is not None and moment.tzinfo is not UTC:
            try:
                setattr(event, name, moment.astimezone(UTC))
            except OverflowError:
                return name, moment.isoformat(), "lies beyond the calendar"
    cost = event.reported_cost_usd
    if cost is not None:
        if not cost.is_finite() or cost < 0 or cost >= _REPORTED_LIMIT:
            return "reported_cost_usd", str(cost), "must be a finite amount from 0 to below 10^20"
        # Senders compute in binary floating point: 0.00022500000000000002. Event money has 15 decimals.
        exact = cost.quantize(_SCALE, ROUND_HALF_EVEN, _WIDE).normalize(_WIDE)
        event.reported_cost_usd = Decimal(format(exact, "f"))
    return None
