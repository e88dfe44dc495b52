"""What is each pool bound by, how many replicas does its traffic need, and what would other setups cost?"""

from __future__ import annotations

import json
from collections.abc import Iterable
from decimal import Decimal
from fractions import Fraction

from sqlalchemy import Engine

from accounting.reports.base import Column, Report, Row
from accounting.reports.pool_facts import PoolFacts, control, outline, pool_facts
from accounting.reports.query import ReportQuery
from accounting.reports.ratios import change_pct, rounded_if_known, rounded_to
from accounting.reports.sections import Section, SectionedReport
from accounting.selfhosted.arrays import PS_PER_SECOND
from accounting.selfhosted.curve import Curve, StepCurve
from accounting.selfhosted.curve_json import load_curve
from accounting.selfhosted.diagnosis import batches, diagnose
from accounting.selfhosted.rates import GpuRate, us, versions
from accounting.selfhosted.what_if import Effect, Setup, disaggregated, effect, with_kv_ratio
from accounting.selfhosted.workload import Workload
from accounting.storage import gpu_rates
from accounting.storage.curves import curve_file, list_curves
from accounting.storage.engine import read_only
from accounting.tenant import TenantContext

NAME = "pool-diagnosis"
DESCRIPTION = "What each pool is bound by (prefill, decode, KV, arrivals), replicas for its traffic, and what other setups would cost"
GROUP_BY: tuple[str, ...] = ()
FILTERS = ("pool",)
BUSY = Fraction(4, 5)
MOST_CURVES = 20
"""Other curves that are compared at most."""
OWN_PRICE = "at this pool's price: no rate of this GPU is in force"
_TERMS = ("prefill", "decode", "kv", "arrivals", "gap")
COLUMNS = (
    Column("row", "text", table=False),
    Column("billing_currency", "text"),
    Column("pool", "text"),
    Column("bound", "text"),
    Column("bill", "money"),
    Column("gpu_seconds", "number"),
    *(Column(f"{name}_gpu_seconds", "number") for name in _TERMS),
    Column("kv_reads_gpu_seconds", "number", table=False),
    Column("setting", "text"),
    Column("notes", "text"),
)
_CAPACITY = (
    Column("pool", "text"),
    Column("requests_per_second", "number"),
    Column("replicas", "number"),
    Column("replicas_needed", "count"),
    Column("batch", "number"),
    Column("limit", "text"),
    Column("itl_ms", "number"),
    Column("ttft_ms", "number"),
)
_WHAT_IF = (
    Column("pool", "text"),
    Column("setup", "text"),
    Column("batch", "number"),
    Column("limit", "text"),
    Column("itl_ms", "number"),
    Column("ttft_ms", "number"),
    Column("replicas_needed", "count"),
    Column("cost_per_hour", "number"),
    Column("cost_per_million", "number"),
    Column("change_pct", "percent"),
    Column("notes", "text"),
)
_CAPACITY_NOTE = (
    "Replicas for the requests of the busiest hour (charged ones), at most 80 % busy: what is left is for bursts. ttft: 95th percentile of "
    "the prompts, without queueing; itl: mean step. limit: what a larger batch would break."
)
_WHAT_IF_NOTE = "The charged requests on other setups, 80 % busy; change_pct of cost a token against the pool as it is."


def pool_diagnosis(engine: Engine, context: TenantContext, query: ReportQuery) -> Report:
    """One row a pool with settled hours in the period; its five terms add up to gpu_seconds, those paid for (replicas' seconds x GPUs).

    kv is None for a curve that is a table, whose arrivals are idle time alone. Sections: capacity, what_if.
    """
    query.check_group_by(GROUP_BY)
    facts = pool_facts(engine, context, query)
    rows = outline(facts, COLUMNS, lambda one: (_row(one),))
    asked = [(one, one.workload) for one in facts if one.workload is not None and one.busiest > 0]
    others = _other_setups(engine, context, query) if asked else []
    sections = (
        Section(
            "capacity",
            "Replicas for the busiest hour",
            _CAPACITY,
            tuple(_capacity(*one) for one in asked),
            _CAPACITY_NOTE,
        ),
        Section(
            "what_if",
            "What if",
            _WHAT_IF,
            tuple(row for one, work in asked for row in _what_if(one, work, others)),
            _WHAT_IF_NOTE,
        ),
    )
    return SectionedReport(NAME, query, COLUMNS, rows, [], control(engine, context, query, facts), sections=sections)


def _row(one: PoolFacts) -> Row:
    work = one.workload
    best = None if work is None else batches(one.curve, one.settings.engine(), work, one.targets)
    told = diagnose(one.curve, one.spent, one.capacity_us, one.idle_us, work, *(best or (None, None)))

    def gpu_seconds(ps: int | None) -> Decimal | None:
        return None if ps is None else rounded_to(Fraction(ps * one.settings.gpus_per_replica, PS_PER_SECOND))

    return {
        "row": "detail",
        "billing_currency": one.settings.billing_currency,
        "pool": one.settings.pool_id,
        "bound": told.bound,
        "bill": one.amount,
        "gpu_seconds": gpu_seconds(told.capacity),
        **{f"{name}_gpu_seconds": gpu_seconds(getattr(told, name)) for name in (*_TERMS, "kv_reads")},
        "setting": told.setting,
        "notes": "; ".join(one.notes) or None,
    }


def _capacity(one: PoolFacts, work: Workload) -> Row:
    found = effect(one.setup, work, one.busiest, BUSY, one.targets)
    return {
        "pool": one.settings.pool_id,
        "requests_per_second": rounded_to(Fraction(one.busiest), 3),
        "replicas": rounded_to(one.replicas, 3),
        **_operating(found),
    }


def _what_if(one: PoolFacts, work: Workload, others: list[tuple[Curve, GpuRate | None]]) -> Iterable[Row]:
    """The pool as it is, then one change each."""
    as_is = effect(one.setup, work, one.busiest, BUSY, one.targets)
    yield _changed(one, as_is, as_is)
    for found in _effects(one, work, others):
        yield _changed(one, found, as_is)


def _effects(one: PoolFacts, work: Workload, others: list[tuple[Curve, GpuRate | None]]) -> Iterable[Effect]:
    setup = one.setup
    for curve, rate in others:
        if curve.header.curve_id == one.curve.header.curve_id:
            continue
        own = rate is None or rate.billing_currency != one.settings.billing_currency
        price = setup.replica_hour if own or rate is None else rate.per_gpu_hour() * one.settings.gpus_per_replica
        name = f"curve {curve.header.curve_id} ({curve.header.model}, {curve.header.gpu}, {curve.header.dtype})"
        other = Setup(name, curve, setup.pool, price, (OWN_PRICE,) if own else ())
        yield effect(other, work, one.busiest, BUSY, one.targets)
    for name, changed in (
        ("contexts twice as long", work.with_context(Fraction(2))),
        ("half of what is computed of prompts found in the cache", work.with_hit_share((1 + work.hit_share) / 2)),
    ):
        yield effect(Setup(name, setup.curve, setup.pool, setup.replica_hour), changed, one.busiest, BUSY, one.targets)
    if isinstance(one.curve, StepCurve):
        half = with_kv_ratio(setup, Fraction(1, 2), "half the KV bytes a token (GQA, MLA or a quantised cache)")
        yield effect(half, work, one.busiest, BUSY, one.targets)
        if one.settings.role == "mixed":
            apart = Setup("this pool's", setup.curve, setup.pool, setup.replica_hour)
            yield disaggregated(apart, apart, work, one.busiest, BUSY, one.targets)


def _other_setups(engine: Engine, context: TenantContext, query: ReportQuery) -> list[tuple[Curve, GpuRate | None]]:
    """Measured curves of the tenant (floors price nothing by themselves) and what their GPUs cost at the end of the period."""
    listed = [row for row in list_curves(engine, context) if not row["floor"]][:MOST_CURVES]
    curves = [load_curve(json.dumps(curve_file(engine, context, row["curve_id"]))) for row in listed]
    with read_only(engine, context.tenant) as connection:
        rates = gpu_rates.in_force(connection)
    last = us(query.until) - 1
    holding = [
        held.rate
        for of in rates.values()
        for held in versions(of)
        if held.start_us <= last and (held.end_us is None or last < held.end_us)
    ]
    found = []
    for curve in curves:
        fit = [rate for rate in holding if rate.gpu.lower() == curve.header.gpu.lower()]
        found.append((curve, min(fit, key=lambda rate: (rate.per_gpu_hour(), rate.rate_id), default=None)))
    return found


def _changed(one: PoolFacts, found: Effect, as_is: Effect) -> Row:
    return {
        "pool": one.settings.pool_id,
        "setup": "as it is" if found is as_is else found.name,
        **_operating(found),
        "cost_per_hour": rounded_if_known(found.replica_hours_cost),
        "cost_per_million": rounded_if_known(found.cost_per_million),
        "change_pct": change_pct(found.cost_per_million, as_is.cost_per_million),
        "notes": "; ".join(found.notes) or None,
    }


def _operating(found: Effect) -> Row:
    times = {"itl_ms": found.itl_seconds, "ttft_ms": found.ttft_seconds}
    return {
        "replicas_needed": found.replicas,
        "batch": rounded_if_known(found.batch, 3),
        "limit": found.limit,
        **{name: rounded_if_known(None if value is None else value * 1_000, 3) for name, value in times.items()},
    }
