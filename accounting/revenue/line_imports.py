"""How do invoice lines come in from a CSV file? One line each; good lines are kept, every bad one is named."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import date, datetime
from pathlib import Path
from zoneinfo import ZoneInfo

from sqlalchemy import Connection, Engine

from accounting.errors import InvalidInput
from accounting.money import MINOR_SCALE, to_minor
from accounting.pricing.currency_codes import currency_code
from accounting.revenue.csv_rows import csv_rows
from accounting.revenue.lines import LineResult, booked_lines, write_lines
from accounting.revenue.plan_prices import MOST_UNITS, UNITS
from accounting.revenue.recognition import BY_USE, POLICIES, Line
from accounting.revenue.refunds import Refunds
from accounting.revenue.subscriptions import DEAREST, day_of, text_of, whole_of
from accounting.storage.engine import transaction
from accounting.tenant import TenantContext

REQUIRED = ("line_id", "kind", "amount", "currency", "booked_on")
TEXTS = ("invoice_id", "refers_to", "customer_id", "subscription_id", "user_id", "account_id", "plan")
OPTIONAL = ("starts_on", "ends_on", "recognition", "units", "unit", *TEXTS)
KINDS = ("subscription", "proration", "usage", "one_off", "credits", "discount", "refund", "payment_fee")
_NEGATIVE = ("discount", "refund")


def import_lines_csv(engine: Engine, context: TenantContext, path: Path, recognition: str = "day") -> LineResult:
    """Books one line a row, all in one transaction; idempotent by line_id.

    Columns in any order: line_id, kind, amount (net of tax; discounts and refunds negative, a payment_fee positive), currency,
    booked_on, and as needed starts_on, ends_on (service period, reporting days, half-open), recognition (else as given here), units, unit
    (of a prepaid pack, kind credits), invoice_id, refers_to, customer_id, subscription_id, user_id, account_id, plan. Raises
    InvalidInput for a file whose heading lacks a column or has an unknown one, or that is no UTF-8 CSV.
    """
    return import_rows(engine, context, csv_rows(path, REQUIRED, OPTIONAL), recognition)


def import_rows(
    engine: Engine, context: TenantContext, rows: Iterable[tuple[int, dict[str, str]]], recognition: str = "day"
) -> LineResult:
    """The same for rows in memory: (place, column -> text), '' where a column has nothing."""
    if recognition not in POLICIES:
        raise InvalidInput("recognition", recognition, f"one of {', '.join(POLICIES)} is expected")
    result, lines, places = LineResult(), dict[str, Line](), dict[str, int]()
    for number, cells in rows:
        try:
            line = _parse(context, cells, recognition)
            if line.line_id in lines:
                raise InvalidInput("line_id", line.line_id, "is on an earlier line already")
            lines[line.line_id], places[line.line_id] = line, number
        except InvalidInput as error:
            result.reject(number, error)
    with transaction(engine, context.tenant) as connection:
        for reason, refund in _too_much(connection, context, lines):
            result.reject(places[refund], reason)
            del lines[refund]
        write_lines(connection, context, "csv", list(lines.values()), result)
    return result


def _too_much(
    connection: Connection, context: TenantContext, lines: Mapping[str, Line]
) -> list[tuple[InvalidInput, str]]:
    """Refunds that give back more than was billed, each with the reason."""
    given = [line for line in lines.values() if line.kind == "refund"]
    billed = [line.refers_to for line in given if line.refers_to]
    invoices = [line.invoice_id for line in given if line.invoice_id]
    named = {"line_id": billed, "refers_to": billed, "invoice_id": invoices}
    booked = [line for column, values in named.items() for line in booked_lines(connection, context, column, values)]
    left = Refunds([*(line for line in lines.values() if line.kind != "refund"), *booked])
    found = []
    for refund in given:
        try:
            left.check([refund], f"refund {refund.line_id}")
        except InvalidInput as error:
            found.append((error, refund.line_id))
    return found


def _parse(context: TenantContext, cells: dict[str, str], recognition: str) -> Line:
    if "" in cells:
        raise InvalidInput("line", cells[""], "has more cells than the heading")
    kind, given = cells["kind"], {name: cells.get(name) or None for name in OPTIONAL}
    if kind not in KINDS:
        raise InvalidInput("kind", kind, f"one of {', '.join(KINDS)} is expected")
    amount = to_minor(cells["amount"], "amount")
    if abs(amount) >= DEAREST * 10**MINOR_SCALE:
        raise InvalidInput("amount", cells["amount"], f"must be below {DEAREST}")
    if (amount > 0 and kind in _NEGATIVE) or (amount < 0 and kind in ("payment_fee", "credits")):
        raise InvalidInput("amount", cells["amount"], f"has the wrong sign for a {kind}")
    how = given["recognition"] or ("use" if kind == "credits" else recognition)
    if how not in POLICIES or (how in BY_USE) != (kind == "credits"):
        raise InvalidInput(
            "recognition", how, "prepaid packs are earned by use or use_and_breakage, the rest by day or second"
        )
    starts, ends = (given[name] and _midnight(context, day_of(name, given[name])) for name in ("starts_on", "ends_on"))
    if (starts is None) != (ends is None):
        raise InvalidInput("ends_on", given["ends_on"], "a service period has both starts_on and ends_on")
    if starts is not None and ends is not None and ends <= starts:
        raise InvalidInput("ends_on", given["ends_on"], f"must be after starts_on {given['starts_on']}")
    return Line(
        line_id=text_of("line_id", cells["line_id"]),
        kind=kind,
        amount=amount,
        billing_currency=currency_code(cells["currency"]),
        booked_at=_midnight(context, day_of("booked_on", cells["booked_on"])),
        starts_at=starts or None,
        ends_at=ends or None,
        recognition=how,
        units=_units(kind, given["units"]),
        unit=_unit(kind, given["unit"]),
        **{name: text_of(name, value) if (value := given[name]) is not None else None for name in TEXTS},
    )


def _units(kind: str, value: str | None) -> int | None:
    if (value is None) == (kind == "credits"):
        raise InvalidInput("units", value, "a prepaid pack, and nothing else, states how many units it holds")
    return None if value is None else whole_of("units", value, MOST_UNITS)


def _unit(kind: str, value: str | None) -> str | None:
    if value not in UNITS if kind == "credits" else value is not None:
        raise InvalidInput("unit", value, f"a prepaid pack, and nothing else, has a unit: {', '.join(UNITS)}")
    return value


def _midnight(context: TenantContext, day: date) -> datetime:
    return datetime(day.year, day.month, day.day, tzinfo=ZoneInfo(context.reporting_tz))
