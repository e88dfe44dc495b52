"""How are the columns of a table told?"""

from __future__ import annotations

from typing import Any

from sqlalchemy import BigInteger, Column, DateTime, MetaData, Numeric, Text

metadata = MetaData()
views = MetaData()
MONEY = Numeric(38, 18)
MOMENT = DateTime(timezone=True)


def key(name: str, kind: Any = Text) -> Column[Any]:
    """A part of the primary key."""
    return Column(name, kind, primary_key=True)


def must(name: str, kind: Any = Text) -> Column[Any]:
    """Never null."""
    return Column(name, kind, nullable=False)


def may(name: str, kind: Any = Text) -> Column[Any]:
    """Null where not known."""
    return Column(name, kind, nullable=True)


def measures(kind: Any, nullable: bool) -> list[Column[Any]]:
    """The sums every ledger line and rollup row carries: signed counts, then FOCUS's four costs."""
    counts = ("events", "uncached_input_tokens", "cache_read_tokens", "cache_write_tokens", "output_tokens")
    costs = ("list_cost", "contracted_cost", "effective_cost", "billed_cost")
    return [must(name, BigInteger) for name in counts] + [Column(name, kind, nullable=nullable) for name in costs]
