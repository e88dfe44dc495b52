"""How do Stripe's objects become invoice lines and subscriptions? One file, in whatever order its objects stand."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import msgspec
from sqlalchemy import Connection, Engine

from accounting.errors import InvalidInput
from accounting.revenue.lines import (
    LineResult,
    booked_lines,
    customer_users,
    lines_of_grants,
    put_customer,
    write_lines,
)
from accounting.revenue.monthly import Subscription
from accounting.revenue.plans import plan_keys, write_subscriptions
from accounting.revenue.recognition import RATABLE, Line
from accounting.revenue.refunds import Refunds
from accounting.revenue.stripe_credits import PaidGrants
from accounting.revenue.stripe_fields import Object, Skipped, id_of, reference, told
from accounting.revenue.stripe_objects import credit_note_lines, fee_line, invoice_lines, tax_rounding, void_lines
from accounting.revenue.stripe_subscription import make_stripe_subscription
from accounting.storage.engine import transaction
from accounting.tenant import TenantContext


def import_stripe(engine: Engine, context: TenantContext, path: Path, recognition: str = "day") -> LineResult:
    """Books a file of Stripe objects: one object, a list of any kind, or one a line.

    Reads invoices, credit notes, balance transactions (their fees), credit grants and credit balance transactions (what paid credits
    earn), subscriptions, customers (metadata user_id, account_id) and charges (whose customer a fee is); others are counted as skipped.
    Idempotent by the objects' ids. A bad object is rejected whole and named.

    Args:
        recognition: day or second; how the lines are earned over their periods.

    Raises InvalidInput for a file that is no JSON, or for another recognition.
    """
    return import_objects(engine, context, _objects(path), recognition)


def import_objects(
    engine: Engine, context: TenantContext, objects: Iterable[object], recognition: str = "day"
) -> LineResult:
    """The same for objects in memory."""
    if recognition not in RATABLE:
        raise InvalidInput("recognition", recognition, f"one of {', '.join(RATABLE)} is expected")
    found = _by_kind(objects)
    with transaction(engine, context.tenant) as connection:
        return _book(connection, context, found, recognition)


def _book(
    connection: Connection,
    context: TenantContext,
    sorted_out: dict[str, list[tuple[int, Object]]],
    recognition: str,
) -> LineResult:
    result = LineResult()
    charges = [_attempt(result, place, one, _charged) for place, one in sorted_out.pop("charge", [])]
    charged: dict[str, str] = dict(found for found in charges if found is not None)
    for place, customer in sorted_out.pop("customer", []):
        _attempt(result, place, customer, lambda one: _customer(connection, context, one, result))
    subscriptions: dict[str, Subscription] = {}
    plans, owners = plan_keys(connection, context), customer_users(connection, context)
    for place, one in sorted_out.pop("subscription", []):
        made = _attempt(result, place, one, lambda o: make_stripe_subscription(context, o, plans, owners))
        if made is not None:
            subscriptions[made.subscription_id] = made
    write_subscriptions(connection, context, list(subscriptions.values()))
    readers: dict[str, Callable[[Object], list[Line]]] = {
        "invoice": lambda one: _invoice(connection, context, one, recognition),
        "balance_transaction": lambda one: [fee_line(one, charged)],
    }
    notes = sorted_out.pop("credit_note", [])
    grants = sorted_out.pop("billing.credit_grant", [])
    moved = sorted_out.pop("billing.credit_balance_transaction", [])
    lines: list[Line] = []
    for kind, members in sorted_out.items():
        for place, one in members:
            if kind not in readers:
                result.skip(f"{kind} is not read")
            else:
                lines += _attempt(result, place, one, readers[kind]) or []
    lines += _refunds(connection, context, notes, lines, recognition, result)
    lines += _earned(connection, context, grants, moved, lines, result)
    write_lines(connection, context, "stripe", lines, result)
    return result


def _refunds(
    connection: Connection,
    context: TenantContext,
    notes: list[tuple[int, Object]],
    here: list[Line],
    recognition: str,
    result: LineResult,
) -> list[Line]:
    """Lines of the credit notes; one that gives back more than was billed is rejected."""
    read = [
        (place, one, _attempt(result, place, one, lambda o: credit_note_lines(o, recognition))) for place, one in notes
    ]
    invoices = {line.invoice_id for _, _, lines in read for line in lines or () if line.invoice_id}
    refunds = Refunds([*here, *booked_lines(connection, context, "invoice_id", invoices)])
    found: list[Line] = []
    for place, note, lines in read:
        if lines:
            found += _attempt(result, place, (note, lines), lambda pair: _checked(refunds, *pair)) or []
    return found


def _checked(refunds: Refunds, note: Object, lines: list[Line]) -> list[Line]:
    refunds.check(lines, f"credit note {id_of(note)}", tax_rounding(note))
    return lines


def _earned(
    connection: Connection,
    context: TenantContext,
    grants: list[tuple[int, Object]],
    moved: list[tuple[int, Object]],
    here: list[Line],
    result: LineResult,
) -> list[Line]:
    """What moved credits earn, in the order in which they moved."""
    known = {line.line_id: line for line in here}

    def find(line_id: str) -> Line | None:
        return known.get(line_id) or next(iter(booked_lines(connection, context, "line_id", [line_id])), None)

    given = [one.get("credit_grant") for _, one in moved]
    names = {one.get("id") if isinstance(one, Mapping) else one for one in given}
    booked = lines_of_grants(connection, context, [name for name in names if isinstance(name, str)])
    paid = PaidGrants({one["id"]: one for _, one in grants if isinstance(one.get("id"), str)}, find, booked)
    lines = (_attempt(result, place, one, paid.line) for place, one in sorted(moved, key=_moved))
    return [line for line in lines if line is not None]


def _moved(one: tuple[int, Object]) -> tuple[int, str]:
    at = one[1].get("effective_at")
    return (at if isinstance(at, int) else 0, str(one[1].get("id")))


def _invoice(connection: Connection, context: TenantContext, invoice: Object, recognition: str) -> list[Line]:
    if invoice.get("status") != "void":
        return invoice_lines(invoice, recognition)
    undone = void_lines(invoice, recognition)
    named = [line.refers_to for line in undone if line.refers_to]
    known = {line.line_id for line in booked_lines(connection, context, "line_id", named)}
    kept = [line for line in undone if line.refers_to in known]
    if not kept:
        raise Skipped("void invoice")
    return kept


def _charged(charge: Object) -> tuple[str, str] | None:
    """A charge with whose it is; None where it says neither."""
    owner = reference(charge, "customer")
    return None if owner is None or charge.get("id") is None else (id_of(charge), owner)


def _customer(connection: Connection, context: TenantContext, customer: Object, result: LineResult) -> None:
    user, account = told(customer, "user_id"), told(customer, "account_id")
    if not user and not account:
        result.skip("customer without user_id or account_id in its metadata")
        return
    put_customer(connection, context, id_of(customer), user, account)


def _attempt(result: LineResult, place: int, one: Any, read: Callable[[Any], Any]) -> Any:
    try:
        return read(one)
    except Skipped as reason:
        result.skip(str(reason))
    except InvalidInput as error:
        result.reject(place, error)
    return None


def _by_kind(objects: Iterable[object]) -> dict[str, list[tuple[int, Object]]]:
    found: dict[str, list[tuple[int, Object]]] = {}
    for place, one in enumerate(objects, start=1):
        if not isinstance(one, Mapping) or not isinstance(one.get("object"), str):
            raise InvalidInput("object", str(one)[:100], f"entry {place} is no Stripe object")
        kind = f"deleted {one['object']}" if one.get("deleted") else one["object"]
        found.setdefault(kind, []).append((place, one))
    return found


def _objects(path: Path) -> list[object]:
    data = path.read_bytes()
    try:
        whole = msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError):
        whole = _json_lines(path, data)
    if isinstance(whole, Mapping) and whole.get("object") == "list":
        if whole.get("has_more"):
            raise InvalidInput("has_more", True, "the list goes on; fetch all of it, or amounts are missing")
        whole = whole.get("data")
    return list(whole) if isinstance(whole, list) else [whole]


def _json_lines(path: Path, data: bytes) -> list[object]:
    try:
        return [msgspec.json.decode(line) for line in data.splitlines() if line.strip()]
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise InvalidInput("file", str(path), f"is neither JSON nor JSON Lines: {error}") from error
