"""How do pools, their replicas and their bills look over HTTP?"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from accounting.selfhosted.curve import Outside
from accounting.selfhosted.pool_settings import Admission, Order, Policy, PrefixPolicy, Role
from api.schemas import Answer, Money

Name = Annotated[str, Field(min_length=1, max_length=256, pattern=r"^[^\x00]*$")]
Moment = Annotated[str, Field(description="a day (its first instant in UTC) or a moment", examples=["2026-09-01"])]
Count = Annotated[int, Field(ge=1, le=2**31 - 1)]


class PoolBody(Answer):
    """A pool's settings from a moment on."""

    pool_id: Name = Field(description="what events name as `deployment`, or `prefill_deployment`", examples=["chat"])
    effective_from: Moment
    effective_until: Moment | None = Field(default=None, description="null: until the next statement")
    role: Role = Field(default="mixed", description="which phases run here")
    model: Name = Field(examples=["Qwen3-8B"])
    curve_id: Name = Field(description="the measured curve its requests are charged by", examples=["qwen3-8b-h200"])
    gpu: Name = Field(examples=["H200"])
    gpus_per_replica: Annotated[int, Field(ge=1, le=100_000)]
    scheduler_order: Order = Field(default="decode_first", description="prompts share steps, or go first and alone")
    token_budget: Count = Field(description="tokens a step may compute", examples=[8192])
    max_batch: Count = Field(description="requests a step may hold", examples=[256])
    kv_capacity_tokens: Annotated[int, Field(ge=1, le=2**62)] | None = Field(default=None, examples=[400_000])
    admission: Admission = Field(default="prompt", description="what the cache must have room for")
    ttft_target_ms: float | None = Field(default=None, gt=0, examples=[2000])
    itl_target_ms: float | None = Field(default=None, gt=0, examples=[50])
    policy: Policy = Field(default="switch", description="how the shared part of a step is split")
    outside_range: Outside = Field(
        default="flag", description="requests beyond the curve's measured range, or in steps that no run of a table had"
    )
    prefix_policy: PrefixPolicy = Field(
        default="first_pays", description="who pays a shared prefix; amortised where a step ledger names its blocks"
    )
    billing_currency: str | None = Field(
        default=None, max_length=8, description="default: the tenant's", examples=["USD"]
    )


class ReplicaBody(Answer):
    """A replica that serves in a pool from one moment to another."""

    pool_id: Name = Field(examples=["chat"])
    replica: Name = Field(description="what events name as `replica`", examples=["r0"])
    effective_from: Moment
    effective_until: Moment | None = Field(default=None, description="null: it stays")
    rate_id: Name | None = Field(default=None, description="which rate pays its GPUs; null: its bill is imported")


class Recorded(Answer):
    """What was stated."""

    recorded: bool = Field(description="false: the same stands there already")


class Withdrawn(Answer):
    """What was taken back as never right."""

    withdrawn: bool


class Pool(Answer):
    """A pool with everything stated of it, by date."""

    pool_id: str
    settings: list[PoolBody]
    replicas: list[ReplicaBody]


class PoolList(Answer):
    pools: list[Pool]


class BillRunBody(Answer):
    """Hours to bill by schedule and rates."""

    effective_from: Moment = Field(alias="from")
    effective_until: Moment = Field(alias="to", description="not included", examples=["2026-10-01"])
    replace_imported: bool = Field(default=False, description="also hours whose bill was imported")


class BillImportBody(Answer):
    """A biller's file as text. csv: pool, cost, currency; hour, or from and until; gpu_hours where known. focus: rows of a cloud's
    export; a row is a pool's by its tag `tokencogs:pool` (or `tokencogs_pool`), else by `resources`."""

    format: Literal["csv", "focus"]
    content: str = Field(examples=["pool,hour,gpu_hours,cost,currency\nchat,2026-09-01T05:00:00Z,2,6.00,USD\n"])
    name: Name = Field(description="of the file; stands with its bills", examples=["september.csv"])
    resources: dict[str, Name] = Field(default_factory=dict, description="focus: ResourceId -> pool")
    cost_column: Literal["EffectiveCost", "BilledCost", "ContractedCost", "ListCost"] = "EffectiveCost"


class MissingHours(Answer):
    """Hours of a pool without a bill, never taken as 0."""

    pool_id: str
    reason: str = Field(examples=["no_rate"])
    detail: str = Field(description="the replica, rate or currency it is about")
    hours: int


class UnplacedCost(Answer):
    """Imported amounts that no hour could take."""

    pool_id: str
    reason: str = Field(examples=["not_scheduled"])
    amount: Money
    lines: list[int] = Field(description="of the file")


class LeftOutSum(Answer):
    """Rows of a file that are no pool's, added up, so that file = bills + left out + unplaced + rejected."""

    reason: str = Field(description="no_pool, or the row's ChargeCategory", examples=["no_pool"])
    service: str
    currency: str
    rows: int
    amount: Money


class RejectedLine(Answer):
    line: int
    field: str
    value: str
    reason: str


class BillRun(Answer):
    """What a run wrote: hours of pools and of unused capacity."""

    written: int
    replaced: int = Field(description="of those written, in place of another bill")
    unchanged: int
    kept: int = Field(description="imported bills that the schedule did not replace")
    totals: dict[str, Money] = Field(
        description="by currency, of hours written and unchanged", examples=[{"USD": "4980.2"}]
    )
    missing: list[MissingHours]


class BillImport(BillRun):
    """The same of a file, with every row that became no bill."""

    unplaced: list[UnplacedCost]
    left_out: list[LeftOutSum]
    rejected: list[RejectedLine]


class BilledHour(Answer):
    """One hour; of the pool or of the rate that is asked about."""

    hour: str = Field(examples=["2026-09-01T05:00:00Z"])
    amount: Money
    billing_currency: str
    gpu_hours: Money | None = Field(description="scheduled; null where no schedule says")
    source: Literal["schedule", "csv", "focus"]
    source_id: str | None = Field(description="the file an imported one came from")


class PoolHour(BilledHour):
    pool_id: str
    parts: list[dict[str, str]] = Field(description="by rate, or by the biller's resource")


class PoolHours(Answer):
    """The newest bill of each hour."""

    bills: list[PoolHour]


class UnusedHour(BilledHour):
    rate_id: str = Field(description="or the biller's id of the commitment")


class UnusedHours(Answer):
    """What reserved and owned capacity cost that no pool was scheduled on."""

    unused: list[UnusedHour]
