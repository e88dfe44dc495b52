"""Which price row holds at each moment? Rows of one kind of request laid out over dates, times of day and thresholds.

Rows come in layers: at every moment the first layer that has a row in force decides, and the others are silent.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, time
from itertools import pairwise
from typing import NamedTuple

from accounting.errors import PriceBookError
from accounting.pricing.tariff import Tariff

Chain = tuple[int, ...]
"""Row numbers of one moment: the base row, then rows of rising thresholds."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
EVER = 1 << 62


class Span(NamedTuple):
    """Half-open interval in microseconds since the epoch, and its chains: one all day, or one for each window of the day.

    Attributes:
        windows: (start of the window in microseconds of the day, chain), ascending; an empty chain is a window without a price.
    """

    start: int
    end: int
    windows: tuple[tuple[int, Chain], ...]


def spans(rows: Sequence[Tariff], layers: Sequence[Sequence[int]]) -> list[Span]:
    """The rows (each layer holds their places in the book) as spans of equal validity. Rows of one layer that overlap raise
    PriceBookError, whether or not a layer before them covers the place."""
    if len(layers) == 1 and len(layers[0]) == 1:
        (only,) = layers[0]
        return [Span(_start(rows[only]), _end(rows[only]), _windows(rows, layers))]
    limits = {n: (_start(rows[n]), _end(rows[n])) for layer in layers for n in layer}
    borders = sorted({border for limit in limits.values() for border in limit})
    made: list[Span] = []
    for start, end in pairwise(borders):
        valid = [[n for n in layer if limits[n][0] <= start < limits[n][1]] for layer in layers]
        if any(valid):
            made.append(Span(start, end, _windows(rows, [layer for layer in valid if layer])))
    return made


def min_input(row: Tariff) -> int:
    """Least number of the deciding tokens that the row applies to."""
    return row.above_input_tokens + (row.operator == ">") if row.above_input_tokens else 0


def microseconds(moment: datetime) -> int:
    """Microseconds since the epoch, exactly."""
    since = moment - _EPOCH
    return (since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds


def _windows(rows: Sequence[Tariff], valid: Sequence[Sequence[int]]) -> tuple[tuple[int, Chain], ...]:
    ends = {at for layer in valid for n in layer for at in (rows[n].window_start, rows[n].window_end) if at is not None}
    found: list[tuple[int, Chain]] = []
    for at in sorted(ends or {time(0)}):
        chains = [_chain(rows, [n for n in layer if _holds(rows[n], at)]) for layer in valid]
        found.append((_of_day(at), next((chain for chain in chains if chain), ())))
    return tuple(found if len({chain for _, chain in found}) > 1 else found[:1])


def _chain(rows: Sequence[Tariff], valid: Sequence[int]) -> Chain:
    chain = sorted(valid, key=lambda n: min_input(rows[n]))
    for low, high in pairwise(chain):
        if min_input(rows[low]) == min_input(rows[high]):
            raise PriceBookError(f"two prices for the same requests: {_name(rows[low])} and {_name(rows[high])}")
    if chain and min_input(rows[chain[0]]) != 0:
        raise PriceBookError(f"no base row below {_name(rows[chain[0]])}")
    for low, high in pairwise(chain[1:]):
        if rows[low].decided_by != rows[high].decided_by:
            raise PriceBookError(f"{rows[low].decided_by} and {rows[high].decided_by} decide: {_name(rows[high])}")
    return tuple(chain)


def _holds(row: Tariff, at: time) -> bool:
    start, end = row.window_start, row.window_end
    if start is None or end is None:
        return True
    return start <= at < end if start < end else at >= start or at < end


def _start(row: Tariff) -> int:
    return -EVER if row.effective_from is None else microseconds(row.effective_from)


def _end(row: Tariff) -> int:
    return EVER if row.effective_until is None else microseconds(row.effective_until)


def _of_day(at: time) -> int:
    return ((at.hour * 60 + at.minute) * 60 + at.second) * 1_000_000 + at.microsecond


def _name(row: Tariff) -> str:
    where = "".join(f" {name} {value}" for name in ("surface", "region") if (value := getattr(row, name)) is not None)
    return (
        f"{row.seller}/{row.model}/{row.service_tier}{where} {row.operator}{row.above_input_tokens} "
        f"from {row.effective_from} ({row.sku_price_text})"
    )
