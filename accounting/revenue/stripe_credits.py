"""How much of a paid credit grant of Stripe's is earned, and when? As its credits are used, expire or become void.

Of a grant of 100.00 that was sold for 80.00, 30.00 applied to an invoice line earn 24.00 over that line's period, and 70.00 that expire
earn 56.00 on that day. The running total, paid x moved / granted, is rounded to minor units and parts are its differences, so that the
parts of a grant add up to its price exactly, in whatever order and in however many files they come.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

from accounting.errors import InvalidInput
from accounting.revenue.recognition import Line, cents, rounded
from accounting.revenue.stripe_amounts import exponent, stripe_currency, stripe_minor
from accounting.revenue.stripe_fields import Object, Skipped, id_of, map_of, moment, reference

Find = Callable[[str], Line | None]
"""The line of an id, None where there is none."""

DEFERRED, EARNED = "deferred:", "earned:"
"""How the ids begin of the line that defers what was paid for a grant, and of those that earn it; the grant's id follows."""
_ENDED = ("credits_expired", "credits_voided")


def deferral(sold: Line, grant: str) -> Line:
    """What takes the price of a grant out of revenue when it is sold; its id is the grant's, so that what it earns finds it."""
    if ":" in grant:
        raise InvalidInput("metadata.credit_grant", grant, "the id of a credit grant has no colon")
    return replace(sold, line_id=deferral_id(grant), kind="one_off", amount=-sold.amount, refers_to=sold.line_id)


def deferral_id(grant: str) -> str:
    """The line that defers what was paid for a grant."""
    return f"{DEFERRED}{grant}"


def moves_credits(line: Line) -> bool:
    """Whether a line defers what was paid for credits or earns it, and was itself never billed."""
    return line.line_id.startswith((DEFERRED, EARNED))


class PaidGrants:
    """What the grants of a file have earned, and what each further movement of their credits earns.

    Args:
        grants: of the same file, by id; else the grant is expanded in the transaction.
        find: any line that is known.
        booked: what was booked of what these grants earned.
    """

    def __init__(self, grants: Mapping[str, Object], find: Find, booked: Iterable[Line] = ()) -> None:
        self._grants, self._find = grants, find
        self._lines: dict[str, Line] = {}
        self._earned: defaultdict[str, int] = defaultdict(int)
        for line in booked:
            self._keep(line.line_id.split(":")[1], line)

    def line(self, transaction: Object) -> Line:
        """What a credit balance transaction earns of what was paid for its grant.

        Credits applied: a positive discount with the period and owner of the invoice line, which its own discount line takes off whole.
        Expired or void ones: earned whole at that moment. An application that is undone takes back what it earned.

        Raises Skipped for promotional grants and for the granting itself, InvalidInput where the grant, its sale or the line is unknown,
        or where more credits move than are left.
        """
        sign, way = (1, "debit") if transaction.get("type") == "debit" else (-1, "credit")
        movement = map_of(transaction, way)
        kind = movement.get("type")
        if kind == "credits_granted":
            raise Skipped("credits granted")
        name, grant = self._grant(transaction)
        booked = moment("effective_at", transaction.get("effective_at"))
        line_id = f"{EARNED}{name}:{id_of(transaction)}"
        if kind in _ENDED:
            sale = self._sale(name)
            of = replace(sale, booked_at=booked, refers_to=sale.line_id)
        else:
            applied = map_of(movement, "credits_applied" if sign > 0 else "credits_application_invoice_voided")
            target = reference(applied, "invoice_line_item")
            paid_for = self._find(target) if target else None
            if paid_for is None:
                reason = "credits were applied to a line that is not known; import its invoice"
                raise InvalidInput("invoice_line_item", target, reason)
            of = replace(paid_for, kind="discount", units=None, unit=None, refers_to=paid_for.line_id)
            if sign < 0:
                of = replace(of, kind="refund", booked_at=booked)
        made = replace(of, line_id=line_id, amount=self._share(name, grant, movement, sign, line_id))
        if line_id not in self._lines:
            self._keep(name, made)
        return made

    def _keep(self, grant: str, line: Line) -> None:
        self._lines[line.line_id] = line
        self._earned[grant] += line.amount

    def _grant(self, transaction: Object) -> tuple[str, Object]:
        name, given = reference(transaction, "credit_grant"), transaction.get("credit_grant")
        grant = given if isinstance(given, Mapping) else self._grants.get(name or "")
        if grant is None or name is None:
            raise InvalidInput("credit_grant", name, "neither expanded nor in this file: was it paid for?")
        if grant.get("category") not in ("paid", "promotional"):
            raise InvalidInput("category", grant.get("category"), f"of grant {name}: paid or promotional is expected")
        if grant["category"] == "promotional":
            raise Skipped("promotional credits")
        return name, grant

    def _share(self, name: str, grant: Object, movement: Object, sign: int, line_id: str) -> int:
        """What paid x moved / granted gains by the movement, minor units, so that what a grant earns adds up to its price.

        How many credits have moved follows from what they earned: amounts have 13 digits more than a smallest unit of credits.
        """
        paid = -self._sale(name).amount
        granted, currency = _amount(grant)
        credits, own = _amount(movement)
        sold_in = self._sale(name).billing_currency
        if {currency, own} != {sold_in}:
            raise InvalidInput("amount.monetary.currency", own, f"grant {name} was sold in {sold_in}")
        if not 0 < credits <= granted:
            raise InvalidInput(
                "amount.monetary.value", _value(movement), f"of grant {name}, which holds {_value(grant)}"
            )
        alone, known = sign * rounded(paid * credits, granted), self._lines.get(line_id)
        if known is not None and abs(known.amount - alone) <= 1:
            return known.amount
        earned = self._earned[name] - (0 if known is None else known.amount)
        moved = rounded(earned * granted, paid, cents(exponent(currency))) if paid else 0
        if not 0 <= moved + sign * credits <= granted:
            reason = f"of grant {name}, of which {moved // cents(exponent(currency))} of {_value(grant)} have moved"
            raise InvalidInput("amount.monetary.value", _value(movement), reason)
        return rounded(paid * (moved + sign * credits), granted) - earned

    def _sale(self, name: str) -> Line:
        sale = self._find(deferral_id(name))
        if sale is None:
            reason = "no invoice line has this credit_grant in its metadata: what was paid?"
            raise InvalidInput("credit_grant", name, reason)
        return sale


def _amount(holder: Object) -> tuple[int, str]:
    money: Any = map_of(map_of(holder, "amount"), "monetary")
    currency = stripe_currency(money.get("currency"))
    return stripe_minor("amount.monetary.value", money.get("value"), currency), currency


def _value(holder: Object) -> object:
    return map_of(map_of(holder, "amount"), "monetary").get("value")
