"""Does coverage show all four statuses, with shares of events and tokens?"""

from __future__ import annotations

from decimal import Decimal
from types import SimpleNamespace

from accounting.reports.coverage import coverage


def _sums(status: str, events: int, input_tokens: int, output_tokens: int) -> SimpleNamespace:
    return SimpleNamespace(charge_status=status, events=events, input_tokens=input_tokens, output_tokens=output_tokens)


def test_rows_of_a_status_add_up_and_every_status_is_there() -> None:
    sums = [_sums("priced", 2, 10, 5), _sums("priced", 1, 20, 5), _sums("pending_settlement", 1, 60, 0)]
    found = coverage(sums, 0)
    assert [list(row.values()) for row in found] == [
        ["priced", 3, 30, 10, 40, Decimal("75.0000"), Decimal("40.0000")],
        ["unpriced", 0, 0, 0, 0, Decimal("0.0000"), Decimal("0.0000")],
        ["pending_settlement", 1, 60, 0, 60, Decimal("25.0000"), Decimal("60.0000")],
        ["excepted", 0, None, None, None, Decimal("0.0000"), None],
    ]


def test_contradictions_have_a_share_of_the_events_and_no_tokens() -> None:
    found = coverage([_sums("priced", 3, 10, 5)], 1)
    assert [(row["status"], row["events"], row["event_share"], row["token_share"]) for row in found] == [
        ("priced", 3, Decimal("75.0000"), Decimal("100.0000")),
        ("unpriced", 0, Decimal("0.0000"), Decimal("0.0000")),
        ("pending_settlement", 0, Decimal("0.0000"), Decimal("0.0000")),
        ("excepted", 1, Decimal("25.0000"), None),
    ]


def test_shares_of_nothing_are_unknown() -> None:
    assert [(row["events"], row["event_share"], row["token_share"]) for row in coverage([], 0)] == [(0, None, None)] * 4
