"""Which rows of an answer does a page need? Picking alone: no row is made, changed or added up here."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from dashboard.api import Answer

Row = Mapping[str, Any]


def of(rows: Iterable[Row], **values: Any) -> list[Row]:
    """Rows whose columns have these values."""
    return [row for row in rows if all(row[name] == value for name, value in values.items())]


def total(answer: Answer, kind: str, currency: str) -> Row | None:
    """The total of that kind and currency; None where there is none."""
    found = of(answer.data["totals"], row=kind, billing_currency=currency)
    return found[0] if found else None


def currencies(answer: Answer) -> list[str]:
    """Currencies of a report's blocks, in their order."""
    return list(dict.fromkeys(row["billing_currency"] for row in [*answer.data["totals"], *answer.rows]))


def footer(answer: Answer, name: str, currency: str) -> str | None:
    """An amount below a report."""
    found = of(answer.data["footer"], name=name, billing_currency=currency)
    return found[0]["amount"] if found else None


def section(answer: Answer, name: str, currency: str | None = None) -> list[Row]:
    """Rows of a section, of one currency where it has any."""
    rows = [row for one in answer.data["sections"] if one["name"] == name for row in one["rows"]]
    return [row for row in rows if currency is None or row.get("billing_currency", currency) == currency]


def columns(answer: Answer, name: str, leave_out: Sequence[str] = ("billing_currency",)) -> list[dict[str, str]]:
    """Columns of a section."""
    for one in answer.data["sections"]:
        if one["name"] == name:
            return [column for column in one["columns"] if column["name"] not in leave_out]
    return []


def note(answer: Answer, name: str) -> str:
    """How to read a section."""
    return next((str(one["note"]) for one in answer.data["sections"] if one["name"] == name), "")


def named(found: Iterable[Row], key: str, *details: str) -> list[Row]:
    """The rows, where one that is no detail (its `row` is none of `details`) says in the column `key` what it is."""
    plain = details or ("detail",)
    return [
        row
        if row["row"] in plain
        else {**row, key: " ".join(str(part).replace("_", " ") for part in (row["row"], row[key]) if part)}
        for row in found
    ]


def statement(answer: Answer, currency: str) -> list[Row]:
    """Rows of one currency with the totals below what they are sums of: users' own requests, what is nobody's margin, all of it."""
    apart = "not_user_facing"
    own = of(answer.rows, billing_currency=currency)
    below = [total(answer, "total_free_tier_in", currency), *of(own, row=apart), total(answer, "total", currency)]
    return [*(row for row in own if row["row"] != apart), *(row for row in below if row is not None)]


def chosen(every: Sequence[Mapping[str, str]], names: Sequence[str]) -> list[dict[str, str]]:
    """Of a report's columns those that are named, in the order of the names."""
    known = {column["name"]: dict(column) for column in every}
    return [known[name] for name in names if name in known]


def worst(lost: Sequence[Row]) -> Row:
    """Of subscribers who lose money, worst first within a plan, the one to ask about: the first who pays, else the first.

    A free user costs by design; who pays and still loses money is the question.
    """
    return next((row for row in lost if _is_positive(row["net_revenue"])), lost[0])


def is_loss(amount: str | None) -> bool:
    """Whether a plain decimal is below 0."""
    return amount is not None and amount.startswith("-")


def _is_positive(amount: str | None) -> bool:
    """Whether a plain decimal is above 0: it has a digit that is not 0, and no sign."""
    return amount is not None and not amount.startswith("-") and amount.strip("0.") != ""
