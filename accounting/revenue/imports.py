"""How do subscriptions come in from a file? One CSV line each; good lines are kept, every bad one is named."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sqlalchemy import Engine

from accounting.errors import InvalidInput
from accounting.revenue.csv_rows import csv_rows
from accounting.revenue.monthly import Subscription
from accounting.revenue.plans import plan_keys, write_subscriptions
from accounting.revenue.subscriptions import make_subscription
from accounting.storage.engine import transaction
from accounting.tenant import TenantContext

REQUIRED = ("subscription_id", "plan", "user_id", "monthly_price", "currency", "starts_on")
OPTIONAL = ("account_id", "ends_on", "quantity", "interval_months", "comped", "trial_until", "revenue_from")
_WORDS = {"": False, "no": False, "false": False, "yes": True, "true": True}


@dataclass
class ImportResult:
    """Attributes: imported: lines kept; rejected: {"line", "field", "value", "reason"} of each line left out, line 1 the heading."""

    imported: int = 0
    rejected: list[dict[str, Any]] = field(default_factory=list)

    def reject(self, line: int, error: InvalidInput) -> None:
        """Notes a line that can't be used."""
        self.rejected.append({"line": line, "field": error.field, "value": error.value, "reason": error.reason})


def import_subscriptions_csv(engine: Engine, context: TenantContext, path: Path) -> ImportResult:
    """Adds or replaces one subscription a line, all in one transaction; plans must exist.

    Columns: subscription_id, plan, user_id, account_id, monthly_price, currency, starts_on, ends_on, quantity, interval_months, comped
    (yes or no), trial_until, revenue_from, in any order; an empty optional one means its default.

    Raises InvalidInput for a file whose heading lacks a column, has an unknown one or is no
    UTF-8 CSV.
    """
    result = ImportResult()
    rows: dict[str, Subscription] = {}
    with transaction(engine, context.tenant) as connection:
        known = plan_keys(connection, context)
        for line, cells in csv_rows(path, REQUIRED, OPTIONAL):
            try:
                subscription = _parse(context, cells)
                if subscription.plan not in known:
                    raise InvalidInput("plan", subscription.plan, "no such plan of this tenant; make the plan first")
                if subscription.subscription_id in rows:
                    raise InvalidInput("subscription_id", subscription.subscription_id, "is on an earlier line already")
            except InvalidInput as error:
                result.reject(line, error)
            else:
                rows[subscription.subscription_id] = subscription
        write_subscriptions(connection, context, list(rows.values()))
    result.imported = len(rows)
    return result


def _parse(context: TenantContext, cells: dict[str, str]) -> Subscription:
    if "" in cells:
        raise InvalidInput("line", cells[""], "has more cells than the heading")
    return make_subscription(
        context,
        cells["subscription_id"],
        plan=cells["plan"],
        user_id=cells["user_id"],
        account_id=cells.get("account_id") or None,
        monthly_price=cells["monthly_price"],
        billing_currency=cells["currency"],
        starts_on=cells["starts_on"],
        ends_on=cells.get("ends_on") or None,
        quantity=cells.get("quantity") or 1,
        interval_months=cells.get("interval_months") or 1,
        comped=_yes("comped", cells.get("comped", "")),
        trial_until=cells.get("trial_until") or None,
        revenue_from=cells.get("revenue_from") or "price",
    )


def _yes(field: str, text: str) -> bool:
    if text.lower() not in _WORDS:
        raise InvalidInput(field, text, "yes or no is expected")
    return _WORDS[text.lower()]
