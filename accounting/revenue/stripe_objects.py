"""Which lines are there in an invoice, a credit note or a balance transaction of Stripe's?

Shapes of the API versions before and after proration and subscription moved below `parent` are both read. Amounts become net of tax:
tax that a line's amount includes is taken off it, tax on top is not in it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

from accounting.errors import InvalidInput
from accounting.revenue.recognition import Line, cents
from accounting.revenue.stripe_amounts import exponent, stripe_currency, stripe_minor
from accounting.revenue.stripe_credits import deferral
from accounting.revenue.stripe_fields import (
    Object,
    Skipped,
    complete,
    first_moment,
    flag,
    id_of,
    list_of,
    map_of,
    moment,
    reference,
    told,
)

_FINAL = ("open", "paid", "uncollectible", "void")


def invoice_lines(invoice: Object, recognition: str) -> list[Line]:
    """Lines and discounts of a final invoice. A line with `credit_grant` in its metadata sold those credits: all of it is deferred.

    Raises Skipped for a draft, InvalidInput where it is incomplete or does not add up.
    """
    status = invoice.get("status")
    if status in ("draft", None):
        raise Skipped("draft invoice")
    if status not in _FINAL:
        raise InvalidInput("status", status, f"draft or one of {', '.join(_FINAL)} is expected")
    items = complete(invoice, "lines")
    currency = stripe_currency(invoice.get("currency"))
    stated = invoice.get("subtotal")
    amounts = sum(stripe_minor("amount", item.get("amount"), currency) for item in items)
    if stated is not None and stripe_minor("subtotal", stated, currency) != amounts:
        reason = f"the lines of {id_of(invoice)} add up to {sum(item['amount'] for item in items)}"
        raise InvalidInput("subtotal", stated, reason)
    found = []
    for item in items:
        lines = list(_invoice_line(invoice, item, currency, recognition))
        grant = told(item, "credit_grant")
        if grant:
            whole = replace(lines[0], starts_at=None, ends_at=None, amount=sum(line.amount for line in lines))
            if whole.amount < 0:
                raise InvalidInput(
                    "amount", item["amount"], f"line {id_of(item)} sold grant {grant} for less than nothing"
                )
            lines = [replace(line, starts_at=None, ends_at=None) for line in lines] + [deferral(whole, grant)]
        found += lines
    return found


def void_lines(invoice: Object, recognition: str) -> list[Line]:
    """What undoes the lines of a voided invoice, from the moment it was voided."""
    at = first_moment((map_of(invoice, "status_transitions"), "voided_at"), (invoice, "created"))
    return [_undone(line, at) for line in invoice_lines(invoice, recognition)]


def _undone(line: Line, at: datetime) -> Line:
    changed = {"line_id": f"void:{line.line_id}", "kind": "refund", "amount": -line.amount, "booked_at": at}
    return Line(**{**vars(line), **changed, "refers_to": line.line_id})


def credit_note_lines(note: Object, recognition: str) -> list[Line]:
    """Refund lines of a credit note: what it takes off each invoice line, net of tax, discounts and billing credits.

    Raises Skipped for a void one, InvalidInput where it contradicts itself.
    """
    if note.get("status") == "void":
        raise Skipped("void credit note")
    currency = stripe_currency(note.get("currency"))
    common: dict[str, Any] = {
        "kind": "refund",
        "billing_currency": currency,
        "booked_at": first_moment((note, "effective_at"), (note, "created")),
        "recognition": recognition,
        "invoice_id": reference(note, "invoice"),
        "customer_id": reference(note, "customer"),
        **_owner(note),
    }
    found = []
    for item in complete(note, "lines"):
        amount = stripe_minor("amount", item.get("amount"), currency) - _included_tax(item, currency)
        off = item.get("discount_amount")
        amount -= 0 if off is None else stripe_minor("discount_amount", off, currency)
        if amount < 0:
            raise InvalidInput(
                "amount", item["amount"], f"{id_of(item)} gives back less than nothing, net of tax and discount"
            )
        amount -= sum(_credits(item, currency, amount))
        refers_to = reference(item, "invoice_line_item")
        found.append(Line(line_id=id_of(item), amount=-amount, refers_to=refers_to, **common))
    return found


def tax_rounding(note: Object) -> int:
    """By how many minor units a credit note's net amounts may be off: a smallest unit where tax is inside them, as it is rounded."""
    currency = stripe_currency(note.get("currency"))
    taxed = any(_included_tax(item, currency) for item in complete(note, "lines"))
    return cents(exponent(currency)) if taxed else 0


def fee_line(transaction: Object, customers: Mapping[str, str]) -> Line:
    """The payment fee of a balance transaction, or itself where Stripe bills fees apart; raises Skipped where there is none.

    Args:
        customers: charge -> customer, of charges that are not expanded in the transaction.
    """
    currency = stripe_currency(transaction.get("currency"))
    fee = stripe_minor("fee", transaction.get("fee"), currency)
    if transaction.get("reporting_category") == "fee":
        fee -= stripe_minor("amount", transaction.get("amount"), currency)
    if fee == 0:
        raise Skipped("balance transaction without a fee")
    source = reference(transaction, "source")
    owner = reference(map_of(transaction, "source"), "customer") or customers.get(source or "")
    return Line(
        line_id=id_of(transaction),
        kind="payment_fee",
        amount=fee,
        billing_currency=currency,
        booked_at=moment("created", transaction.get("created")),
        customer_id=owner,
    )


def _invoice_line(invoice: Object, item: Object, currency: str, recognition: str) -> Iterator[Line]:
    own = stripe_currency(item.get("currency") or invoice.get("currency"))
    if own != currency:
        raise InvalidInput("currency", own, f"a line of an invoice in {currency}")
    start, end = _period(item)
    common: dict[str, Any] = {
        "billing_currency": currency,
        "booked_at": first_moment(
            (map_of(invoice, "status_transitions"), "finalized_at"), (invoice, "effective_at"), (invoice, "created")
        ),
        "starts_at": start,
        "ends_at": end,
        "recognition": recognition,
        "invoice_id": id_of(invoice),
        "customer_id": reference(invoice, "customer"),
        "subscription_id": _subscription(item, invoice),
        **_owner(invoice, item),
    }
    amount = stripe_minor("amount", item.get("amount"), currency) - _included_tax(item, currency)
    yield Line(line_id=id_of(item), kind=_kind(item, common["subscription_id"]), amount=amount, **common)
    common |= {"kind": "discount", "refers_to": id_of(item)}
    for number, off in enumerate(_discounts(item, currency, amount), start=1):
        if off:
            yield Line(line_id=f"{id_of(item)}:discount:{number}", amount=-off, **common)
    for number, used in enumerate(_credits(item, currency, amount), start=1):
        yield Line(line_id=f"{id_of(item)}:credit:{number}", amount=-used, **common)


def _period(item: Object) -> tuple[datetime, datetime] | tuple[None, None]:
    """The service period; none where it is one moment."""
    period = map_of(item, "period")
    if period.get("start") is None or period.get("end") is None:
        return None, None
    start, end = (moment(f"period.{name}", period[name]) for name in ("start", "end"))
    if end < start:
        raise InvalidInput("period.end", period["end"], f"line {id_of(item)} starts at {period['start']}")
    return (start, end) if start < end else (None, None)


def _kind(item: Object, subscription: str | None) -> str:
    if is_proration(item):
        return "proration"
    recurring = map_of(map_of(item, "price"), "recurring") or map_of(item, "plan")
    if recurring.get("usage_type") == "metered":
        return "usage"
    return "subscription" if subscription else "one_off"


def is_proration(item: Object) -> bool:
    """The flag of an invoice line: below `parent` in newer API versions, at the top in older ones. They must not disagree."""
    flags = {
        stated
        for holder in (item, *_details(item))
        if (stated := flag("proration", holder.get("proration"))) is not None
    }
    if len(flags) > 1:
        raise InvalidInput("proration", sorted(flags), f"line {id_of(item)} says both")
    return flags == {True}


def _details(item: Object) -> list[Object]:
    """What newer API versions say below `parent`, of the type that it states."""
    parent = map_of(item, "parent")
    names = ("subscription_item_details", "invoice_item_details")
    return [map_of(parent, name) for name in names if parent.get("type") in (name, None)]


def _subscription(item: Object, invoice: Object) -> str | None:
    below = map_of(map_of(invoice, "parent"), "subscription_details")
    places = (*_details(item), item, below, invoice)
    return next((name for place in places if (name := reference(place, "subscription"))), None)


def _included_tax(item: Object, currency: str) -> int:
    """Tax within the amount: `taxes` with a tax_behavior in newer API versions, `tax_amounts` with a flag in older ones."""
    taxes = [tax for tax in list_of(item, "taxes") if tax.get("tax_behavior") == "inclusive"]
    if not item.get("taxes"):
        taxes = [tax for tax in list_of(item, "tax_amounts") if flag("inclusive", tax.get("inclusive"))]
    return sum(stripe_minor("taxes.amount", tax.get("amount"), currency) for tax in taxes)


def _discounts(item: Object, currency: str, amount: int) -> list[int]:
    """What coupons take off a line of `amount`: no more than all of it."""
    found = [
        stripe_minor("discount_amounts.amount", one.get("amount"), currency)
        for one in list_of(item, "discount_amounts")
    ]
    if not min(amount, 0) <= sum(found) <= max(amount, 0):
        stated = [one["amount"] for one in item["discount_amounts"]]
        raise InvalidInput("discount_amounts", stated, f"more than line {id_of(item)} is worth")
    return found


def _credits(item: Object, currency: str, amount: int) -> list[int]:
    """Billing credits (credit grants) that paid for a line of `amount`; discounts, which are named among them too, stand elsewhere."""
    found = [
        stripe_minor("pretax_credit_amounts.amount", one.get("amount"), currency)
        for one in list_of(item, "pretax_credit_amounts")
        if one.get("type") == "credit_balance_transaction" and one.get("amount")
    ]
    if found and (min(found) < 0 or sum(found) > amount):
        stated = [one.get("amount") for one in item["pretax_credit_amounts"]]
        raise InvalidInput("pretax_credit_amounts", stated, f"more than line {id_of(item)} is worth")
    return found


def _owner(holder: Object, item: Object | None = None) -> dict[str, Any]:
    """user_id, account_id and plan as they stand in metadata; the line's own come first."""
    details = [map_of(map_of(holder, "parent"), "subscription_details"), map_of(holder, "subscription_details"), holder]
    sources = [*([item] if item else []), *([map_of(item, "price")] if item else []), *details]
    return {
        name: next((value for source in sources if (value := told(source, name))), None)
        for name in ("user_id", "account_id", "plan")
    }
