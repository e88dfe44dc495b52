"""What is given of the worked company, before anything is reckoned: its CSV files, and what its sheet says of them."""

from __future__ import annotations

import csv
from pathlib import Path

FOLDER = Path(__file__).parent
USERS = ("ann", "ben", "cyd", "dan", "eve", "fay", "gus", "hal", "ivy", "jon", "kim", "lee")
# user, plan, price, seats, days paid in April, days of the price's period, share off, refund
REVENUE = (
    ("ann", "pro", 30, 1, 30, 30, 0, 0),
    ("ben", "pro", 30, 1, 30, 30, 0, 0),
    ("cyd", "pro", 30, 1, 15, 30, 0, 0),
    ("cyd", "team", 45, 1, 15, 30, 0, 0),
    ("dan", "pro", 30, 1, 30, 30, 0, 12),
    ("eve", "pro", 292, 1, 21, 365, 0, 0),
    ("fay", "team", 0, 1, 30, 30, 0, 0),
    ("gus", "pro", 30, 1, 30, 30, 0.2, 0),
    ("hal", "free", 0, 1, 30, 30, 0, 0),
    ("ivy", "team", 45, 2, 30, 30, 0, 0),
    ("jon", "team", 45, 1, 30, 30, 0, 0),
    ("kim", "pro", 30, 1, 20, 30, 0, 0),
    ("lee", "team", 45, 1, 30, 30, 0, 0),
    ("stray", "none", 7, 1, 1, 1, 0, 0),
)
SUBSCRIBED = {"pro": (30, 30, 15, 30, 21, 30, 30), "team": (15, 30, 30, 30, 30), "free": (30,)}
MARCH = {"pro": ("=6", 180), "team": ("=4", 160), "free": ("=17/31", 0)}
"""Average subscribers and net revenue."""
COMPED = ("fay",)
GROUPS = ("user", "account", "plan", "feature", "model", "cohort")
KEYS = ("by user", "by account", "by plan", "by cohort")
ACCOUNT = {"ivy": "acct-ivy"}
BEGAN = {"2026-01": "ann ivy jon kim", "2026-02": "cyd gus", "2026-03": "ben dan fay hal lee", "2026-04": "eve"}
COHORT = {user: month for month, users in BEGAN.items() for user in users.split()}
"""Month of the first subscription."""
PRICES = {
    ("n-large", 3): (3, 0.3, 15),
    ("n-large", 4): (3, 0.3, 15),
    ("n-small", 3): (0.2, 0.02, 1),
    ("n-small", 4): (0.1, 0.01, 0.5),
    ("n-old", 3): (2, 0.2, 10),
    ("n-new", 4): (1, 0.1, 4),
}
PLAN_OF = {"cyd": ("pro", "team"), "hal": ("free", "free"), "": ("none", "none")}
TEAM = ("fay", "ivy", "jon", "lee")
SKUS = (("n-large", 3), ("n-large", 4), ("n-large", 5), ("n-small", 3), ("n-small", 5))
"""Models used in both months, by the column of the token type in the sheet `use`: uncached input, cached, output."""


def plan_of(user: str, moment: str) -> str:
    """The plan on the day: cyd moves to team on 16 April."""
    if user in PLAN_OF:
        return PLAN_OF[user][moment >= "2026-04-16"]
    return "team" if user in TEAM else "pro"


def read(name: str) -> list[dict[str, str]]:
    with (FOLDER / f"{name}.csv").open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def keys_of(user: str, plan: str) -> list[str]:
    """What revenue and fees stand under: user, account, plan, cohort."""
    if user == "stray":
        return ["unmatched_revenue"] * 4
    return [user, ACCOUNT.get(user, "no_account"), plan, COHORT[user]]


def keys_of_use(row: dict[str, str], plan: str) -> list[str]:
    """What a row of use stands under: user, account, plan, feature, model, cohort."""
    if plan in ("idle", "eval"):
        return ["idle" if plan == "idle" else "not_user_facing"] * 6
    if not row["user_id"]:
        return ["unmatched_usage"] * 3 + [row["feature"], row["model"], "unmatched_usage"]
    user, account, plan, cohort = keys_of(row["user_id"], plan)
    return [user, account, plan, row["feature"], row["model"], cohort]
