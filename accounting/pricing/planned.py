"""What does each event cost whose group in the book is known? By machine code where that is worthwhile, else block by block."""

from __future__ import annotations

from collections.abc import Mapping

from accounting.pricing.block import Answer, Block, Buffers, common_columns
from accounting.pricing.book import PriceBook
from accounting.pricing.compiled import worthwhile
from accounting.pricing.costs import add_costs
from accounting.pricing.layout import Flags, Ints
from accounting.pricing.locate import locate
from accounting.pricing.match import PlanRows
from accounting.pricing.refusals import refuse
from accounting.usage.classes import USAGE_COLUMNS

BLOCK = 1 << 15


def rate_planned(
    book: PriceBook,
    plan_rows: PlanRows,
    occurred_at: Ints,
    quantities: Mapping[str, Ints],
    cache_read_known: Flags | None,
) -> Answer:
    """Answer for n events; columns as in `rate.RateInput`, checked before."""
    ordered = {name: quantities[name] for name in USAGE_COLUMNS if name in quantities}
    events = (book, plan_rows, occurred_at, ordered, cache_read_known)
    if worthwhile(len(occurred_at)):
        from accounting.pricing.compiled.events import rate_events  # noqa: PLC0415

        return rate_events(*events, _rate_events)
    return _rate_events(*events)


def _rate_events(
    book: PriceBook,
    plan_rows: PlanRows,
    occurred_at: Ints,
    quantities: Mapping[str, Ints],
    cache_read_known: Flags | None,
) -> Answer:
    count, common = len(occurred_at), common_columns(quantities)
    answer, buffers = Answer(count), Buffers(min(BLOCK, count))
    for start in range(0, count, BLOCK):
        rows = slice(start, min(start + BLOCK, count))
        block = Block(book, quantities, common, rows, buffers, answer)
        locate(block, plan_rows, occurred_at[rows])
        add_costs(block)
        refuse(block, None if cache_read_known is None else cache_read_known[rows])
        _finish(block, answer)
    return answer


def _finish(block: Block, answer: Answer) -> None:
    """Looks up price row and currency; events with a reason get no price row, no cost and no currency."""
    book, position, rows = block.book, block.position, block.rows
    sku_index, sku_price_id, currency = answer.sku_index[rows], answer.sku_price_id[rows], answer.currency[rows]
    book.positions.row_at.take(position, out=sku_index, mode="clip")
    book.sku_price_ids.take(position, out=sku_price_id, mode="clip")
    if len(book.currencies) > 1:
        book.currency_at.take(position, out=currency, mode="clip")
    if block.reason.any():
        (unpriced,) = block.reason.nonzero()
        for column, none in ((sku_index, -1), (sku_price_id, 0), (block.cost, 0), (currency, -1)):
            column[unpriced] = none
