"""How is every figure of the company's workload report derived: by model, by feature, and from March to April?"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from openpyxl import Workbook
from openpyxl.worksheet.worksheet import Worksheet

from tests.golden.plan_company.sheet_rows import NONE, Rows

ZEROS = ("retries", "failures", "tasks", "retry_cost", "failure_cost")
"""No call failed or was a retry, none names a task, and none says when its first token came."""
UNKNOWN = (
    "cost_per_task",
    "calls_per_task",
    *(f"{name}_ms_{p}" for name in ("queue", "ttft", "itl") for p in ("p50", "p95")),
)
Event = Mapping[str, str]


def workload(
    book: Workbook, events: Sequence[Event], price: Callable[[Event], tuple[float, float, float]]
) -> dict[str, str]:
    """Figures workload.GROUP.KEY.COLUMN of April and growth.MONTH.COLUMN.

    Args:
        events: users' calls of both months.
        price: of a call's fresh input, cached input and output, a million.
    """
    rows = Rows(book.create_sheet("workload"))
    for group in ("model", "feature"):
        april = sorted((one for one in events if one["occurred_at"][:7] == "2026-04"), key=lambda one: one[group])
        sheet = book.create_sheet(f"calls by {group}")
        _calls(sheet, april, group, price)
        keys = [one[group] for one in april]
        spans = {key: (keys.index(key) + 2, keys.index(key) + 1 + keys.count(key)) for key in dict.fromkeys(keys)}
        for key, span in (spans | {"total": (2, len(april) + 1)}).items():
            rows.add(f"workload.{group}.{key}", _figures(f"'{sheet.title}'", span))
    both = book.create_sheet("calls of both months")
    ordered = sorted(events, key=lambda one: one["occurred_at"])
    _calls(both, ordered, "model", price)
    first = sum(one["occurred_at"][:7] == "2026-03" for one in ordered)
    growth = Rows(book.create_sheet("growth"))
    for month, span in (("2026-03", (2, first + 1)), ("2026-04", (first + 2, len(ordered) + 1))):
        growth.add(f"growth.{month}", _month(growth, _figures(f"'{both.title}'", span), month))
    return rows.figures | growth.figures


def _calls(
    sheet: Worksheet, events: Sequence[Event], key: str, price: Callable[[Event], tuple[float, float, float]]
) -> None:
    sheet.append(
        ["key", "in", "cached", "out", "price in", "price cached", "price out", "input cost", "output cost", "saving"]
    )
    for number, one in enumerate(events, start=2):
        cached = int(one["cache_read"])
        tokens = [int(one["uncached_input"]) + cached, cached, int(one["output"])]
        sheet.append([one[key], *tokens, *price(one),
                      f"=((B{number}-C{number})*E{number}+C{number}*F{number})/1000000",
                      f"=D{number}*G{number}/1000000", f"=C{number}*(E{number}-F{number})/1000000"])  # fmt: skip


def _figures(sheet: str, span: tuple[int, int]) -> dict[str, str]:
    total, cached, out, spent, answered, saved = (f"{sheet}!{c}{span[0]}:{c}{span[1]}" for c in "BCDHIJ")
    count = span[1] - span[0] + 1
    return {
        "events": f"COUNT({total})",
        "priced_events": "{events}",
        **dict.fromkeys(ZEROS, "0"),
        "input_tokens": f"SUM({total})",
        "cache_read_tokens": f"SUM({cached})",
        "output_tokens": f"SUM({out})",
        "output_to_input": "{output_tokens}/{input_tokens}",
        "context_p50": f"SMALL({total},{-(-count * 50 // 100)})",
        "context_p95": f"SMALL({total},{-(-count * 95 // 100)})",
        "context_max": f"MAX({total})",
        "cache_hit_pct": "100*{cache_read_tokens}/{input_tokens}",
        "cache_saving": f"SUM({saved})",
        "effective_cost": f"SUM({spent})+SUM({answered})",
        **dict.fromkeys(UNKNOWN, NONE),
        "blended_per_million": "1000000*{effective_cost}/({input_tokens}+{output_tokens})",
        "input_per_million": f"1000000*SUM({spent})/{{input_tokens}}",
        "output_per_million": f"1000000*SUM({answered})/{{output_tokens}}",
    }


def _month(growth: Rows, of: Mapping[str, str], month: str) -> dict[str, str]:
    kept = ("input_tokens", "output_tokens", "effective_cost", "blended_per_million", "input_per_million")
    found = {"calls": of["events"], **{name: of[name] for name in (*kept, "output_per_million")}}
    found |= {"tasks": "0", "calls_per_task": NONE, "tokens": "{input_tokens}+{output_tokens}"}
    found |= {"cost_per_call": "{effective_cost}/{calls}"}
    if month == "2026-03":
        changes = dict.fromkeys(("calls_change_pct", "unit_price_change_pct"), "0")
        return found | changes | dict.fromkeys(("by_calls", "by_tokens_per_call", "by_unit_price"), NONE)
    calls, tokens, cost = (growth.at(f"growth.2026-03.{name}") for name in ("calls", "tokens", "effective_cost"))
    return found | {
        "calls_change_pct": f"100*({{calls}}-{calls})/{calls}",
        "unit_price_change_pct": f"100*(({{effective_cost}}/{{tokens}})/({cost}/{tokens})-1)",
        "by_calls": f"({{calls}}/{calls}-1)*{cost}",
        "by_tokens_per_call": f"({{tokens}}/{tokens}-{{calls}}/{calls})*{cost}",
        "by_unit_price": f"{{effective_cost}}-{{tokens}}/{tokens}*{cost}",
    }
