"""Which users and accounts earn more than they cost, and why does one not?"""

from __future__ import annotations

from typing import Any

import streamlit as st

from dashboard import charts, frame, plot, rows, session, states, url_state
from dashboard.api import Answer, segment

GROUPS = {
    "user": "User",
    "account": "Account",
    "feature": "Feature",
    "model": "Model",
    "cohort": "Cohort of first subscription",
}
SHOWN = {"25": "25", "50": "50", "100": "100", "200": "200"}
_KEYS = {"user": "user_id", "account": "account_id"}
_MONEY = (
    "gross_margin",
    "gross_margin_pct",
    "net_revenue",
    "provider_cost",
    "tools_cost",
    "self_hosted_cost",
    "payment_fees",
    "events",
    "tokens",
)
_MARGIN = ("net_revenue", "provider_cost", "tools_cost", "self_hosted_cost", "payment_fees", "gross_margin")
_SPENT = (
    {"name": "feature", "kind": "text"},
    {"name": "model", "kind": "text"},
    {"name": "purpose", "kind": "text"},
    {"name": "effective_cost", "kind": "money"},
    {"name": "events", "kind": "count"},
    {"name": "unpriced_events", "kind": "count"},
    {"name": "tokens", "kind": "count"},
)
_SUBSCRIBED = tuple(
    {"name": name, "kind": "money" if name == "monthly_price" else "text"}
    for name in ("subscription_id", "plan", "account_id", "monthly_price", "starts_on", "ends_on", "comped")
)
_DAYS = {
    "name": "days",
    "kind": frame.DRAWING,
    "label": "Cost by day",
    "meaning": "Effective cost of the user's calls on each day of the period.",
}


def page() -> None:
    st.title("Users and accounts")
    at = st.columns([2, 1, 2])
    by = url_state.choice("by", "Margins by", GROUPS, "user", at=at[0])
    limit = url_state.choice("rows", "Rows", SHOWN, "50", "The least profitable come first.", at=at[1])
    answer = frame.report("margin", tz=None, group_by=by, limit=limit)
    key = _KEYS.get(by, by)
    listed = [row for row in answer.rows if row["row"] == "detail"]
    offered = [str(row[key]) for row in listed] if by == "user" else []
    user = url_state.pick("user", "One user", offered, "Choose or type a user's id.", at[2], "All users")
    if user:
        _one(user)
        return
    frame.note_coverage(answer)
    if not listed:
        states.empty(
            "No usage and no revenue in this period", "Choose another period, or send events with a `user_id`."
        )
    for currency in rows.currencies(answer):
        _table(answer, currency, key, GROUPS[by])
        _worst(rows.of(listed, billing_currency=currency), by)
    frame.source(answer, "margin")
    if by == "user" and listed:
        _heavy()


def _table(answer: Answer, currency: str, key: str, by: str) -> None:
    totals = {kind: rows.total(answer, kind, currency) for kind in ("total_free_tier_in", "total_free_tier_out")}
    inside, outside = totals["total_free_tier_in"], totals["total_free_tier_out"]
    if inside is None or outside is None:
        return
    at = st.columns(4)
    frame.metric("gross_margin", inside["gross_margin"], currency=currency, at=at[0])
    frame.metric("gross_margin_pct", inside["gross_margin_pct"], "percent", at=at[1])
    frame.metric(
        "gross_margin_free_tier_out", outside["gross_margin"], currency=currency, title="Without free tier", at=at[2]
    )
    frame.metric(
        "gross_margin_free_tier_out_pct", outside["gross_margin_pct"], "percent", title="Without free tier, %", at=at[3]
    )
    shown = [{"name": key, "kind": "text", "label": by}, *rows.chosen(answer.data["columns"], _MONEY)]
    listed = [dict(row) for row in rows.named(rows.statement(answer, currency), key)]
    if key == "user_id":
        shown.insert(3, _DAYS)
        _draw_days(listed, currency)
    frame.table(listed, shown, f"Margins by {by.lower()}, {currency}, the least profitable first")


def _worst(listed: list[rows.Row], by: str) -> None:
    """The way to the page of whoever loses most."""
    lost = [row for row in listed if rows.is_loss(row["gross_margin"])]
    if by == "user" and lost:
        user = str(lost[0]["user_id"])
        url_state.link("users", f"Why does {user} lose money?", icon=":material/person_search:", user=user)


def _draw_days(listed: list[dict[str, Any]], currency: str) -> None:
    """Adds a drawing of its days to each user's row."""
    users = [row["user_id"] for row in listed if row["row"] == "detail"]
    if not users:
        return
    found = states.ask("/v1/user-days", **session.reader().period, user_id=users).data["users"]
    drawn = {one["user_id"]: one["effective_cost"] for one in found if one["billing_currency"] == currency}
    for row in listed:
        if row["row"] == "detail":
            days = drawn.get(row["user_id"], [])
            row["days"] = charts.spark(days, f"cost by day of {row['user_id']}")


def _heavy() -> None:
    plans = frame.report("plan-profitability", tz=None, limit=100)
    for currency in rows.currencies(plans):
        curve = rows.section(plans, "heavy_users", currency)
        if not curve:
            continue
        at = st.columns(2)
        best = ("Subscribers, the most profitable first, %", "Share of the plan's profit, %")
        plot.draw(
            charts.lorenz(curve, "subscribers_pct", "profit_pct", "plan", best),
            f"heavy-users-{currency}",
            "Heavy users",
            "Above 100 % the best subscribers earn what the others lose again; of a plan that loses money, who loses least comes first.",
            at[0],
        )
        cheapest = ("Subscribers, the cheapest first, %", "Share of the plan's cost, %")
        plot.draw(
            charts.lorenz(curve, "subscribers_pct", "cost_pct", "plan", cheapest),
            f"lorenz-{currency}",
            "How uneven cost is",
            "The further below the dotted line, the fewer users cause the cost.",
            at[1],
        )
    frame.source(plans, "plan-profitability")


def _one(user: str) -> None:
    """One user's page."""
    reader = session.reader()
    found, days, sold = states.ask_all(
        (f"/v1/users/{segment(user)}", {**reader.period, "currency": reader.currency}),
        ("/v1/user-days", {**reader.period, "user_id": user}),
        ("/v1/subscriptions", {"user_id": user}),
    )
    st.header(user, anchor=False)
    for row in found.data["margin"]:
        # All that the margin is made of, so that a reader can subtract.
        at = [*st.columns(4), *st.columns(3)]
        currency = row["billing_currency"]
        for place, name in zip(at, _MARGIN, strict=False):
            frame.metric(name, row[name], currency=currency, at=place)
        frame.metric("gross_margin_pct", row["gross_margin_pct"], "percent", at=at[6])
    for one in days.data["users"]:
        currency = one["billing_currency"]
        drawn = [
            {"day": day, "cost": cost, "user": user}
            for day, cost in zip(days.data["days"], one["effective_cost"], strict=True)
        ]
        plot.draw(
            charts.stacked(drawn, "day", "user", "cost", ("Day", f"Effective cost, {currency}"), currency),
            f"user-days-{currency}",
            "Cost by day",
        )
    st.subheader("What it was spent on", anchor=False)
    frame.table(found.data["spent"], _SPENT, f"Requests of {user} by feature and model")
    st.subheader("Subscriptions", anchor=False)
    if sold.data["subscriptions"]:
        frame.table(sold.data["subscriptions"], _SUBSCRIBED, f"Subscriptions of {user}")
    else:
        st.caption("None: this user has no plan.")
    frame.source(found, f"user-{user}", downloads=False)
    frame.files(found.data["spent"], [column["name"] for column in _SPENT], f"user-{user}")
