"""How is every figure of the company's margin reports derived: by user, account, plan, feature, model and cohort?"""

from __future__ import annotations

from openpyxl import Workbook
from openpyxl.worksheet.worksheet import Worksheet

from tests.golden.plan_company.inputs import GROUPS, USERS
from tests.golden.plan_company.sheet_rows import USE_KEYS, Rows, calls, fees, percent_of, revenue, use

APART = ("unmatched_revenue", "unmatched_usage", "idle")
KEYS = {
    "user": (*USERS, *APART),
    "account": ("acct-ivy", "no_account", *APART),
    "plan": ("free", "pro", "team", *APART),
    "feature": ("chat", "search", "no_usage", "unmatched_revenue", "idle"),
    "model": ("n-large", "n-small", "n-new", "s-llama", "no_usage", "unmatched_revenue", "idle"),
    "cohort": ("2026-01", "2026-02", "2026-03", "2026-04", *APART),
}
SHARED = ("chat", "search", "n-large", "n-small", "n-new", "s-llama")
COSTS = ("provider_cost", "tools_cost", "self_hosted_cost", "idle_cost")
REVENUE = ("gross_revenue", "discounts", "refunds")
COUNTS = ("events", "unpriced_events", "pending_events", "tokens")
ADDITIVE = (*REVENUE, *COSTS, "payment_fees", "free_tier_cost", "off_statement_cost", *COUNTS)
KINDS = {"provider_cost": "provider", "tools_cost": "tools", "self_hosted_cost": "own", "idle_cost": "idle"}
OFF_STATEMENT = ("free", "eval")
"""Purposes that the default policy counts as sales and marketing, and as research: no cost of revenue."""


def margins(book: Workbook) -> Rows:
    """A row a key of each grouping, and its totals; figures margin.GROUP.KEY.COLUMN."""
    _shares(book.create_sheet("shares"))
    rows = Rows(book.create_sheet("groups"))
    for group in GROUPS:
        facing = [f"margin.{group}.{key}" for key in KEYS[group]]
        for key in KEYS[group]:
            rows.add(f"margin.{group}.{key}", _derived(_sums(group, key)))
        apart = f"margin.{group}.not_user_facing"
        rows.add(apart, _derived(_sums(group, "not_user_facing")))
        inside = {column: rows.total(facing, column) for column in ADDITIVE}
        rows.add(f"margin.{group}.total_free_tier_in", _derived(inside))
        rows.add(f"margin.{group}.total", _derived({c: rows.total([*facing, apart], c) for c in ADDITIVE}))
        for kind in ("total_free_tier_out", "total_by_policy"):
            # Calls of the free tier leave with its cost; what is left is all on the statement.
            gone = {column: _free(KINDS[column]) for column in COSTS}
            gone |= {
                "events": calls("plan", "free"),
                "tokens": "+".join(use(column, "plan", "free") for column in "DEF"),
            }
            gone |= dict.fromkeys(("free_tier_cost", "off_statement_cost"), use("J", "plan", "free"))
            without = {column: f"{inside[column]}-({formula})" for column, formula in gone.items()}
            rows.add(f"margin.{group}.{kind}", _derived(inside | without))
    return rows


def user_margins(book: Workbook, margins: Rows) -> Rows:
    """The report of users: revenue less usage cost, fees apart; figures user_margin.KEY.COLUMN."""
    rows = Rows(book.create_sheet("users"))
    named = {key: (key,) for key in (*USERS, "idle", "not_user_facing", "total", "total_free_tier_in")}
    named |= {"no_user": ("unmatched_revenue", "unmatched_usage")}
    for key, parts in named.items():
        of = [f"margin.user.{part}" for part in parts]
        cost = "+".join(margins.total(of, column) for column in COSTS)
        rows.add(f"user_margin.{key}", _user(margins, of, cost))
    out = ["margin.user.total_free_tier_out"]
    cost = "+".join(margins.total(out, column) for column in COSTS)
    rows.add("user_margin.total_free_tier_out", _user(margins, out, cost))
    return rows


def _user(margins: Rows, of: list[str], cost: str) -> dict[str, str]:
    return {
        "recognised_revenue": margins.total(of, "net_revenue"),
        "effective_cost": cost,
        "margin": "{recognised_revenue}-{effective_cost}",
        "margin_pct": percent_of("{margin}", "{recognised_revenue}"),
        **{name: margins.total(of, name) for name in ("free_tier_cost", *COUNTS)},
    }


def _sums(group: str, key: str) -> dict[str, str]:
    if group in ("feature", "model"):
        gross, discounts, refunds, paid = (_shared(column, key) for column in "BCDE")
    else:
        gross, discounts, refunds = (revenue(column, group, key) for column in "IJH")
        paid = fees(group, key)
    return {
        "gross_revenue": gross,
        "discounts": discounts,
        "refunds": f"-{refunds}",
        **{name: use("J", group, key, L=kind) for name, kind in KINDS.items()},
        "payment_fees": paid,
        "free_tier_cost": use("J", group, key, N="free"),
        "off_statement_cost": "+".join(use("J", group, key, N=purpose) for purpose in OFF_STATEMENT),
        "events": calls(group, key),
        "unpriced_events": "0",
        "pending_events": "0",
        "tokens": "+".join(use(column, group, key) for column in "DEF"),
    }


def _derived(sums: dict[str, str]) -> dict[str, str]:
    costs = "-".join(f"{{{name}}}" for name in COSTS)
    own = "-".join(f"{{{name}}}" for name in COSTS[:-1])
    return sums | {
        "net_revenue": "{gross_revenue}+{discounts}+{refunds}",
        "gross_margin": f"{{net_revenue}}-{costs}-{{payment_fees}}",
        "gross_margin_pct": percent_of("{gross_margin}", "{net_revenue}"),
        "contribution_margin": f"{{net_revenue}}-{own}-{{payment_fees}}",
        "contribution_margin_pct": percent_of("{contribution_margin}", "{net_revenue}"),
    }


def _free(kind: str) -> str:
    return f'SUMIFS(use!$J$2:$J$99,use!$A$2:$A$99,4,use!$N$2:$N$99,"free",use!$L$2:$L$99,"{kind}")'


def _shares(sheet: Worksheet) -> None:
    """What each user paid, and which part of its calls each feature and model has: revenue follows calls."""
    sheet.append(["user", "gross", "discount", "refund", "fees", "calls", *SHARED])
    for number, user in enumerate(USERS, start=2):
        sums = [revenue(column, "user", user) for column in "IJH"]
        parts = []
        for key in SHARED:
            of = USE_KEYS["feature" if key in KEYS["feature"] else "model"]
            mine = f'COUNTIFS(use!$A$2:$A$99,4,use!$B$2:$B$99,"{user}",use!${of}$2:${of}$99,"{key}")'
            parts.append(f"=IF(F{number}=0,0,{mine}/F{number})")
        sheet.append([user, *(f"={one}" for one in sums), f"={fees('user', user)}", f"={calls('user', user)}", *parts])


def _shared(column: str, key: str) -> str:
    last = len(USERS) + 1
    if key in SHARED:
        part = "GHIJKL"[SHARED.index(key)]
        return f"SUMPRODUCT(shares!{column}2:{column}{last},shares!{part}2:{part}{last})"
    if key == "no_usage":
        return f"SUMIFS(shares!{column}2:{column}{last},shares!F2:F{last},0)"
    if key == "unmatched_revenue":
        return fees("user", key) if column == "E" else revenue("IJH"["BCD".index(column)], "user", key)
    return "0"
