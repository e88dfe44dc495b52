"""What would re-pricing change: how many events, of whom, from which cost to which, and why?"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from typing import Any

import numpy as np
import numpy.typing as npt

from accounting.money import exact_sum, format_minor, format_plain, from_minor
from accounting.pricing.layout import Ints

CAUSES = ("now_priced", "back_dated_row", "new_row", "withdrawn_row", "contract", "alias")
"""Why an event costs something else now:

- now_priced: it had no price, and a row that was known at its time prices it now.
- back_dated_row: the row that holds now was recorded after the event happened.
- new_row: the row that holds now was known at the event's time, and was not used.
- withdrawn_row: no row prices the event any more.
- contract: the list cost is the same, the contracted one is not.
- alias: the name means another model now, or means one at all.
"""
COSTS = ("old_list_cost", "old_contracted_cost", "new_list_cost", "new_contracted_cost")
SHOWN = 100
"""Single events that a plan names; its sums are of all."""

Key = tuple[str, str, str, str, bool, bool]
"""Model, user ('' for none), cause, currency, whether there was a price, whether there is one now."""


@dataclass(frozen=True)
class Change:
    """One event that would cost something else. Costs are plain decimals of the currency, None where there is no price."""

    event_id: str
    occurred_at: datetime
    model: str
    user_id: str | None
    cause: str
    old_status: str
    new_status: str
    old_currency: str
    new_currency: str
    old_contracted_cost: str | None
    new_contracted_cost: str | None

    def to_json(self) -> dict[str, Any]:
        return vars(self) | {"occurred_at": self.occurred_at.isoformat().replace("+00:00", "Z")}


@dataclass
class _Sums:
    """Exact sums of one group, 10^-15 currency units."""

    events: int = 0
    costs: dict[str, int] = field(default_factory=lambda: dict.fromkeys(COSTS, 0))


@dataclass
class RepricePlan:
    """The difference between what the ledger holds and what the price book says now, summed as chunks come in.

    Attributes:
        since, until: UTC, half-open, on event time.
        read: events looked at; changed: those that would cost something else.
        unpriced: events without a price before and after.
        refused: events whose new cost no ledger would book (over the limit, or parts above their whole): left as they are.
        changes: the first events that change, at most SHOWN.
        run_id, charges: of an applied plan: its settlement run, and the lines it appended.
        skipped: changes that were not applied as their event was corrected meanwhile; the next run sees them again.
    """

    since: datetime
    until: datetime
    read: int = 0
    changed: int = 0
    unpriced: int = 0
    refused: int = 0
    changes: list[Change] = field(default_factory=list)
    run_id: str | None = None
    charges: int = 0
    skipped: int = 0
    _groups: dict[Key, _Sums] = field(default_factory=dict)

    def add(self, keys: list[Key], number: npt.NDArray[np.int64], costs: dict[str, Ints]) -> None:
        """Adds changed events.

        Args:
            keys: distinct groups. number: the group of each event, shape (n,).
            costs: by name of COSTS, int64 of shape (n,), 10^-15 of the group's currency, 0 where there is none.
        """
        order = np.argsort(number, kind="stable")
        starts = np.searchsorted(number[order], np.arange(len(keys) + 1))
        for place, key in enumerate(keys):
            rows = order[starts[place] : starts[place + 1]]
            sums = self._groups.setdefault(key, _Sums())
            sums.events += rows.size
            for name, amounts in costs.items():
                sums.costs[name] += exact_sum(amounts[rows])

    def lines(self) -> list[dict[str, Any]]:
        """One dict a model, user, cause and currency, largest difference first; costs in currency units.

        Old costs are None of events that had no price, new ones of events that would have none.
        """
        found = [_line(key, sums) for key, sums in self._groups.items()]
        return sorted(found, key=lambda line: (-abs(line["difference"]), line["model"], line["user_id"] or ""))

    def totals(self) -> list[dict[str, Any]]:
        """One dict a currency: events, old and new contracted cost, and the difference."""
        by_currency: dict[str, _Sums] = {}
        for key, sums in self._groups.items():
            whole = by_currency.setdefault(key[3], _Sums())
            whole.events += sums.events
            for name, amount in sums.costs.items():
                whole.costs[name] += amount
        return [
            {
                "billing_currency": currency,
                "events": whole.events,
                **{name: from_minor(amount) for name, amount in whole.costs.items()},
                "difference": from_minor(whole.costs["new_contracted_cost"] - whole.costs["old_contracted_cost"]),
            }
            for currency, whole in sorted(by_currency.items())
        ]

    def to_json(self, limit: int | None = None) -> dict[str, Any]:
        """Everything as JSON, money as plain decimals; at most `limit` lines, largest differences first."""
        return {
            "from": _utc(self.since),
            "to": _utc(self.until),
            "events_read": self.read,
            "events_changed": self.changed,
            "events_still_unpriced": self.unpriced,
            "events_refused": self.refused,
            "totals": [_plain(line) for line in self.totals()],
            "lines": [_plain(line) for line in self.lines()[:limit]],
            "changes": [change.to_json() for change in self.changes],
            "run_id": self.run_id,
            "charges": self.charges,
            "events_skipped": self.skipped,
        }


def _line(key: Key, sums: _Sums) -> dict[str, Any]:
    model, user_id, cause, currency, had_price, has_price = key
    costs: dict[str, Decimal | None] = {name: from_minor(amount) for name, amount in sums.costs.items()}
    if not had_price:
        costs |= {"old_list_cost": None, "old_contracted_cost": None}
    if not has_price:
        costs |= {"new_list_cost": None, "new_contracted_cost": None}
    return {
        "model": model,
        "user_id": user_id or None,
        "cause": cause,
        "billing_currency": currency,
        "events": sums.events,
        **costs,
        "difference": from_minor(sums.costs["new_contracted_cost"] - sums.costs["old_contracted_cost"]),
    }


def minor(value: int | None) -> str | None:
    """A cost in minor units as text, None where there is none."""
    return None if value is None else format_minor(value)


def _plain(line: dict[str, Any]) -> dict[str, Any]:
    return {name: format_plain(value) if isinstance(value, Decimal) else value for name, value in line.items()}


def _utc(moment: datetime) -> str:
    return moment.isoformat().replace("+00:00", "Z")
