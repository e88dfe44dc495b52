"""How is every figure of the company's plan report derived: the plans' rows, what stands beside them, and two months of cohorts?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

from openpyxl import Workbook
from openpyxl.worksheet.worksheet import Worksheet

from tests.golden.plan_company.sheet_margins import APART, COSTS
from tests.golden.plan_company.sheet_rows import NONE, Rows, fees, percent_of, revenue, use

PLANS = ("free", "pro", "team")
UNITS = {"requests": "F", "tokens": "G"}
"""Column of the plan's sheet with the use."""
EDGES = [0, *(step * 10**power for power in range(8) for step in (1, 2, 5))]
MIX = {"uncached_input": "D", "cache_read": "E", "output": "F"}
# 30 April, list price: five pay 30 a month and eve 292 a year; cyd, jon and lee a seat at 45, ivy two; fay is comped.
MONTHLY = {"free": "0", "pro": "5*30+292/12", "team": "3*45+2*45"}
TOTALS = ("total", "total_free_tier_in", "total_free_tier_out", "total_by_policy")
# user, plan, price, seats, days paid in March, days of the price's period
MARCH = (
    ("ann", "pro", 30, 1, 31, 31),
    ("ben", "pro", 30, 1, 31, 31),
    ("cyd", "pro", 30, 1, 31, 31),
    ("dan", "pro", 30, 1, 31, 31),
    ("fay", "team", 0, 1, 31, 31),
    ("gus", "pro", 30, 1, 31, 31),
    ("hal", "free", 0, 1, 17, 31),
    ("ivy", "team", 40, 2, 31, 31),
    ("jon", "team", 40, 1, 31, 31),
    ("kim", "pro", 30, 1, 31, 31),
    ("lee", "team", 40, 1, 31, 31),
)
COHORTS = {"2026-03": ("ben", "dan", "fay", "hal", "lee"), "2026-04": ("eve",)}
"""Who began in the two months."""


def plans(book: Workbook, members: Mapping[str, Sequence[str]], margins: Rows) -> Rows:
    """The plan report's own columns and sections; figures plan.PLAN.COLUMN, member.PLAN.USER.COLUMN, SECTION.PLAN.KEY.COLUMN."""
    rows = Rows(book.create_sheet("plans"))
    for plan in PLANS:
        _members(rows, plan, members[plan])
        _plan(rows, plan, len(members[plan]), margins)
        _use(rows, plan, len(members[plan]))
        _heavy(rows, plan, len(members[plan]))
    for kind in (*APART, "not_user_facing"):
        none = {"net_revenue_per_subscriber": NONE, "cost_per_subscriber": NONE, "loss_making_pct": NONE}
        counts = ("subscribers", "paying_subscribers", "average_subscribers", "monthly_recurring", "loss_making")
        rows.add(f"plan.{kind}", dict.fromkeys(counts, "0") | none)
    for kind in TOTALS:
        whole = [f"plan.{plan}" for plan in PLANS]
        counts = ("subscribers", "paying_subscribers", "average_subscribers", "monthly_recurring", "loss_making")
        of = f"margin.plan.{kind}"
        rows.add(f"plan.{kind}", {name: rows.total(whole, name) for name in counts} | _each(margins, of))
    rows.add("free_tier", {"free_tier_cost": margins.at("margin.plan.total.free_tier_cost"),
                           "paying_users": "+".join(f"({revenue('K', 'user', user)}>0)" for user in _everybody(members)),
                           "cost_per_paying_user": "{free_tier_cost}/({paying_users})"})  # fmt: skip
    return rows


def _everybody(members: Mapping[str, Sequence[str]]) -> list[str]:
    return sorted({user for users in members.values() for user in users})


def _each(margins: Rows, of: str) -> dict[str, str]:
    cost = "+".join(margins.at(f"{of}.{column}") for column in COSTS)
    return {
        "loss_making_pct": percent_of("{loss_making}", "{subscribers}"),
        "net_revenue_per_subscriber": f"{margins.at(f'{of}.net_revenue')}/{{subscribers}}",
        "cost_per_subscriber": f"({cost})/{{subscribers}}",
    }


def _members(rows: Rows, plan: str, users: Sequence[str]) -> None:
    names = ("net_revenue", "usage_cost", "payment_fees", "margin", "requests", "tokens")
    for number, user in enumerate(users, start=2):
        rows.add(f"member.{plan}.{user}", {n: f"{plan}!{c}{number}" for n, c in zip(names, "BCDEFG", strict=True)})


def _plan(rows: Rows, plan: str, count: int, margins: Rows) -> None:
    net, cost, paid, margin, payers = (f"{plan}!{column}2:{column}{count + 1}" for column in "BCDEH")
    figures = {
        "subscribers": f"COUNTA({plan}!A2:A{count + 1})",
        "paying_subscribers": f'COUNTIF({net},">0")',
        "average_subscribers": f"bridge!C{PLANS.index(plan) + 2}",
        "monthly_recurring": MONTHLY[plan],
        "loss_making": f'COUNTIF({margin},"<0")',
        **_each(margins, f"margin.plan.{plan}"),
    }
    rows.add(f"plan.{plan}", figures)
    ranks = {name: -(-count * share // 100) for name, share in (("p50", 50), ("p90", 90), ("p95", 95), ("p99", 99))}
    places = "+".join(f"{place}*SMALL({cost},{place})" for place in range(1, count + 1))
    tops = {f"top_{top}_pct": -(-count * top // 100) for top in (1, 5, 10)}
    dearest = {name: "+".join(f"LARGE({cost},{n})" for n in range(1, of + 1)) for name, of in tops.items()}
    rows.add(f"cost_distribution.{plan}", {
        "subscribers": f"COUNTA({plan}!A2:A{count + 1})",
        "cost_mean": f"SUM({cost})/{{subscribers}}",
        **{f"cost_{name}": f"SMALL({cost},{place})" for name, place in ranks.items()},
        "cost_max": f"MAX({cost})",
        "gini": f"2*({places})/({count}*SUM({cost}))-({count}+1)/{count}",
        **{name: percent_of(f"({some})", f"SUM({cost})") for name, some in dearest.items()},
        "margin_pct": percent_of(f"SUM({margin})", f"SUM({net})"),
        "net_revenue_mean": f"SUM({net})/{{subscribers}}",
    })  # fmt: skip
    mix = {
        name: "+".join(use(column, "plan", plan, L=kind) for kind in ("provider", "own"))
        for name, column in MIX.items()
    }
    whole = "+".join(mix.values())
    rows.add(f"mix.{plan}", {name: percent_of(f"({part})", f"({whole})") for name, part in mix.items()})
    for unit, column in UNITS.items():
        used = f"{plan}!{column}2:{column}{count + 1}"
        each = f"(SUMPRODUCT({net}-{paid},{payers})/SUM({payers}))"
        rows.add(f"break_even.{plan}.{unit}", {
            "unit_cost": f"SUM({cost})/SUM({used})",
            "break_even_use": f"{each}/{{unit_cost}}",
            "above": f'COUNTIF({used},">"&{{break_even_use}})',
            "above_pct": f"100*{{above}}/{count}",
            "loss": f'-SUMIF({margin},"<0")',
        })  # fmt: skip
        bears = f"{plan}!{'I' if unit == 'requests' else 'J'}2:{'I' if unit == 'requests' else 'J'}{count + 1}"
        # 95 and 99 % of so few are all of them: who bears least decides. 1E+15 stands for all of one's own use.
        worst = f"MIN({bears})"
        for share in (95, 99):
            rows.add(f"caps.{plan}.{unit}.{share}", {
                "cap": f"IF({worst}=1E+15,{NONE},{worst})",
                "capped": f'IF({worst}=1E+15,{NONE},COUNTIF({used},">"&{worst}))',
            })  # fmt: skip


def _use(rows: Rows, plan: str, count: int) -> None:
    for unit, column in UNITS.items():
        used, margin = (f"{plan}!{name}2:{name}{count + 1}" for name in (column, "E"))
        for since, until in pairwise(EDGES):
            within = f'{used},">={since}",{used},"<{until}"'
            rows.add(f"use_distribution.{plan}.{unit}.{since}.{until}", {
                "subscribers": f"COUNTIFS({within})", "loss_making": f'COUNTIFS({within},{margin},"<0")',
            })  # fmt: skip


def _heavy(rows: Rows, plan: str, count: int) -> None:
    margin, cost = (f"{plan}!{name}2:{name}{count + 1}" for name in "EC")
    for some in range(count + 1):
        best = "+".join(f"LARGE({margin},{place})" for place in range(1, some + 1)) or "0"
        least = "+".join(f"SMALL({cost},{place})" for place in range(1, some + 1)) or "0"
        rows.add(f"heavy_users.{plan}.{some}", {
            "subscribers_pct": f"100*{some}/{count}",
            "profit_pct": percent_of(f"({best})", f"SUM({margin})"),
            "cost_pct": percent_of(f"({least})", f"SUM({cost})"),
        })  # fmt: skip


def cohorts(book: Workbook) -> Rows:
    """March and April of who began in them; figures cohorts.MONTH.AGE.COLUMN."""
    _march(book.create_sheet("march"))
    rows = Rows(book.create_sheet("cohorts"))
    for cohort, users in COHORTS.items():
        before: list[str] = []
        for age, month in enumerate(range(int(cohort[5:]), 5)):
            name = f"cohorts.{cohort}.{age}"
            sold = f'SUMIFS(march!H$2:H$99,march!G$2:G$99,"{cohort}")' if month == 3 else revenue("K", "cohort", cohort)
            rows.add(name, {
                "users": str(len(users)),
                "net_revenue": sold,
                "cost": f"{use('J', 'cohort', cohort, month)}+{fees('cohort', cohort, month)}",
                "contribution": "{net_revenue}-{cost}",
                "cumulative_contribution": "+".join([*before, "{contribution}"]),
                "cumulative_per_user": "{cumulative_contribution}/{users}",
                **dict.fromkeys(("per_user_low", "per_user_high", "acquisition_cost_per_user"), NONE),
            })  # fmt: skip
            before.append(rows.at(f"{name}.contribution"))
    return rows


def _march(sheet: Worksheet) -> None:
    sheet.append(["user", "plan", "price", "seats", "days", "of days", "cohort", "net"])
    of = {user: cohort for cohort, users in COHORTS.items() for user in users}
    for number, row in enumerate(MARCH, start=2):
        sheet.append([*row, of.get(row[0], "earlier"), f"=C{number}*D{number}*E{number}/F{number}"])
