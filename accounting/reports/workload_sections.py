"""Do more calls or dearer ones make the cost grow, and what does a task cost? Tables beside the workload."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any

from accounting.reports.base import Column, Row
from accounting.reports.exact import percent
from accounting.reports.ratios import in_steps, per
from accounting.reports.sections import Section

POINTS = ("p50", "p90", "p95", "p99", "max")
_EFFECTS = ("by_calls", "by_tokens_per_call", "by_unit_price")
_PLACES = 18


def growth_section(months: Sequence[Any], currency: str) -> Section:
    """A row a month: sizes, prices, their change since the first month, and why cost changed since the month before.

    Cost = calls x tokens a call x cost of a token, replaced one after another in this order; the effects add up to the change of cost
    exactly. A month without known cost has none.
    """
    rows: list[Row] = []
    for number, one in enumerate(months):
        first, before = months[0], months[number - 1] if number else None
        cost = _cost(one)
        tokens = one.input_tokens + one.output_tokens
        blended = _blended(one)
        rows.append(
            {
                "billing_currency": currency,
                "month": f"{one.month:%Y-%m}",
                "calls": one.events,
                "tasks": one.tasks,
                "calls_per_task": per(one.task_calls, one.tasks),
                "tokens": tokens,
                "effective_cost": cost,
                "cost_per_call": per(cost, one.events),
                "blended_per_million": blended,
                "input_per_million": None if blended is None else per(one.input_cost, one.input_tokens, 10**6),
                "output_per_million": None if blended is None else per(one.output_cost, one.output_tokens, 10**6),
                "calls_change_pct": percent(one.events - first.events, first.events),
                "unit_price_change_pct": _unit_change(first, one),
                **_effects(before, one),
            }
        )
    columns = (
        Column("billing_currency", "text", table=False),
        Column("month", "text"),
        Column("calls", "count"),
        Column("tasks", "count"),
        Column("calls_per_task", "number"),
        Column("tokens", "count"),
        Column("effective_cost", "money"),
        Column("cost_per_call", "number"),
        *(Column(f"{name}_per_million", "number") for name in ("blended", "input", "output")),
        Column("calls_change_pct", "percent"),
        Column("unit_price_change_pct", "percent"),
        *(Column(name, "money") for name in _EFFECTS),
    )
    note = (
        "Changes in percent are since the first month shown; unit price is cost over tokens. by_calls, by_tokens_per_call and "
        "by_unit_price, replaced in this order, add up to the change of cost since the month before."
    )
    return Section("growth", f"Growth of calls against unit price, {currency}", columns, tuple(rows), note)


def tasks_section(tasks: Sequence[Any], currency: str) -> Section:
    """Distribution of cost and calls over tasks, in full; a task with a call that is not priced is left out."""
    rows = tuple(
        {
            "billing_currency": currency,
            "measure": measure,
            "tasks": one.tasks,
            **{point: Decimal(getattr(one, f"{name}_{point}")) for point in POINTS},
        }
        for one in tasks
        for measure, name in (("cost", "cost"), ("calls", "calls"))
    )
    columns = (
        Column("billing_currency", "text", table=False),
        Column("measure", "text"),
        Column("tasks", "count"),
        *(Column(point, "number") for point in POINTS),
    )
    note = "Of tasks, and of traces where there is no task id, whose calls are all priced. A percentile is one of them (nearest rank)."
    return Section("tasks", f"What a task costs, {currency}", columns, rows, note)


def _cost(one: Any) -> Decimal | None:
    cost: Decimal = one.effective_cost
    return cost if one.priced_events else None


def _tokens(one: Any) -> int:
    tokens: int = one.input_tokens + one.output_tokens
    return tokens


def _blended(one: Any) -> Decimal | None:
    return None if one.input_cost is None or not one.priced_events else per(one.effective_cost, _tokens(one), 10**6)


def _unit_change(first: Any, one: Any) -> Decimal | None:
    """Percent by which the cost of a token differs from the first month's."""
    old, new = _cost(first), _cost(one)
    if old is None or new is None or not _tokens(one) or not _tokens(first) or not old:
        return None
    return percent(new * _tokens(first) - old * _tokens(one), old * _tokens(one))


def _effects(before: Any | None, one: Any) -> dict[str, Decimal | None]:
    old, new = (None, None) if before is None else (_cost(before), _cost(one))
    if before is None or old is None or new is None or not before.events or not _tokens(before):
        return dict.fromkeys(_EFFECTS)
    calls, tokens = Fraction(one.events, before.events), Fraction(_tokens(one), _tokens(before))
    cost = Fraction(old)
    values = in_steps([(calls - 1) * cost, (tokens - calls) * cost, Fraction(new) - tokens * cost], _PLACES)
    return dict(zip(_EFFECTS, values, strict=True))
