"""How much of an invoice line has been earned by a moment? Evenly over its service period, by day or by second, to the last digit.

The share of the period that has passed is a fraction of whole numbers; amount x share is rounded half to even once, and what a month
earns is the difference of two such running totals. So the months of a line add up to its amount exactly, however it is cut.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from zoneinfo import ZoneInfo

from accounting.errors import InvalidInput
from accounting.money import MINOR_SCALE

RATABLE = ("day", "second")
BY_USE = ("use", "use_and_breakage")
POLICIES = (*RATABLE, *BY_USE)


@dataclass(frozen=True)
class Line:
    """One line of an invoice, a credit note or a statement of fees, net of tax.

    Attributes:
        line_id: the source's own id.
        kind: subscription | proration | usage | one_off | credits | discount | refund | payment_fee.
        amount: minor units (10^-15), signed as revenue: discounts and refunds are negative; a payment_fee is a positive cost.
        billing_currency: ISO 4217.
        booked_at: when the invoice was finalised, the refund given, the fee taken.
        starts_at, ends_at: service period, half-open; both None: earned whole when booked. A refund has that of the line it is of.
        recognition: day (reporting days) | second | use | use_and_breakage (what is unused is earned at the end).
        units, unit: of a prepaid pack (kind credits): how many requests or tokens it holds; else None.
        invoice_id, refers_to, customer_id, subscription_id, user_id, account_id, plan: what it belongs to; None: not stated.
    """

    line_id: str
    kind: str
    amount: int
    billing_currency: str
    booked_at: datetime
    starts_at: datetime | None = None
    ends_at: datetime | None = None
    recognition: str = "day"
    units: int | None = None
    unit: str | None = None
    invoice_id: str | None = None
    refers_to: str | None = None
    customer_id: str | None = None
    subscription_id: str | None = None
    user_id: str | None = None
    account_id: str | None = None
    plan: str | None = None


def earned_through(line: Line, until: datetime, zone: ZoneInfo, step: int = 1) -> int:
    """Revenue of a ratable line before the moment `until`, minor units.

    A refund counts from its own moment on: with the share of the period that has passed (that part is contra revenue at once), the
    rest as it would have been earned (that part reduces deferred revenue). So recognised + deferred + refunded = billed at any time.

    Args:
        zone: of the reporting days, for recognition by day. A day is earned when it has ended; a period within one day is that day.
        step: rounds running totals to a multiple of this many minor units (`cents(2)` for whole cents).

    Raises InvalidInput for a line that is earned by use (`drawn_through`).
    """
    if line.recognition not in RATABLE:
        raise InvalidInput("recognition", line.recognition, "such a line is earned by use, not by time")
    if line.kind == "refund" and until <= line.booked_at:
        return 0
    done, whole = _passed(line, until, zone)
    return rounded(line.amount * done, whole, step)


def earned_between(line: Line, since: datetime, until: datetime, zone: ZoneInfo, step: int = 1) -> int:
    """Revenue of [since, until): parts of a range add up to the range."""
    return earned_through(line, until, zone, step) - earned_through(line, since, zone, step)


def earned_by_part(line: Line, cuts: Sequence[datetime], zone: ZoneInfo, step: int = 1) -> list[int]:
    """Revenue between each two neighbouring cuts; cuts that enclose the service period give the amount."""
    totals = [earned_through(line, cut, zone, step) for cut in cuts]
    return [after - before for before, after in pairwise(totals)]


def cents(digits: int) -> int:
    """The step of a currency whose smallest unit has that many decimals."""
    return int(10 ** (MINOR_SCALE - digits))


def rounded(numerator: int, denominator: int, step: int = 1) -> int:
    """numerator / denominator as a multiple of `step`, half to even; the denominator is positive."""
    whole, rest = divmod(numerator, denominator * step)
    up = 2 * rest > denominator * step or (2 * rest == denominator * step and whole % 2 == 1)
    return (whole + up) * step


def _passed(line: Line, until: datetime, zone: ZoneInfo) -> tuple[int, int]:
    """How much of the service period lies before `until`: numerator and denominator."""
    if line.starts_at is None or line.ends_at is None:
        return int(line.booked_at < until), 1
    if line.recognition == "day":
        first, after = (moment.astimezone(zone).date() for moment in (line.starts_at, line.ends_at))
        whole = max((after - first).days, 1)
        done = (until.astimezone(zone).date() - first).days
    else:
        whole = _microseconds(line.ends_at - line.starts_at)
        done = _microseconds(until.astimezone(UTC) - line.starts_at)
        if whole == 0:
            return int(done > 0), 1
    return min(max(done, 0), whole), whole


def _microseconds(length: timedelta) -> int:
    return length // timedelta(microseconds=1)
