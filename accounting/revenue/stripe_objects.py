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
from accounting.revenue.recognition import Line
from accounting.revenue.stripe_amounts import stripe_currency, stripe_minor
from accounting.revenue.stripe_credits import deferral
from accounting.revenue.stripe_fields import Object, Skipped, id_of, map_of, moment, reference


def invoice_lines(invoice: Object, recognition: str) -> list[Line]:
    """Lines and discounts of a final invoice. A line with `credit_grant` in its metadata sold those credits: all of it is deferred.

    Raises Skipped for a draft, InvalidInput where it is incomplete or does not add up.
    """
    if invoice.get("status") in ("draft", None):
        raise Skipped("draft invoice")
    items = _complete("lines", invoice)
    currency = stripe_currency(invoice.get("currency"))
    stated = invoice.get("subtotal")
    amounts = sum(stripe_minor("amount", item.get("amount"), currency) for item in items)
    if stated is not None and stripe_minor("subtotal", stated, currency) != amounts:
        reason = f"the lines of {id_of(invoice)} add up to {sum(item['amount'] for item in items)}"
        raise InvalidInput("subtotal", stated, reason)
    found = []
    for item in items:
        lines = list(_invoice_line(invoice, item, currency, recognition))
        grant = map_of(item, "metadata").get("credit_grant")
        if grant:
            whole = replace(lines[0], starts_at=None, ends_at=None, amount=sum(line.amount for line in lines))
            lines = [replace(line, starts_at=None, ends_at=None) for line in lines] + [deferral(whole, str(grant))]
        found += lines
    return found


def void_lines(invoice: Object, recognition: str) -> list[Line]:
    """What undoes the lines of a voided invoice, from the moment it was voided."""
    at = moment("voided_at", map_of(invoice, "status_transitions").get("voided_at") or invoice.get("created"))
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
    booked = moment("effective_at", note.get("effective_at") or note.get("created"))
    found = []
    for item in _complete("lines", note):
        amount = stripe_minor("amount", item.get("amount"), currency) - _included_tax(item, currency)
        amount -= stripe_minor("discount_amount", item.get("discount_amount") or 0, currency)
        amount -= sum(_credits(item, currency, amount))
        found.append(
            Line(
                line_id=id_of(item),
                kind="refund",
                amount=-amount,
                billing_currency=currency,
                booked_at=booked,
                recognition=recognition,
                invoice_id=reference(note.get("invoice")),
                refers_to=reference(item.get("invoice_line_item")),
                customer_id=reference(note.get("customer")),
                **_owner(note),
            )
        )
    return found


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
    source = transaction.get("source")
    owner = source.get("customer") if isinstance(source, Mapping) else customers.get(source or "")
    return Line(
        line_id=id_of(transaction),
        kind="payment_fee",
        amount=fee,
        billing_currency=currency,
        booked_at=moment("created", transaction.get("created")),
        customer_id=reference(owner),
    )


def _invoice_line(invoice: Object, item: Object, currency: str, recognition: str) -> Iterator[Line]:
    own = stripe_currency(item.get("currency") or invoice.get("currency"))
    if own != currency:
        raise InvalidInput("currency", own, f"a line of an invoice in {currency}")
    period = map_of(item, "period")
    start, end = period.get("start"), period.get("end")
    served = start is not None and end is not None and start < end
    finalised = map_of(invoice, "status_transitions").get("finalized_at")
    common: dict[str, Any] = {
        "billing_currency": currency,
        "booked_at": moment("finalized_at", finalised or invoice.get("effective_at") or invoice.get("created")),
        "starts_at": moment("period.start", start) if served else None,
        "ends_at": moment("period.end", end) if served else None,
        "recognition": recognition,
        "invoice_id": id_of(invoice),
        "customer_id": reference(invoice.get("customer")),
        "subscription_id": _subscription(item, invoice),
        **_owner(invoice, item),
    }
    amount = stripe_minor("amount", item.get("amount"), currency) - _included_tax(item, currency)
    yield Line(line_id=id_of(item), kind=_kind(item, common["subscription_id"]), amount=amount, **common)
    for number, discount in enumerate(item.get("discount_amounts") or (), start=1):
        off = stripe_minor("discount_amounts.amount", discount.get("amount"), currency)
        if off:
            yield Line(line_id=f"{id_of(item)}:discount:{number}", kind="discount", amount=-off, **common)
    for number, used in enumerate(_credits(item, currency, amount), start=1):
        yield Line(line_id=f"{id_of(item)}:credit:{number}", kind="discount", amount=-used, **common)


def _kind(item: Object, subscription: str | None) -> str:
    if is_proration(item):
        return "proration"
    recurring = map_of(map_of(item, "price"), "recurring") or map_of(item, "plan")
    if recurring.get("usage_type") == "metered":
        return "usage"
    return "subscription" if subscription else "one_off"


def is_proration(item: Object) -> bool:
    """The flag of an invoice line: below `parent` in newer API versions, at the top in older ones. They must not disagree."""
    parent = map_of(item, "parent")
    told = parent.get("type")
    places = [told] if told in _DETAILS else list(_DETAILS)
    below = [flag for name in places if (flag := map_of(parent, name).get("proration")) is not None]
    flags = {*below, *([item["proration"]] if item.get("proration") is not None else [])}
    if len(flags) > 1:
        raise InvalidInput("proration", sorted(flags), f"line {id_of(item)} says both")
    return flags == {True}


_DETAILS = ("subscription_item_details", "invoice_item_details")


def _subscription(item: Object, invoice: Object) -> str | None:
    parent = map_of(item, "parent")
    told = parent.get("type")
    places = [told] if told in _DETAILS else list(_DETAILS)
    found = [map_of(parent, name).get("subscription") for name in places]
    found += [item.get("subscription"), map_of(map_of(invoice, "parent"), "subscription_details").get("subscription")]
    found += [invoice.get("subscription")]
    return next((reference(one) for one in found if one), None)


def _included_tax(item: Object, currency: str) -> int:
    """Tax within the amount: `taxes` with a tax_behavior in newer API versions, `tax_amounts` with a flag in older ones."""
    taxes = [tax for tax in item.get("taxes") or () if tax.get("tax_behavior") == "inclusive"]
    if not item.get("taxes"):
        taxes = [tax for tax in item.get("tax_amounts") or () if tax.get("inclusive")]
    return sum(stripe_minor("taxes.amount", tax.get("amount"), currency) for tax in taxes)


def _credits(item: Object, currency: str, amount: int) -> list[int]:
    """Billing credits (credit grants) that paid for a line of `amount`; discounts, which are named among them too, stand elsewhere."""
    found = [
        stripe_minor("pretax_credit_amounts.amount", one.get("amount"), currency)
        for one in item.get("pretax_credit_amounts") or ()
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
    kept = [map_of(source, "metadata") for source in sources]
    return {
        name: next((str(one[name]) for one in kept if one.get(name)), None)
        for name in ("user_id", "account_id", "plan")
    }


def _complete(name: str, holder: Object) -> list[Object]:
    """All entries of a list inside an object; a list that goes on elsewhere is refused, or amounts would be lost."""
    inner = map_of(holder, name)
    data = inner.get("data")
    if not isinstance(data, list):
        raise InvalidInput(name, data, f"{id_of(holder)} has no list of lines")
    if inner.get("has_more"):
        raise InvalidInput(f"{name}.has_more", True, f"{id_of(holder)} has more lines than are here; fetch them all")
    return data
