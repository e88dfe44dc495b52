"""How does a price book look to the kernel? The book's own arrays, stacked."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from accounting.money import EVENT_LIMIT
from accounting.pricing import marginal, reasons
from accounting.pricing.block import COUNT_LIMIT
from accounting.pricing.book import PriceBook
from accounting.pricing.compiled.row_kernel import (
    COLUMNS,
    CURRENCY_FROM,
    IS_INPUT,
    IS_MEMO,
    IS_PART,
    IS_UNIT,
    REASON_FROM,
    TRAIT_FROM,
)
from accounting.pricing.layout import BLOCK_BITS, DAY_US, NEVER, Ints, Windows
from accounting.pricing.leaves import CLASS_OF_COLUMN, INPUT_COLUMNS, UNIT_COLUMNS, WHOLE_OF
from accounting.usage.classes import USAGE_COLUMNS

Array = npt.NDArray[Any]

_SURELY_BELOW = EVENT_LIMIT // 2


class Tables(NamedTuple):
    """Arguments of the kernel that belong to the book; n columns in the order of USAGE_COLUMNS, p positions.

    Attributes:
        numbers: constants, in the order in which the kernel takes them apart.
        ints: borders of the calendar, price of a request, bits of the columns that each position can't price, highest price by
            column, number of the whole that each column is a part of (n: of none), kinds by column.
        codes: bins of the calendar, plan.
        tables: prices (n x p, marginal); thresholds (levels x p); windows, a line for each placeholder: 0, the position before the
            first start, then start and position from it, and so on; facts (p x 2): sku_price_id, and row, currency, reason and
            traits in one word, so that they are one look-up.
    """

    numbers: tuple[int, ...]
    ints: tuple[Ints, ...]
    codes: tuple[npt.NDArray[np.int32], ...]
    tables: tuple[Ints, ...]


def tables_of(book: PriceBook) -> Tables:
    """Stacks a book's arrays; takes a fraction of a millisecond."""
    positions, size = book.positions, book.positions.row_at.size
    lacking: Ints = np.zeros(size, np.int64)
    for number, name in enumerate(USAGE_COLUMNS):
        if name != "reasoning_tokens":
            lacking |= book.missing[CLASS_OF_COLUMN[name]].astype(np.int64) << number
    highest = [book.marginal.highest.get(name, 0) for name in USAGE_COLUMNS]
    inside = WHOLE_OF | {"reasoning_tokens": "output_tokens"}
    whole_of = [USAGE_COLUMNS.index(inside[name]) if name in inside else COLUMNS for name in USAGE_COLUMNS]
    ints = (
        book.calendar.borders,
        book.prices["requests"],
        lacking,
        np.array(highest, np.int64),
        np.array(whole_of, np.int64),
        np.array([_kind(name) for name in USAGE_COLUMNS], np.int64),
    )
    tables = (
        np.stack([book.marginal.price[name] for name in USAGE_COLUMNS]),
        np.array(positions.thresholds, np.int64).reshape(-1, size),
        _windows(positions.windows),
        _facts(book),
    )
    return Tables(
        _numbers(book),
        tuple(map(read_only, ints)),
        tuple(map(read_only, (book.calendar.bins, book.plan.astype(np.int32)))),
        tuple(map(read_only, tables)),
    )


def _facts(book: PriceBook) -> Ints:
    row_at = book.positions.row_at.astype(np.int64)
    facts: Ints = np.stack([book.sku_price_ids, row_at & 0xFFFFFFFF], axis=1)
    matched = np.arange(row_at.size) >= reasons.MATCH_REASONS
    facts[:, 1] |= np.where(matched, book.currency_at.astype(np.int64), 0xFF) << CURRENCY_FROM
    facts[:, 1] |= np.where(matched, reasons.PRICED, np.arange(row_at.size)) << REASON_FROM
    facts[:, 1] |= book.marginal.traits.astype(np.int64) << TRAIT_FROM
    return facts


def _numbers(book: PriceBook) -> tuple[int, ...]:
    return (
        book.calendar.first_block,
        BLOCK_BITS,
        DAY_US,
        book.positions.first_window,
        reasons.MATCH_REASONS,
        reasons.CACHE_READ_UNKNOWN,
        COUNT_LIMIT,
        book.positions.least_threshold,
        book.marginal.highest_request,
        _SURELY_BELOW,
        USAGE_COLUMNS.index("output_tokens"),
        USAGE_COLUMNS.index("reasoning_tokens"),
        marginal.REASONING_APART,
        marginal.REQUESTS_PRICED,
        marginal.LACKS_WHOLE,
        marginal.HAS_THRESHOLDS,
        marginal.DECIDED_APART,
    )


def _kind(name: str) -> int:
    kinds = {
        IS_INPUT: name in INPUT_COLUMNS,
        IS_PART: name in WHOLE_OF,
        IS_UNIT: name in UNIT_COLUMNS,
        IS_MEMO: name == "reasoning_tokens",
    }
    return sum(kind for kind, holds in kinds.items() if holds)


def _windows(days: tuple[Windows, ...]) -> Ints:
    longest = max((day.starts.size for day in days), default=0)
    lines: Ints = np.full((len(days), 2 + 2 * longest), NEVER)
    for line, day in zip(lines, days, strict=True):
        line[:2] = 0, day.positions[-1]
        line[2 : 2 + 2 * day.starts.size : 2] = day.starts
        line[3 : 3 + 2 * day.starts.size : 2] = day.positions
    return lines


def read_only(column: Array) -> Array:
    """A view of one type, whether or not the array itself may be written."""
    view = np.ascontiguousarray(column).view()
    view.flags.writeable = False
    return view
