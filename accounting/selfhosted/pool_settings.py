"""What does a pool declare about itself, from when on?"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, get_args

from accounting.errors import InvalidInput
from accounting.pricing.currency_codes import currency_code
from accounting.selfhosted.curve import Outside
from accounting.selfhosted.pool import Pool

Role = Literal["mixed", "prefill", "decode"]
Order = Literal["decode_first", "prefill_first"]
Admission = Literal["prompt", "peak"]
Policy = Literal["switch", "equal"]
PrefixPolicy = Literal["first_pays", "amortised"]
FIRST_PAYS: PrefixPolicy = "first_pays"
AMORTISED: PrefixPolicy = "amortised"

LONGEST_ID = 256
MOST_GPUS = 100_000
EARLIEST, LATEST = 2000, 2200
_MOST = 2**31 - 1
_CHOICES: dict[str, tuple[str, ...]] = {
    "role": get_args(Role),
    "scheduler_order": get_args(Order),
    "admission": get_args(Admission),
    "policy": get_args(Policy),
    "outside_range": get_args(Outside),
    "prefix_policy": get_args(PrefixPolicy),
}


@dataclass(frozen=True)
class PoolSettings:
    """One statement about a pool: identical replicas that serve one model.

    Attributes:
        pool_id: what events name as `deployment`, or as `prefill_deployment` where prompts are computed in a pool of their own.
        effective_from, effective_until: half-open, with a zone; until None: until the next statement.
        curve_id: the measured curve by which its requests are charged.
        gpus_per_replica: GPUs of one replica, which is one scheduler.
        scheduler_order, token_budget, max_batch, kv_capacity_tokens, admission: of the engine (accounting/selfhosted/pool.py).
        ttft_target_ms, itl_target_ms: what the pool promises; they choose R*. None: no promise.
        policy: how the shared part of a step is split (README.md, "The sweep").
        outside_range: requests beyond the curve's measured range are refused (unpriced) or flagged.
        prefix_policy: who pays a shared prefix: the first request to compute it, or all that hit it in the same hour, which only a step
            ledger that names prefix blocks can tell; requests without one are charged by the first, and their charges say so.
        billing_currency: of its bills.
    """

    pool_id: str
    effective_from: datetime
    model: str
    curve_id: str
    gpu: str
    gpus_per_replica: int
    token_budget: int
    max_batch: int
    billing_currency: str
    effective_until: datetime | None = None
    role: Role = "mixed"
    scheduler_order: Order = "decode_first"
    kv_capacity_tokens: int | None = None
    admission: Admission = "prompt"
    ttft_target_ms: float | None = None
    itl_target_ms: float | None = None
    policy: Policy = "switch"
    outside_range: Outside = "flag"
    prefix_policy: PrefixPolicy = FIRST_PAYS

    def __post_init__(self) -> None:
        for name in ("pool_id", "model", "curve_id", "gpu"):
            named(name, getattr(self, name))
        for name, allowed in _CHOICES.items():
            if getattr(self, name) not in allowed:
                raise InvalidInput(name, getattr(self, name), f"one of {', '.join(allowed)} is expected")
        whole("gpus_per_replica", self.gpus_per_replica, MOST_GPUS)
        for name in ("token_budget", "max_batch"):
            whole(name, getattr(self, name))
        if self.kv_capacity_tokens is not None:
            whole("kv_capacity_tokens", self.kv_capacity_tokens, 2**62)
        for name in ("ttft_target_ms", "itl_target_ms"):
            value = getattr(self, name)
            if value is not None and not (math.isfinite(value) and value > 0):
                raise InvalidInput(name, value, "milliseconds, finite and above 0, are expected")
        currency_code(self.billing_currency, "billing_currency")
        interval(self.effective_from, self.effective_until)
        self.engine()

    def engine(self) -> Pool:
        """What attribution needs of it. Raises InvalidInput where the numbers contradict each other."""
        return Pool(
            token_budget=self.token_budget,
            max_batch=self.max_batch,
            order=self.scheduler_order,
            kv_capacity_tokens=self.kv_capacity_tokens,
            admission=self.admission,
            role=self.role,
            outside=self.outside_range,
        )


@dataclass(frozen=True)
class Membership:
    """A replica that serves in a pool from one moment to another.

    Attributes:
        replica: what events name as `replica` (or `prefill_replica`).
        effective_from, effective_until: half-open; until None: still there.
        rate_id: the rate that pays its GPUs; None: its bill is imported.
    """

    pool_id: str
    replica: str
    effective_from: datetime
    effective_until: datetime | None = None
    rate_id: str | None = None

    def __post_init__(self) -> None:
        named("pool_id", self.pool_id)
        named("replica", self.replica)
        if self.rate_id is not None:
            named("rate_id", self.rate_id)
        interval(self.effective_from, self.effective_until)


def in_force(statements: Sequence[PoolSettings], at: datetime) -> PoolSettings | None:
    """The settings of one pool at a moment, of its statements in any order; None before the first and after its end."""
    begun = [one for one in statements if one.effective_from <= at]
    newest = max(begun, key=lambda one: one.effective_from, default=None)
    if newest is None or (newest.effective_until is not None and at >= newest.effective_until):
        return None
    return newest


def named(field: str, value: object) -> str:
    """A name that can be kept. Raises InvalidInput."""
    if not isinstance(value, str) or not value.strip() or len(value) > LONGEST_ID or "\x00" in value:
        raise InvalidInput(field, value, f"a text of 1 to {LONGEST_ID} characters is expected")
    return value


def whole(field: str, value: object, most: int = _MOST) -> int:
    """A whole number from 1. Raises InvalidInput."""
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= most:
        raise InvalidInput(field, value, f"a whole number from 1 to {most} is expected")
    return value


def interval(since: datetime, until: datetime | None) -> None:
    """Both ends have a zone and lie in years that bills come from, and the end is later. Raises InvalidInput."""
    for field, value in (("effective_from", since), ("effective_until", until)):
        if value is not None and value.tzinfo is None:
            raise InvalidInput(field, value.isoformat(), "a moment needs its offset, such as Z")
        if value is not None and not EARLIEST <= value.year < LATEST:
            raise InvalidInput(field, value.isoformat(), f"a year from {EARLIEST} to before {LATEST} is expected")
    if until is not None and until <= since:
        raise InvalidInput("effective_until", until.isoformat(), f"must be after effective_from {since.isoformat()}")
