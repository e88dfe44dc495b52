"""A count is a whole number that is not negative; everything else is said, never rounded, clamped or taken as 0."""

from __future__ import annotations

import math
from decimal import Decimal
from typing import Any

import pytest

from accounting.usage.formats.counts import check_parts, check_sum, count, optional_count, value_at
from accounting.usage.wire import UsageContradiction


@pytest.mark.parametrize(
    ("value", "number"),
    [(0, 0), (7, 7), (59200.0, 59_200), (Decimal("59200.0"), 59_200), (2_147_483_647, 2_147_483_647)],
)
def test_whole_numbers_are_counts(value: Any, number: int) -> None:
    assert count({"n": value}, "n") == number


@pytest.mark.parametrize(
    ("value", "reason", "equation"),
    [
        (True, "not_a_count", "n is true"),
        (1.5, "not_a_count", "n is 1.5"),
        (math.nan, "not_a_count", "n is nan"),
        (math.inf, "not_a_count", "n is inf"),
        ("7", "not_a_count", "n is a string of 1 characters"),
        ({"a": 1}, "not_a_count", "n is an object"),
        ([1], "not_a_count", "n is an array"),
        (-1, "negative_count", "n -1 < 0"),
        (2_147_483_648, "count_out_of_range", "n 2147483648 > 2147483647"),
        (10**400, "count_out_of_range", "n an integer of 1329 bits > 2147483647"),
        (None, "count_missing", "n is absent"),
    ],
)
def test_what_is_no_count_is_said(value: Any, reason: str, equation: str) -> None:
    with pytest.raises(UsageContradiction) as caught:
        count({"n": value}, "n")
    assert (caught.value.reason, caught.value.equation) == (reason, equation)


def test_decimal_strings_are_counts_only_where_the_format_writes_them_so() -> None:
    assert count({"n": "12"}, "n", text=True) == 12
    with pytest.raises(UsageContradiction, match="negative_count: n -1 < 0"):
        count({"n": "-1"}, "n", text=True)
    for wrong in ("1.5", "", "1e3", " 1", "٣"):
        with pytest.raises(UsageContradiction, match="not_a_count"):
            count({"n": wrong}, "n", text=True)


def test_absent_null_and_zero_are_told_apart() -> None:
    assert optional_count({}, "a.b") is None
    assert optional_count({"a": None}, "a.b") is None
    assert optional_count({"a": {"b": None}}, "a.b") is None
    assert optional_count({"a": {"b": 0}}, "a.b") == 0


def test_a_key_with_dots_in_it_is_found_first() -> None:
    assert value_at({"a.b": 1, "a": {"b": 2}}, "a.b") == 1


def test_a_contradiction_carries_the_evidence_it_was_given_or_the_body() -> None:
    with pytest.raises(UsageContradiction) as caught:
        count({"n": -1, "text": "canary"}, "n")
    assert caught.value.usage_body == {"n": -1, "text": ""}
    with pytest.raises(UsageContradiction) as caught:
        count({"n": -1}, "n", {"whole": 1})
    assert caught.value.usage_body == {"whole": 1}


def test_a_broken_sum_shows_both_sides() -> None:
    with pytest.raises(UsageContradiction) as caught:
        check_sum(("total_tokens", 2_306), {"prompt_tokens": 2_006, "completion_tokens": 301}, {})
    assert caught.value.equation == "total_tokens 2306 <> prompt_tokens 2006 + completion_tokens 301 = 2307"
    check_sum(("total_tokens", 2_307), {"prompt_tokens": 2_006, "completion_tokens": 301}, {})
    check_sum(("total_tokens", None), {"prompt_tokens": 2_006}, {})


def test_parts_may_fill_their_whole_and_not_exceed_it() -> None:
    check_parts(("prompt_tokens", 10), {"cached_tokens": 7, "cache_write_tokens": 3}, {})
    with pytest.raises(UsageContradiction) as caught:
        check_parts(("prompt_tokens", 10), {"cached_tokens": 7, "cache_write_tokens": 4}, {})
    assert caught.value.equation == "cached_tokens 7 + cache_write_tokens 4 = 11 > prompt_tokens 10"
