"""Do the ranges of use hold everybody once, edges included?"""

from __future__ import annotations

from accounting.reports.subscribers import Subscriber
from accounting.reports.use_distribution import use_section


def user(name: str, requests: int, margin: int) -> Subscriber:
    return Subscriber(name, margin, 0, 0, requests, 0, False, 30)


def test_a_range_begins_with_its_edge_and_ends_before_the_next() -> None:
    members = [user("a", 0, 1), user("b", 1, -1), user("c", 2, 1), user("d", 4, -1), user("e", 5, 0), user("f", 19, -3)]
    rows = [row for row in use_section({"pro": members}, "USD").rows if row["unit"] == "requests"]
    assert [(row["from_use"], row["below_use"], row["subscribers"], row["loss_making"]) for row in rows] == [
        (0, 1, 1, 0),
        (1, 2, 1, 1),
        (2, 5, 2, 1),
        (5, 10, 1, 0),
        (10, 20, 1, 1),
    ]


def test_an_empty_range_between_others_is_told() -> None:
    rows = use_section({"pro": [user("a", 1, 1), user("b", 5, 1)]}, "USD").rows
    assert [row["subscribers"] for row in rows if row["unit"] == "requests"] == [1, 0, 1]
    assert [row["subscribers"] for row in rows if row["unit"] == "tokens"] == [2]


def test_a_plan_without_subscribers_has_no_ranges() -> None:
    assert use_section({"pro": []}, "USD").rows == ()
