"""How much of a paid credit grant of Stripe's is earned, and when? As its credits are used, expire or become void.

Of a grant of 100.00 that was sold for 80.00, 30.00 applied to an invoice line earn 24.00 over that line's period, and 70.00 that expire
earn 56.00 on that day. Each part is paid x credits / granted, rounded once to minor units.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

from accounting.errors import InvalidInput
from accounting.revenue.recognition import Line, rounded
from accounting.revenue.stripe_amounts import stripe_currency, stripe_minor
from accounting.revenue.stripe_fields import Object, Skipped, id_of, map_of, moment, reference

Find = Callable[[str], Line | None]
"""The line of an id, None where there is none."""

_ENDED = ("credits_expired", "credits_voided")


def deferral(sold: Line, grant: str) -> Line:
    """What takes the price of a grant out of revenue when it is sold; its id is the grant's, so that what it earns finds it."""
    return replace(sold, line_id=deferral_id(grant), kind="one_off", amount=-sold.amount, refers_to=sold.line_id)


def deferral_id(grant: str) -> str:
    """The line that defers what was paid for a grant."""
    return f"deferred:{grant}"


def credit_line(transaction: Object, grants: Mapping[str, Object], find: Find) -> Line:
    """What a credit balance transaction earns of what was paid for its grant.

    Credits applied: a positive discount with the period and owner of the invoice line, which its own discount line takes off whole.
    Expired or void ones: earned whole at that moment. An application that is undone takes back what it earned.

    Args:
        grants: of the same file, by id; else the grant is expanded in the transaction.

    Raises Skipped for promotional grants and for the granting itself, InvalidInput where the grant, its sale or the line is unknown.
    """
    sign, way = (1, "debit") if transaction.get("type") == "debit" else (-1, "credit")
    movement = map_of(transaction, way)
    kind = movement.get("type")
    if kind == "credits_granted":
        raise Skipped("credits granted")
    given = transaction.get("credit_grant")
    name = reference(given)
    grant = given if isinstance(given, Mapping) else grants.get(name or "")
    if grant is None or name is None:
        raise InvalidInput("credit_grant", name, "neither expanded nor in this file: was it paid for?")
    if grant.get("category") not in ("paid", "promotional"):
        raise InvalidInput("category", grant.get("category"), f"of grant {name}: paid or promotional is expected")
    if grant["category"] == "promotional":
        raise Skipped("promotional credits")
    share = _share(name, grant, movement, find)
    booked = moment("effective_at", transaction.get("effective_at"))
    if kind in _ENDED:
        return _ended(id_of(transaction), _sale(name, find), share, booked)
    applied = map_of(movement, "credits_applied" if sign > 0 else "credits_application_invoice_voided")
    target = reference(applied.get("invoice_line_item"))
    line = find(target) if target else None
    if line is None:
        raise InvalidInput(
            "invoice_line_item", target, "credits were applied to a line that is not known; import its invoice"
        )
    of = replace(line, line_id=id_of(transaction), units=None, unit=None, refers_to=line.line_id, amount=sign * share)
    return replace(of, kind="discount") if sign > 0 else replace(of, kind="refund", booked_at=booked)


def _ended(name: str, sale: Line, share: int, booked: datetime) -> Line:
    return replace(sale, line_id=name, amount=share, booked_at=booked, refers_to=sale.line_id)


def _share(name: str, grant: Object, movement: Object, find: Find) -> int:
    """paid x credits / granted, minor units; both in the grant's currency."""
    sale = _sale(name, find)
    granted, currency = _amount(grant)
    credits, own = _amount(movement)
    if {currency, own} != {sale.billing_currency}:
        raise InvalidInput("amount.monetary.currency", own, f"grant {name} was sold in {sale.billing_currency}")
    if not 0 < credits <= granted:
        raise InvalidInput("amount.monetary.value", _value(movement), f"of grant {name}, which holds {_value(grant)}")
    return rounded(-sale.amount * credits, granted)


def _sale(name: str, find: Find) -> Line:
    sale = find(deferral_id(name))
    if sale is None:
        raise InvalidInput(
            "credit_grant", name, "no invoice line has this credit_grant in its metadata: what was paid?"
        )
    return sale


def _amount(holder: Object) -> tuple[int, str]:
    money: Any = map_of(map_of(holder, "amount"), "monetary")
    currency = stripe_currency(money.get("currency"))
    return stripe_minor("amount.monetary.value", money.get("value"), currency), currency


def _value(holder: Object) -> object:
    return map_of(map_of(holder, "amount"), "monetary").get("value")
