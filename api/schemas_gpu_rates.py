"""How does the price of a GPU-hour look over HTTP?"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from accounting.selfhosted.rates import Kind
from api.schemas import Answer, Money
from api.schemas_pools import Moment, Name, RejectedLine

Amount = Annotated[str, Field(pattern=r"^\d{1,30}(\.\d{1,30})?$")]


class RateTerms(Answer):
    """Every figure is for all of `gpus` together."""

    rate_id: Name = Field(examples=["h100-on-demand"])
    kind: Kind
    gpu: Name = Field(examples=["H100"])
    effective_from: Moment
    effective_until: Moment | None = Field(default=None, description="reserved: the end of the term")
    gpus: int = Field(default=1, ge=1, le=100_000)
    price_per_hour: Amount | None = Field(default=None, description="on_demand, spot", examples=["98.32"])
    amount: Amount | None = Field(default=None, description="reserved: for the term; owned: purchase price")
    life_years: Amount | None = Field(default=None, description="owned: of 8,760 hours, straight line")
    power_kw: Amount | None = Field(default=None, description="owned: while scheduled")
    pue: Amount | None = Field(default=None, description="owned: power usage effectiveness")
    electricity_per_kwh: Amount | None = Field(default=None, description="owned")
    hosting_per_hour: Amount | None = Field(default=None, description="owned: scheduled or not")


class RateBody(RateTerms):
    """A rate from a moment on; a later date under the same id is its next price."""

    billing_currency: str | None = Field(
        default=None, max_length=8, description="default: the tenant's", examples=["USD"]
    )
    source: Name = Field(default="by hand", description="who says so")


class RateRow(RateTerms):
    """A rate as it stands."""

    billing_currency: str
    source: str
    checked_on: str | None = Field(description="day it was last seen")
    price_per_gpu_hour: Money = Field(description="of one scheduled GPU-hour, to 9 decimals: to look at, never booked")
    state: Literal["stated", "proposed", "refused", "withdrawn"]
    created_by: str
    approved_by: str | None
    recorded_at: str


class RateList(Answer):
    rates: list[RateRow]


class RateImportBody(Answer):
    """A CSV of GPU offers, or of instance prices over time."""

    content: str = Field(
        examples=[
            "region,instance,gpu_model,gpu_count,price_usd_per_instance_hour,first_seen,last_seen\n"
            "us-east-1,p5.48xlarge,H100,8,55.04,2025-06-23,2026-07-20\n"
        ]
    )
    name: Name = Field(description="of the file", examples=["aws_gpu_price_history.csv"])


class RateImport(Answer):
    """Ids by what became of them; nothing comes into force."""

    new: list[str] = Field(description="wait for a decision now")
    known: list[str] = Field(description="there already with the same terms")
    differs: list[str] = Field(description="other terms are in force from that date, and stay")
    rejected: list[RejectedLine]


class RateDecisionBody(Answer):
    """Ids of candidates, with all their dates; all are decided or none."""

    rate_ids: list[Name] = Field(min_length=1, max_length=1_000, examples=[["aws/us-east-1/p5.48xlarge/on-demand"]])
