"""What is the traffic made of, and what do retries, failures, long contexts and uncached input cost?

One row a key of `group_by`: mix of tokens, context lengths, cache and its saving, tasks, retries, latency beside cost. Read from the
events themselves, newest revision of each, as no rollup has them.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import Engine

from accounting.errors import InvalidInput
from accounting.reports.base import Column, Footer, Node, Row
from accounting.reports.coverage import read_coverage
from accounting.reports.exact import ZERO, minus, percent, total
from accounting.reports.query import ReportQuery
from accounting.reports.ratios import per, rounded_if_known
from accounting.reports.reconcile import control, elsewhere
from accounting.reports.sections import SectionedReport
from accounting.reports.workload_data import WorkloadData
from accounting.reports.workload_sections import growth_section, tasks_section
from accounting.reports.workload_sql import GROUPS
from accounting.storage.engine import read_only
from accounting.tenant import TenantContext

NAME = "workload"
DESCRIPTION = "What traffic is made of: token mix, context percentiles, cache hits and saving, cost of tasks, retries and failures, latency"
GROUP_BY = tuple(GROUPS)
_COUNTS = (
    "events",
    "priced_events",
    "retries",
    "failures",
    "tasks",
    "input_tokens",
    "cache_read_tokens",
    "output_tokens",
)
_MEDIANS = ("context_p50", "context_p95", "context_max")
_TIMES = ("queue_ms", "ttft_ms", "itl_ms")
COLUMNS = (
    Column("row", "text", table=False),
    Column("billing_currency", "text"),
    Column("key", "text"),
    *(Column(name, "count") for name in _COUNTS),
    Column("output_to_input", "number"),
    *(Column(name, "count") for name in _MEDIANS),
    Column("cache_hit_pct", "percent"),
    Column("cache_saving", "money", table=False),
    Column("effective_cost", "money"),
    *(Column(name, "money", table=False) for name in ("retry_cost", "failure_cost")),
    Column("cost_per_task", "number"),
    Column("calls_per_task", "number"),
    *(Column(f"{name}_{point}", "number", table=False) for name in _TIMES for point in ("p50", "p95")),
    *(Column(f"{name}_per_million", "number", table=False) for name in ("blended", "input", "output")),
)


_DIFFERENCE = {
    False: "total less rows shown and left out; 0 or the report is wrong",
    True: "total less rows shown and left out: each is rounded by itself, by at most half of 10^-18",
}


def workload(engine: Engine, context: TenantContext, query: ReportQuery) -> SectionedReport:
    """The workload of a period, the dearest key first; users' requests of the tenant's currency, or of all in one currency.

    `group_by` names one of GROUP_BY (default feature). cache_saving: cached tokens x (price of fresh input - price of cached input) of the
    very price row each call was priced by; None where a row lacks one. output_to_input: tokens. itl_ms: milliseconds between output
    tokens, from first token to end; ttft_ms: from the call to its first token. A blended price stands beside the prices of its two
    phases, None where a price row does not tell them apart. tasks are distinct task ids, traces where there is none.

    Sections: growth (calls against unit price, month by month) and tasks (what a task costs). Raises InvalidInput for another group,
    MissingRate for a day without a rate.
    """
    query.check_group_by(GROUP_BY)
    if len(query.group_by) > 1:
        raise InvalidInput("group_by", ",".join(query.group_by), f"one of {', '.join(GROUP_BY)} is expected")
    by = query.group_by[0] if query.group_by else "feature"
    currency = query.currency or context.billing_currency
    with read_only(engine, context.tenant) as connection:
        data = WorkloadData(connection, context, query)
        rows = [_row(one, currency) for one in data.read("keys", GROUPS[by])]
        sections = (growth_section(data.read("months"), currency), tasks_section(data.read("tasks"), currency))
        covered = read_coverage(connection, context, query)
        others = [] if query.currency else elsewhere(currency, control(connection, context, query))
    whole = next((row for row in rows if row["row"] == "total"), None)
    details = [row for row in rows if row["row"] == "detail"]
    details.sort(key=lambda row: (-(row["effective_cost"] or ZERO), row["key"]))
    if whole is None:
        return SectionedReport(NAME, query, COLUMNS, (), covered, others)
    kept = details[: query.limit]
    left = total(row["effective_cost"] or ZERO for row in details[len(kept) :])
    shown = total(row["effective_cost"] or ZERO for row in kept)
    cost = whole["effective_cost"] or ZERO
    feet = [
        Footer("left_out", left, currency, "cost of keys beyond the limit"),
        Footer("difference", minus(minus(cost, shown), left), currency, _DIFFERENCE[data.converter is not None]),
        *others,
    ]
    conversions = []
    if data.converter is not None:
        feet += data.converter.footer("effective_cost", cost)
        conversions = data.converter.conversions()
    outline = (Node(whole, tuple(Node(row) for row in kept)),)
    return SectionedReport(NAME, query, COLUMNS, outline, covered, feet, conversions, sections=sections)


def _row(one: Any, currency: str) -> Row:
    known = not one.events or bool(one.priced_events)
    amounts = {
        name: getattr(one, name) if known else None
        for name in ("cache_saving", "effective_cost", "retry_cost", "failure_cost")
    }
    phases = known and one.input_cost is not None and one.output_cost is not None
    return {
        "row": "detail" if one.total == 0 else "total",
        "billing_currency": currency,
        "key": one.key if one.total == 0 else None,
        **{name: getattr(one, name) for name in _COUNTS},
        "output_to_input": per(one.output_tokens, one.input_tokens),
        **{name: getattr(one, name) for name in _MEDIANS},
        "cache_hit_pct": percent(one.cache_read_tokens, one.input_tokens),
        **amounts,
        "cost_per_task": per(one.task_cost if known else None, one.tasks),
        "calls_per_task": per(one.task_calls, one.tasks),
        **{
            f"{name}_{point}": rounded_if_known(getattr(one, f"{name}_{point}"), 3)
            for name in _TIMES
            for point in ("p50", "p95")
        },
        "blended_per_million": per(one.effective_cost, one.input_tokens + one.output_tokens, 10**6) if phases else None,
        "input_per_million": per(one.input_cost, one.input_tokens, 10**6) if phases else None,
        "output_per_million": per(one.output_cost, one.output_tokens, 10**6) if phases else None,
    }
