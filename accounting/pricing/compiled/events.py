"""How are the events of a long batch rated by machine code? Plain events by the kernel, the others by the general path."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from accounting.pricing.block import Answer
from accounting.pricing.book import PriceBook
from accounting.pricing.compiled.row_kernel import rate_plain
from accounting.pricing.compiled.tables import read_only, tables_of
from accounting.pricing.layout import Flags, Ints
from accounting.pricing.match import Codes32, PlanRows
from accounting.usage.classes import USAGE_COLUMNS

GeneralPath = Callable[[PriceBook, PlanRows, Ints, Mapping[str, Ints], Flags | None], Answer]

_BLOCK = 1 << 15
_COLUMNS = ("sku_index", "sku_price_id", "cost", "reason", "currency")
_NO_COUNTS: Ints = np.empty(0, np.int64)
_NO_FLAGS: Flags = np.empty(0, np.bool_)


def rate_events(
    book: PriceBook,
    plan_rows: PlanRows,
    occurred_at: Ints,
    quantities: Mapping[str, Ints],
    cache_read_known: Flags | None,
    general: GeneralPath,
) -> Answer:
    """The answer that `general` gives for the same arguments."""
    count = len(occurred_at)
    answer, tables = Answer(count), tables_of(book)
    code, place = np.empty(min(count, _BLOCK), np.int32), np.empty(min(count, _BLOCK), np.int64)
    columns = [read_only(quantities.get(name, _NO_COUNTS)) for name in USAGE_COLUMNS]
    times, known = read_only(occurred_at), read_only(_NO_FLAGS if cache_read_known is None else cache_read_known)
    others: list[Ints] = []
    plans: list[Codes32] = []
    for start in range(0, count, _BLOCK):
        rows = slice(start, min(start + _BLOCK, count))
        plan = plan_rows(rows, code[: rows.stop - start])
        found = rate_plain(
            read_only(plan),
            times[rows],
            tuple(column[rows] for column in columns),
            known[rows],
            *tables,
            tuple(getattr(answer, name)[rows] for name in _COLUMNS),
            place,
        )
        if found:
            others.append(place[:found] + start)
            plans.append(plan[place[:found]])
    if others:
        these, plan = np.concatenate(others), np.concatenate(plans)
        some = general(
            book,
            lambda rows, _: plan[rows],
            occurred_at[these],
            {name: column[these] for name, column in quantities.items()},
            None if cache_read_known is None else cache_read_known[these],
        )
        for name, column in vars(answer).items():
            column[these] = getattr(some, name)
    return answer
