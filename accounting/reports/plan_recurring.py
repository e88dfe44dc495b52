"""What do plans bring every month, in the currency of the report?"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from datetime import date
from decimal import Decimal

from accounting.money import from_minor
from accounting.reports.convert import Converter
from accounting.reports.exact import ZERO, plus

Recurring = Mapping[tuple[str, str], int | None]
"""(plan, currency) -> minor units a month; None: not known."""


def by_currency(recurring: Recurring, day: date) -> dict[tuple[date, str], Decimal]:
    """What is to be converted, at the rate of the day."""
    found: defaultdict[tuple[date, str], Decimal] = defaultdict(Decimal)
    for (_, currency), amount in recurring.items():
        if amount:
            found[day, currency] = plus(found[day, currency], from_minor(amount))
    return dict(found)


def in_currency(
    recurring: Recurring, currency: str, day: date, converter: Converter | None
) -> dict[str, Decimal | None]:
    """Plan -> amount a month, of one currency as billed or of all converted; None where a part is not known."""
    found: dict[str, Decimal | None] = {}
    for (plan, billed), minor in recurring.items():
        if converter is None and billed != currency:
            continue
        before = found.get(plan, ZERO)
        if minor is None or before is None:
            found[plan] = None
        else:
            amount = from_minor(minor)
            found[plan] = plus(
                before, amount if converter is None or not minor else converter.rates[day, billed].convert(amount)
            )
    return found
