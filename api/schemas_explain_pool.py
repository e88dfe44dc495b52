"""Which shapes does the derivation of a self-hosted cost have? Money is a plain decimal string, seconds are numbers; unknown is null."""

from __future__ import annotations

from pydantic import Field

from api.schemas import Answer, Money


class ExplainedBill(Answer):
    """What became of the bill of the pool's hour: bill = direct + gap + idle; underfill is a part of direct."""

    bill: Money | None
    direct: Money | None
    gap: Money | None
    idle: Money | None
    underfill: Money | None = Field(description="null without a best batch")
    variance: Money | None = Field(
        description="of the gap, measured less standard time of recorded steps; null without a step ledger"
    )
    utilisation: float | None
    calibration: float | None = Field(description="time in flight over predicted time; below 1 the curve over-predicts")
    best_batch: int | None = Field(
        description="R*: the best measured batch that holds the pool's targets", examples=[64]
    )
    requests: int
    settlement: int = Field(description="how often the hour was settled", examples=[1])
    replica_seconds: float = Field(examples=[3600.0])
    in_flight_seconds: float


class ExplainedPoolHour(Answer):
    """What one hour of a pool charged the event: its seconds, then its part of the bill in each basis."""

    pool_id: str = Field(examples=["chat-h200"])
    hour: str = Field(examples=["2026-10-01T10:00Z"])
    status: str = Field(examples=["priced"])
    reason: str | None = Field(description="why it carries no share", examples=["cached_tokens_unknown"])
    curve_id: str | None
    policy: str | None = Field(examples=["switch"])
    quality: str | None = Field(description="exact, measured or estimated", examples=["measured"])
    prefix_policy: str | None = Field(
        description="who pays a shared prefix; amortised only where a step ledger names its blocks",
        examples=["first_pays"],
    )
    billing_currency: str = Field(examples=["USD"])
    direct_cost: Money | None
    gap_cost: Money | None
    attributed_cost: Money | None = Field(description="direct and gap: the effective cost")
    idle_cost: Money | None
    fully_loaded_cost: Money | None
    share_seconds: float | None
    own_prefill_seconds: float | None
    own_decode_seconds: float | None
    shared_seconds: float | None
    expert_seconds: float | None
    prefill_seconds: float | None
    decode_seconds: float | None
    underfill_seconds: float | None
    steps: float | None
    mean_batch: float | None
    kv_share: float | None = Field(description="mean part of the cache's tokens that it held")
    beyond_measured_range: bool | None
    pool_hour: ExplainedBill | None


class Estimate(Answer):
    """What a waiting event would cost in a full batch, at the price of the pool's newest bill; in no total."""

    cost: Money
    billing_currency: str = Field(examples=["USD"])
    curve_id: str
