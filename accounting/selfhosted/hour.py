"""What becomes of a pool hour's bill? bill = direct shares + gap + idle, to the last unit, and each of them over the requests.

Direct, gap and idle are worked out each by itself from replica time; the units left over by rounding go to the largest remainders.
Money is whole units of whatever scale the caller holds it at (10^-15 of the currency in this project's event costs).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from accounting.errors import InvalidInput, MoneyError
from accounting.money import exact_sum
from accounting.selfhosted.apportion import apportion, split_signed
from accounting.selfhosted.arrays import PS_PER_SECOND, PS_PER_US, Floats
from accounting.selfhosted.curve import StepCurve
from accounting.selfhosted.lines import Lines
from accounting.selfhosted.shares import Attribution

Amounts = npt.NDArray[Any]


@dataclass(frozen=True)
class Settled:
    """One pool hour. Amounts in whole units; columns by line.

    Attributes:
        bill: what was paid.
        direct, gap, idle: its three terms; the gap is negative where the curve predicts more time than passed.
        unproven, variance, underfill: memos: of the gap, what failed requests without evidence held alone; of the gap, measured less
            standard step time (None without a step ledger); of direct, empty places in the batch (None without R* or for form=table).
        unallocated_gap, unallocated_idle: terms of an hour without shares; they go to the month.
        utilisation: (own work + t_0 at R*) / bill; None where underfill is.
        calibration: time in flight over predicted time; below 1 the curve over-predicts. None in an hour without shares.
        lines: the shares. direct_cost, gap_cost, idle_cost: their money.
        underfill_seconds: of each line; None where underfill is.
    """

    bill: int
    direct: int
    gap: int
    idle: int
    unproven: int
    variance: int | None
    underfill: int | None
    unallocated_gap: int
    unallocated_idle: int
    utilisation: float | None
    calibration: float | None
    lines: Lines
    direct_cost: Amounts
    gap_cost: Amounts
    idle_cost: Amounts
    underfill_seconds: Floats | None

    @property
    def attributed_cost(self) -> Amounts:
        """Direct and gap: the basis of margin reports."""
        return np.asarray(self.direct_cost + self.gap_cost)

    @property
    def fully_loaded_cost(self) -> Amounts:
        """Direct, gap and idle: the basis to be set beside a provider's price."""
        return np.asarray(self.attributed_cost + self.idle_cost)

    def check(self) -> None:
        """Raises MoneyError when lines and terms don't add up to the bill."""
        for name, lines, left in (
            ("direct", self.direct_cost, 0),
            ("gap", self.gap_cost, self.unallocated_gap),
            ("idle", self.idle_cost, self.unallocated_idle),
        ):
            total = total_of(lines) + left
            if total != getattr(self, name):
                raise MoneyError(name, getattr(self, name), f"its lines add up to {total}")
        if self.direct + self.gap + self.idle != self.bill:
            raise MoneyError("bill", self.bill, f"direct, gap and idle add up to {self.direct + self.gap + self.idle}")


def settle_hour(
    found: Attribution, hour: int, bill: int, request_id: npt.NDArray[Any], best_batch: int | None = None
) -> Settled:
    """Splits the bill of one hour. `request_id`: of all requests given to `attribute`; `best_batch`: R* (`curve.best_batch`)."""
    if isinstance(bill, bool) or not isinstance(bill, int) or bill < 0:
        raise InvalidInput("bill", bill, "whole units, not negative, are expected")
    if best_batch is not None and best_batch < 1:
        raise InvalidInput("best_batch", best_batch, "a whole number from 1 is expected")
    lines = found.lines_of(hour)
    capacity, flight, idle_us = (int(column[hour]) for column in (found.capacity_us, found.in_flight_us, found.idle_us))
    if flight + idle_us != capacity:
        raise MoneyError(
            "bill", bill, f"{flight} us in flight and {idle_us} us idle are not the {capacity} us paid for"
        )
    pool = capacity * PS_PER_US
    direct_ps = exact_sum(lines.share_ps)
    direct, gap, idle = split_signed(bill, [direct_ps, flight * PS_PER_US - direct_ps, idle_us * PS_PER_US], pool)
    shares = direct_ps > 0
    nothing = np.zeros(len(lines), np.int64)
    direct_cost, gap_cost, idle_cost = (
        apportion(term, lines.share_ps, request_id, lines.row) if shares else nothing for term in (direct, gap, idle)
    )
    underfill = _underfill(found, lines, best_batch)
    empty = None if underfill is None else _whole_ps(underfill)
    return Settled(
        bill=bill,
        direct=direct,
        gap=gap,
        idle=idle,
        unproven=round(Fraction(bill * int(found.unproven_us[hour]), capacity)),
        variance=None if found.variance_ps is None else round(Fraction(bill * int(found.variance_ps[hour]), pool)),
        underfill=None if empty is None else round(Fraction(bill * empty, pool)),
        unallocated_gap=0 if shares else gap,
        unallocated_idle=0 if shares else idle,
        utilisation=None if empty is None else (direct_ps - empty) / pool,
        calibration=flight * PS_PER_US / direct_ps if shares else None,
        lines=lines,
        direct_cost=direct_cost,
        gap_cost=gap_cost,
        idle_cost=idle_cost,
        underfill_seconds=underfill,
    )


def total_of(amounts: Amounts) -> int:
    """Their sum as a Python integer."""
    return exact_sum(amounts) if amounts.dtype == np.int64 else int(sum(amounts.tolist()))


def _underfill(found: Attribution, lines: Lines, best_batch: int | None) -> Floats | None:
    """t_0 * (1 - R/R*) summed over steps: the shared part less what the same requests would pay at R* (README.md, "The bill")."""
    if best_batch is None or not isinstance(found.curve, StepCurve):
        return None
    return np.asarray(lines.shared - found.curve.t_0 * lines.request_steps / best_batch)


def _whole_ps(seconds: Floats) -> int:
    return exact_sum(np.rint(seconds * PS_PER_SECOND).astype(np.int64))
