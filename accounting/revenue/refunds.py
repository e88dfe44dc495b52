"""Does a refund give back more than was billed for its line or its invoice? Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

from accounting.errors import InvalidInput
from accounting.money import format_minor
from accounting.revenue.recognition import Line
from accounting.revenue.stripe_credits import moves_credits


class Refunds:
    """What is left to be given back of each line and each invoice.

    Args: known: lines that refunds may be of, with their discounts, and earlier refunds; in any order.
    """

    def __init__(self, known: Iterable[Line]) -> None:
        lines = {line.line_id: line for line in known}
        self._currency: dict[str, str] = {}
        self._left: defaultdict[str, int] = defaultdict(int)
        self._count: defaultdict[str, int] = defaultdict(int)
        self._taken: set[str] = set()
        for line in lines.values():
            if line.kind == "payment_fee" or moves_credits(line):
                continue
            if line.kind == "refund":
                self._take(line)
            else:
                of = (line.refers_to or "") if line.kind == "discount" else line.line_id
                if line.kind != "discount" or of in lines:
                    self._bill(_line(of), line)
                if line.invoice_id:
                    self._bill(_invoice(line.invoice_id), line)

    def check(self, refunds: Sequence[Line], document: str, slack: int = 0) -> None:
        """Takes the refunds of one document off what is left, or raises InvalidInput and takes none.

        A refund of what is not known (an invoice of before the first import) can't be checked; one that is known is passed over.

        Args: slack: minor units by which each document's rounding (of tax inside its amounts) may be off.
        """
        asked: defaultdict[str, list[int]] = defaultdict(list)
        for line in refunds:
            for key in _keys(line) if line.line_id not in self._taken else ():
                billed = self._currency.get(key)
                if billed not in (None, line.billing_currency):
                    raise InvalidInput("currency", line.billing_currency, f"{document}: {key} was billed in {billed}")
                asked[key].append(-line.amount)
        for key, amounts in asked.items():
            allowed = max(self._left[key], 0) + slack * (self._count[key] + len(amounts))
            if key in self._currency and sum(amounts) > allowed:
                reason = f"{document}: of {key} {format_minor(self._left[key])} are left to give back"
                raise InvalidInput("amount", format_minor(sum(amounts)), reason)
        for line in refunds:
            self._take(line)

    def _bill(self, key: str, line: Line) -> None:
        self._left[key] += line.amount
        self._currency[key] = line.billing_currency

    def _take(self, line: Line) -> None:
        if line.line_id not in self._taken:
            self._taken.add(line.line_id)
            for key in _keys(line):
                self._left[key] += line.amount
                self._count[key] += 1


def _keys(refund: Line) -> Iterator[str]:
    if refund.refers_to:
        yield _line(refund.refers_to)
    if refund.invoice_id:
        yield _invoice(refund.invoice_id)


def _line(line_id: str) -> str:
    return f"line {line_id}"


def _invoice(invoice_id: str) -> str:
    return f"invoice {invoice_id}"
