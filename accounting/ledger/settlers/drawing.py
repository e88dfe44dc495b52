"""How is an amount drawn down by usage? Day by day; the day that would exceed it shares what is left by largest remainder."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from accounting.ledger.settlers.cells import Cell
from accounting.money import split


def draw(balance: int, cells: Sequence[Cell], most: Sequence[int]) -> list[int]:
    """What each cell draws, 10^-15 currency units, at most `most` of it and together at most the balance.

    Cells come in the order of their days; none of `most` is negative.
    """
    drawn: list[int] = []
    for _, day in groupby(range(len(cells)), key=lambda at: cells[at].since):
        wanted = {at: most[at] for at in day}
        of_day = min(balance, sum(wanted.values()))
        balance -= of_day
        if of_day == sum(wanted.values()):
            drawn += wanted.values()
        else:
            drawn += split(of_day, list(wanted.values()), [cells[at].key for at in wanted])
    return drawn
