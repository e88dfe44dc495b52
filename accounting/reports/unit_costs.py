"""What does a token of a pool cost: by the plain figure, by kind as billed, in full steps, and against the length of its context?"""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from itertools import takewhile

from sqlalchemy import Engine

from accounting.reports.base import Column, Report, Row
from accounting.reports.pool_facts import PoolFacts, control, outline, pool_facts
from accounting.reports.query import ReportQuery
from accounting.reports.ratios import percent_of, rounded_if_known, rounded_to
from accounting.reports.sections import Section, SectionedReport
from accounting.selfhosted.context_costs import against_context
from accounting.selfhosted.curve import StepCurve
from accounting.selfhosted.diagnosis import batches, diagnose
from accounting.selfhosted.unit_costs import UnitCosts, as_billed, at_point, per_million
from accounting.tenant import TenantContext

NAME = "unit-costs"
DESCRIPTION = "What a million tokens of each pool cost: plain, by kind as billed, in full steps, against context length"
GROUP_BY: tuple[str, ...] = ()
FILTERS = ("pool",)
PLACES = 9
"""Decimals of a price for a million tokens, as on price lists."""
_KINDS = ("uncached_input", "cached_input", "output")
_PRICES = tuple(Column(f"{name}_per_million", "number") for name in _KINDS)
COLUMNS = (
    Column("row", "text", table=False),
    Column("billing_currency", "text"),
    Column("pool", "text"),
    Column("model", "text", table=False),
    Column("curve_id", "text", table=False),
    Column("gpu_hours", "number"),
    Column("requests", "count"),
    *(Column(f"{name}_tokens", "count", table=False) for name in _KINDS),
    Column("bill", "money"),
    Column("plain_per_million", "number"),
    *_PRICES,
    Column("mean_batch", "number"),
    Column("best_batch", "count"),
    Column("utilisation", "percent"),
    Column("notes", "text"),
)
_POINTS = (
    Column("pool", "text"),
    Column("point", "text"),
    Column("batch", "number"),
    Column("context", "count"),
    *_PRICES,
)
_SERIES = (
    Column("pool", "text"),
    Column("context", "count"),
    Column("batch", "count"),
    *_PRICES,
    Column("step_part_per_million", "number"),
    Column("context_part_per_million", "number"),
    Column("extrapolated", "text"),
)
_POINTS_NOTE = (
    "as billed: kinds times tokens are the bill, gap, idle and empty places in it. mean batch: steps as full as they were, without gap and "
    "idle. R*: steps as full as cache and targets allow."
)
_SERIES_NOTE = (
    "Full batches at each context. step part: t_0 and experts over the batch; context part: attention to the cache. Both grow with the "
    "context, the first as fewer sequences fit."
)


def unit_costs(engine: Engine, context: TenantContext, query: ReportQuery) -> Report:
    """One row a pool with settled hours in the period. Per-million figures are in its currency; tokens are those of charged requests.

    plain_per_million: bill over all tokens. utilisation: (own work + t_0 at R*) over the bill. None: unknown, or no such tokens.
    """
    query.check_group_by(GROUP_BY)
    facts = pool_facts(engine, context, query)
    rows = outline(facts, COLUMNS, lambda one: (_row(one),))
    sections = (
        Section(
            "points", "Unit costs by load", _POINTS, tuple(row for one in facts for row in _points(one)), _POINTS_NOTE
        ),
        Section(
            "context",
            "Cost against context length",
            _SERIES,
            tuple(row for one in facts for row in _series(one)),
            _SERIES_NOTE,
            ("pool", "context", "output_per_million"),
        ),
    )
    return SectionedReport(NAME, query, COLUMNS, rows, [], control(engine, context, query, facts), sections=sections)


def tokens_of(one: PoolFacts) -> tuple[int, int, int]:
    """Uncached input, cached input and output tokens that this pool worked on: one of decodes alone computes no prompt."""
    work = one.workload
    if work is None:
        return 0, 0, 0
    prompts = one.settings.role != "decode"
    new, cached = (int(column.sum()) if prompts else 0 for column in (work.uncached_input_tokens, work.cached_tokens))
    return new, cached, int(work.output_tokens.sum()) if one.settings.role != "prefill" else 0


def _billed(one: PoolFacts) -> UnitCosts:
    if one.spent.share <= 0:
        return UnitCosts(None, None, None)
    return as_billed(one.curve, one.bill, one.spent, *tokens_of(one))


def _row(one: PoolFacts) -> Row:
    tokens, billed = tokens_of(one), _billed(one)
    best = None if one.workload is None else batches(one.curve, one.settings.engine(), one.workload, one.targets)
    used = None
    if best is not None and one.workload is not None:
        told = diagnose(one.curve, one.spent, one.capacity_us, one.idle_us, one.workload, *best)
        used = percent_of(Fraction(told.prefill + told.decode + (told.kv or 0), told.capacity))
    return {
        "row": "detail",
        "billing_currency": one.settings.billing_currency,
        "pool": one.settings.pool_id,
        "model": one.settings.model,
        "curve_id": one.curve.header.curve_id,
        "gpu_hours": rounded_to(one.replicas * one.hours * one.settings.gpus_per_replica),
        "requests": one.requests,
        **{f"{name}_tokens": count for name, count in zip(_KINDS, tokens, strict=True)},
        "bill": one.amount,
        "plain_per_million": rounded_to(per_million(one.bill, sum(tokens)) / 10**18, PLACES) if sum(tokens) else None,
        **_prices(billed, 10**18),
        "mean_batch": rounded_if_known(one.spent.mean_batch, 3),
        "best_batch": None if best is None else best[0],
        "utilisation": used,
        "notes": "; ".join(one.notes) or None,
    }


def _points(one: PoolFacts) -> list[Row]:
    """As billed, in steps of the mean batch, and of R*; a table knows the first alone."""
    work, pool = one.workload, one.settings.engine()
    if work is None:
        return []
    context = max(1, round(float(work.context_tokens.mean())))
    found = [{"point": "as billed", "batch": None, **_prices(_billed(one), 10**18)}]
    best = batches(one.curve, pool, work, one.targets)
    mean = one.spent.mean_batch
    at = (("mean batch", None if mean is None else max(1, round(mean))), ("R*", None if best is None else best[0]))
    for point, batch in at:
        if isinstance(one.curve, StepCurve) and batch is not None:
            costs = at_point(one.curve, batch, context, pool.token_budget, one.setup.replica_hour)
            found.append({"point": point, "batch": Decimal(batch), **_prices(costs, 1)})
    return [{"pool": one.settings.pool_id, "context": context, **row} for row in found]


def _series(one: PoolFacts) -> list[Row]:
    if not isinstance(one.curve, StepCurve):
        return []
    most = one.curve.domain.context[1]
    contexts = list(takewhile(lambda tokens: tokens <= most, (2**power for power in range(8, 24))))
    found = against_context(one.curve, one.settings.engine(), contexts, one.setup.replica_hour, one.targets)
    return [
        {
            "pool": one.settings.pool_id,
            "context": row.context,
            "batch": row.batch,
            **_prices(UnitCosts(row.uncached_input, row.cached_input, row.output), 1),
            "step_part_per_million": rounded_if_known(row.step_part, PLACES),
            "context_part_per_million": rounded_if_known(row.context_part, PLACES),
            "extrapolated": "yes" if row.extrapolated else "no",
        }
        for row in found
    ]


def _prices(costs: UnitCosts, scale: int) -> Row:
    return {
        f"{name}_per_million": rounded_if_known(None if value is None else value / scale, PLACES)
        for name, value in zip(_KINDS, (costs.uncached_input, costs.cached_input, costs.output), strict=True)
    }
