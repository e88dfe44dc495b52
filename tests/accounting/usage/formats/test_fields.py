"""Names, moments and amounts are read as they are or not at all."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest

from accounting.usage.formats.fields import amount, first_text, merged, seconds, text
from accounting.usage.wire import UsageContradiction


def test_an_empty_name_is_absent() -> None:
    assert (text({"model": ""}, "model"), text({}, "model"), text({"model": None}, "model")) == (None, None, None)
    assert first_text({"a": "", "b": {"c": "x"}}, "a", "b.c") == "x"


@pytest.mark.parametrize("wrong", [5, True, ["x"], {"a": 1}, "x" * 257, "a\x00b", "a\nb", "\ud800"])
def test_what_is_no_name_is_said_without_quoting_it(wrong: Any) -> None:
    with pytest.raises(UsageContradiction) as caught:
        text({"model": wrong}, "model")
    assert caught.value.reason == "not_a_name"
    assert str(wrong) not in caught.value.equation or wrong == 5


def test_seconds_since_the_epoch_are_utc_and_anything_else_is_absent() -> None:
    assert seconds({"created": 1_780_000_000}, "created") == datetime(2026, 5, 28, 20, 26, 40, tzinfo=UTC)
    assert seconds({"created": 1_780_000_000.5}, "created") == datetime(2026, 5, 28, 20, 26, 40, 500_000, tzinfo=UTC)
    for wrong in (0, -1, 1_780_000_000_000, float("nan"), float("inf"), 10**400, True, "1780000000", None):
        assert seconds({"created": wrong}, "created") is None


@pytest.mark.parametrize(
    ("sent", "read"),
    [
        (1.979964e-06, "0.000001979964"),
        (0, "0"),
        (2, "2"),
        (0.00019199999999999998, "0.000192"),
        (Decimal("0.012"), "0.012"),
        (4.1400000000000003e-05, "0.000041400000000000"),
    ],
)
def test_an_amount_is_the_shortest_decimal_at_18_places(sent: Any, read: str) -> None:
    found = amount({"cost": sent}, "cost", {})
    assert found == Decimal(read)


@pytest.mark.parametrize("wrong", [-0.1, float("nan"), float("inf"), "0.1", True, [1], 10**30, 1e40])
def test_what_is_no_amount_is_said(wrong: Any) -> None:
    with pytest.raises(UsageContradiction, match="not_an_amount"):
        amount({"cost": wrong}, "cost", {})


def test_streamed_values_are_cumulative_and_the_last_one_stated_wins_field_by_field() -> None:
    events = [
        {"id": "a", "usage": {"n": 1, "details": {"x": 1, "y": 1}}},
        {"usage": None},
        {"id": None, "usage": {"n": 5, "details": {"x": 4, "y": None}}},
    ]
    assert merged(events) == {"id": "a", "usage": {"n": 5, "details": {"x": 4, "y": 1}}}
