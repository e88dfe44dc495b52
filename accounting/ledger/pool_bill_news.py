"""Which bills of pool hours are news, and what did a run of billing write?

A bill that is the same again is not written. The schedule never replaces an imported bill unless asked to; an import replaces either.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from accounting.money import format_exact, format_plain, from_line
from accounting.selfhosted.bills import Missing
from accounting.selfhosted.imports.read_costs import ReadCosts
from accounting.selfhosted.spread import Unplaced
from accounting.storage.pool_bills import SCHEDULE, BilledHour

Key = tuple[str, datetime]


@dataclass
class Billed:
    """What a run wrote.

    Attributes:
        written, unchanged, replaced: hours, of pools and of unused capacity; replaced ones had another bill before and are among written.
        kept: hours whose imported bill stays.
        missing: pool hours whose cost is not known, with the reason.
        unplaced: imported amounts that no hour could take.
    """

    written: int = 0
    unchanged: int = 0
    replaced: int = 0
    kept: int = 0
    missing: list[Missing] = field(default_factory=list)
    unplaced: list[Unplaced] = field(default_factory=list)
    totals: Counter[str] = field(default_factory=Counter)
    """currency -> units of 10^-18 of all hours written or unchanged."""


def news(
    found: Mapping[Key, BilledHour],
    known: Mapping[Key, BilledHour],
    result: Billed,
    replace_imported: bool,
    unknown: set[Key] | None,
) -> Iterable[BilledHour]:
    """The hours to write. `unknown`: hours whose cost is not known, whose bill stays; None: what is not found stays, too."""
    for key, one in found.items():
        old = known.get(key)
        if old is not None and old.source != SCHEDULE and not replace_imported:
            result.kept += 1
            continue
        result.totals[one.billing_currency] += one.amount
        if old is not None and _same(old, one):
            result.unchanged += 1
            continue
        result.written += 1
        result.replaced += old is not None
        yield one
    if unknown is None:
        return
    for key, old in known.items():
        if key not in found and key not in unknown and old.source == SCHEDULE and old.amount:
            result.written, result.replaced = result.written + 1, result.replaced + 1
            yield BilledHour(*key, 0, old.billing_currency, 0, SCHEDULE, None, None if old.parts is None else [])


def described(done: Billed, read: ReadCosts | None = None) -> dict[str, Any]:
    """A run as JSON; with `read`, an import: also every row of the file that became no bill."""
    hours = Counter((one.pool_id, one.reason, one.detail) for one in done.missing)
    counts = {name: getattr(done, name) for name in ("written", "replaced", "unchanged", "kept")}
    found: dict[str, Any] = counts | {
        "totals": {currency: format_plain(from_line(units)) for currency, units in sorted(done.totals.items())},
        "missing": [
            {"pool_id": pool_id, "reason": reason, "detail": detail, "hours": count}
            for (pool_id, reason, detail), count in sorted(hours.items())
        ],
    }
    if read is None:
        return found
    unplaced = [
        {"pool_id": one.pool_id, "reason": one.reason, "amount": format_exact(one.amount), "lines": list(one.lines)}
        for one in done.unplaced
    ]
    return found | {"unplaced": unplaced, "left_out": read.left_out_sums(), "rejected": read.rejected}


def _same(old: BilledHour, new: BilledHour) -> bool:
    names = ("amount", "billing_currency", "gpu_us", "source", "parts")
    return all(getattr(old, name) == getattr(new, name) for name in names)
