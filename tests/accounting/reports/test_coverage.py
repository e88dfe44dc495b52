"""Does coverage show all five statuses, with shares of events and tokens?"""

from __future__ import annotations

from decimal import Decimal
from types import SimpleNamespace

from accounting.reports.coverage import Apart, coverage


def _sums(status: str, events: int, input_tokens: int, output_tokens: int) -> SimpleNamespace:
    return SimpleNamespace(charge_status=status, events=events, input_tokens=input_tokens, output_tokens=output_tokens)


def test_rows_of_a_status_add_up_and_every_status_is_there() -> None:
    sums = [_sums("priced", 2, 10, 5), _sums("priced", 1, 20, 5), _sums("pending_settlement", 1, 60, 0)]
    found = coverage(sums, Apart())
    assert [list(row.values()) for row in found] == [
        ["priced", 3, 30, 10, 40, Decimal("75.0000"), Decimal("40.0000")],
        ["unpriced", 0, 0, 0, 0, Decimal("0.0000"), Decimal("0.0000")],
        ["pending_settlement", 1, 60, 0, 60, Decimal("25.0000"), Decimal("60.0000")],
        ["usage_missing", 0, None, None, None, Decimal("0.0000"), None],
        ["excepted", 0, None, None, None, Decimal("0.0000"), None],
    ]


def test_contradictions_have_a_share_of_the_events_and_no_tokens() -> None:
    found = coverage([_sums("priced", 3, 10, 5)], Apart(excepted=1))
    assert [(row["status"], row["events"], row["event_share"], row["token_share"]) for row in found] == [
        ("priced", 3, Decimal("75.0000"), Decimal("100.0000")),
        ("unpriced", 0, Decimal("0.0000"), Decimal("0.0000")),
        ("pending_settlement", 0, Decimal("0.0000"), Decimal("0.0000")),
        ("usage_missing", 0, Decimal("0.0000"), None),
        ("excepted", 1, Decimal("25.0000"), None),
    ]


def test_calls_without_usage_are_a_line_of_their_own_and_not_among_the_unpriced() -> None:
    found = coverage([_sums("priced", 1, 10, 5), _sums("unpriced", 3, 20, 5)], Apart(usage_missing=2))
    assert [(row["status"], row["events"], row["tokens"], row["event_share"]) for row in found] == [
        ("priced", 1, 15, Decimal("25.0000")),
        ("unpriced", 1, 25, Decimal("25.0000")),
        ("pending_settlement", 0, 0, Decimal("0.0000")),
        ("usage_missing", 2, None, Decimal("50.0000")),
        ("excepted", 0, None, Decimal("0.0000")),
    ]


def test_shares_of_nothing_are_unknown() -> None:
    assert [(row["events"], row["event_share"], row["token_share"]) for row in coverage([], Apart())] == [
        (0, None, None)
    ] * 5
