"""How do questions about a pool on other terms look over HTTP, and their answers?"""

from __future__ import annotations

from decimal import Decimal
from typing import Annotated

from pydantic import Field

from api.schemas import Answer

Text = Annotated[str, Field(max_length=64, pattern=r"^[^\x00]*$")]
Name = Annotated[str, Field(min_length=1, max_length=256, pattern=r"^[^\x00]*$")]
Share = Annotated[Decimal, Field(ge=0, le=1, max_digits=20, examples=["0.6"])]
Factor = Annotated[Decimal, Field(gt=0, le=1_000_000, max_digits=30)]


class WhatIfParameters(Answer):
    """A pool, a period whose charged requests are meant, and what is to change."""

    pool_id: Name = Field(examples=["chat"])
    start: Text = Field(alias="from", examples=["2026-10-01"])
    end: Text = Field(alias="to", examples=["2026-11-01"])
    requests_per_second: float | None = Field(
        default=None, gt=0, le=1_000_000, description="default: the busiest hour's"
    )
    ttft_ms: float | None = Field(default=None, gt=0, le=1_000_000, description="default: what the pool promises")
    itl_ms: float | None = Field(default=None, gt=0, le=1_000_000, description="default: what the pool promises")
    busy: Decimal = Field(default=Decimal("0.8"), ge=Decimal("0.01"), le=1, max_digits=20)
    curve_id: Name | None = Field(default=None, description="another measured curve")
    gpu_hour: Factor | None = Field(
        default=None, description="price of one of its GPUs; default: as billed", examples=["5.89"]
    )
    context_factor: Factor | None = Field(default=None, description="prompts so many times as long", examples=["2"])
    hit_share: Share | None = Field(default=None, description="share of every prompt found in the cache")
    kv_ratio: Factor | None = Field(default=None, description="KV bytes a token against the pool's", examples=["0.25"])
    apart: bool = Field(default=False, description="prompts and decode steps on replicas of their own")


class Served(Answer):
    """One way to serve the requests; null where no batch holds the promise."""

    batch: str | None
    limit: str | None = Field(description="what a larger batch would break")
    itl_ms: str | None
    ttft_ms: str | None = Field(description="95th percentile of the prompts, without queueing")
    replicas_needed: int | None
    cost_per_hour: str | None
    cost_per_million: str | None = Field(description="of a million tokens, input and output")
    notes: list[str]


class WhatIf(Answer):
    """The pool as it is and as asked."""

    pool_id: str
    billing_currency: str
    requests: int = Field(description="charged in the period")
    requests_per_second: str
    replicas: str = Field(description="mean over the period")
    busy: str
    as_it_is: Served
    as_asked: Served
    change_pct: str | None = Field(description="of cost a million tokens")
