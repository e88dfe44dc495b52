"""What would a pool's requests need and cost at a given rate and promise, on another curve, with other contexts, hits or cache?"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from typing import Any

from sqlalchemy import Engine

from accounting.errors import InvalidInput
from accounting.money import format_plain
from accounting.reports.pool_facts import PoolFacts, pool_facts
from accounting.reports.query import ReportQuery
from accounting.reports.ratios import change_pct, rounded_to
from accounting.selfhosted.curve_json import load_curve
from accounting.selfhosted.steady import Targets
from accounting.selfhosted.what_if import Effect, Setup, disaggregated, effect, with_kv_ratio
from accounting.selfhosted.workload import Workload
from accounting.storage.curves import curve_file
from accounting.tenant import TenantContext

MOST = 1_000_000
OWN_PRICE = "at this pool's price a replica"


@dataclass(frozen=True)
class Question:
    """What is asked; a field left None stays as the pool has it.

    Attributes:
        pool_id: of the pool. requests_per_second: forecast; None: the busiest hour's of the period.
        ttft_ms, itl_ms: promised; None: what the pool promises. busy: share of a replica's best throughput that may be used.
        curve_id: another measured curve. gpu_hour: what one of its GPUs costs an hour, in the pool's currency.
        context_factor: prompts so many times as long. hit_share: share of every prompt found in the cache.
        kv_ratio: KV bytes a token against the pool's. apart: prompts and decode steps on replicas of their own.
    """

    pool_id: str
    requests_per_second: float | None = None
    ttft_ms: float | None = None
    itl_ms: float | None = None
    busy: Decimal = Decimal("0.8")
    curve_id: str | None = None
    gpu_hour: Decimal | None = None
    context_factor: Decimal | None = None
    hit_share: Decimal | None = None
    kv_ratio: Decimal | None = None
    apart: bool = False

    def __post_init__(self) -> None:
        for name in ("requests_per_second", "ttft_ms", "itl_ms", "gpu_hour", "context_factor", "kv_ratio"):
            value = getattr(self, name)
            if value is not None and not 0 < value <= MOST:
                raise InvalidInput(name, str(value), f"more than 0 and at most {MOST} is expected")
        for name, least in (("busy", Decimal("0.01")), ("hit_share", Decimal(0))):
            value = getattr(self, name)
            if value is not None and not least <= value <= 1:
                raise InvalidInput(name, str(value), f"a share from {least} to 1 is expected")


def pool_what_if(engine: Engine, context: TenantContext, question: Question, query: ReportQuery) -> dict[str, Any]:
    """The pool as it is and as asked, as JSON: batch, what limits it, paces, replicas, cost an hour and a million tokens.

    On the requests charged in the period, at the price its bills say. Null where no batch holds the promise. Raises NotFound for an unknown
    pool or curve, InvalidInput for a pool without charged requests in the period.
    """
    asked = replace(query, filters=(("pool", question.pool_id),))
    one = next(iter(pool_facts(engine, context, asked)), None)
    if one is None or one.workload is None:
        raise InvalidInput("pool_id", question.pool_id, "no request of it was charged in the period")
    rate = one.busiest if question.requests_per_second is None else question.requests_per_second
    if not rate > 0:
        raise InvalidInput("requests_per_second", rate, "none came in during the period: name a rate")
    targets = Targets(
        one.targets.ttft_seconds if question.ttft_ms is None else question.ttft_ms / 1_000,
        one.targets.itl_seconds if question.itl_ms is None else question.itl_ms / 1_000,
    )
    busy = Fraction(question.busy)
    now = effect(replace(one.setup, name="as it is"), one.workload, rate, busy, targets)
    setup, work = _setup(engine, context, one, question), _work(one.workload, question)
    apart = disaggregated(setup, setup, work, rate, busy, targets) if question.apart else None
    then = apart or effect(setup, work, rate, busy, targets)
    change = change_pct(then.cost_per_million, now.cost_per_million)
    return {
        "pool_id": question.pool_id,
        "billing_currency": one.settings.billing_currency,
        "requests": len(one.workload),
        "requests_per_second": format_plain(rounded_to(Fraction(rate))),
        "replicas": format_plain(rounded_to(one.replicas, 3)),
        "busy": format_plain(question.busy),
        "as_it_is": _json(now),
        "as_asked": _json(then),
        "change_pct": None if change is None else format_plain(change),
    }


def _setup(engine: Engine, context: TenantContext, one: PoolFacts, question: Question) -> Setup:
    setup = replace(one.setup, name="as asked")
    if question.curve_id is not None:
        curve = load_curve(json.dumps(curve_file(engine, context, question.curve_id)))
        own = () if question.gpu_hour is not None or curve.header.gpu == one.curve.header.gpu else (OWN_PRICE,)
        setup = replace(setup, curve=curve, assumptions=own)
    if question.gpu_hour is not None:
        setup = replace(setup, replica_hour=Fraction(question.gpu_hour) * one.settings.gpus_per_replica)
    if question.kv_ratio is not None:
        setup = with_kv_ratio(setup, Fraction(question.kv_ratio), setup.name)
    return setup


def _work(work: Workload, question: Question) -> Workload:
    if question.context_factor is not None:
        work = work.with_context(Fraction(question.context_factor))
    if question.hit_share is not None:
        work = work.with_hit_share(Fraction(question.hit_share))
    return work


def _json(found: Effect) -> dict[str, Any]:
    def number(value: float | Fraction | None, places: int = 3) -> str | None:
        return None if value is None else format_plain(rounded_to(Fraction(value), places))

    return {
        "batch": number(found.batch),
        "limit": found.limit,
        "itl_ms": number(None if found.itl_seconds is None else found.itl_seconds * 1_000),
        "ttft_ms": number(None if found.ttft_seconds is None else found.ttft_seconds * 1_000),
        "replicas_needed": found.replicas,
        "cost_per_hour": number(found.replica_hours_cost, 9),
        "cost_per_million": number(found.cost_per_million, 9),
        "notes": list(found.notes),
    }
