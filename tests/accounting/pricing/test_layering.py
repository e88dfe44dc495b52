"""Which source's row is in force? Worked by hand: a first source, two that fill in, and what a person decides."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, time

import pytest

from accounting.pricing.book import PriceBook
from accounting.pricing.disagreements import OtherSources
from accounting.pricing.layering import HeldName, HeldRow, in_force, known_names
from accounting.pricing.tariff import Alias, Tariff

JAN, FEB, MAR, APR = (datetime(2026, month, 1, tzinfo=UTC) for month in (1, 2, 3, 4))
ROW = Tariff(seller="acme", model="m", prices={"output": 2_000_000_000, "uncached_input": 1_000_000_000})
DEAR = replace(ROW, prices={"output": 5_000_000_000, "uncached_input": 1_000_000_000})
NAMES = [
    HeldName(Alias("acme", "m", "m", "x"), "genai-prices"),
    HeldName(Alias("acme", "acme/m", "acme/m", "x"), "litellm"),
]
LITELLM_NAMES = [*NAMES, HeldName(Alias("acme", "m", "acme/m", "x"), "litellm")]


def _held(row: Tariff, source: str, state: str = "stated", record: int = 0) -> HeldRow:
    return HeldRow(row, source, state, record)


def _listed(*held: HeldRow) -> list[tuple[str, int, datetime | None, datetime | None]]:
    """Model, output price and dates of the rows in force, which must make a book."""
    rows, names = in_force(held, LITELLM_NAMES)
    PriceBook(rows, names)
    found = [(row.model, row.prices["output"] // 10**9, row.effective_from, row.effective_until) for row in rows]
    return sorted(found, key=str)


def test_a_later_source_is_silent_where_the_first_prices_the_model() -> None:
    other = replace(DEAR, model="acme/m", effective_from=JAN)
    assert _listed(_held(ROW, "genai-prices"), _held(other, "litellm")) == [("m", 2, None, None)]


def test_it_serves_before_the_first_sources_first_date_under_the_first_sources_name() -> None:
    first, other = replace(ROW, effective_from=MAR), replace(DEAR, model="acme/m", effective_from=JAN)
    assert _listed(_held(first, "genai-prices"), _held(other, "litellm")) == [("m", 2, MAR, None), ("m", 5, JAN, MAR)]


def test_it_serves_what_the_first_does_not_know_under_its_own_names() -> None:
    other = replace(DEAR, seller="rare", model="rare/x", effective_from=JAN)
    name = HeldName(Alias("rare", "x", "rare/x", "t"), "litellm")
    rows, names = in_force([_held(ROW, "genai-prices"), _held(other, "litellm")], [*NAMES, name])
    assert other in rows
    assert Alias("rare", "x", "rare/x", "t") in names


def test_of_two_later_sources_the_one_stated_first_in_the_order_serves() -> None:
    other = replace(DEAR, seller="rare", model="x", effective_from=FEB)
    third = replace(other, prices={"output": 9_000_000_000}, effective_from=JAN)
    names = [HeldName(Alias("rare", "x", "x", source), source) for source in ("litellm", "langfuse")]
    rows, _ = in_force([_held(other, "litellm"), _held(third, "langfuse")], names)
    assert sorted(rows, key=str) == sorted([other, replace(third, effective_until=FEB)], key=str)


def test_an_approved_row_stands_in_place_of_the_first_sources_for_as_long_as_it_holds() -> None:
    approved = replace(DEAR, model="acme/m", effective_from=JAN, effective_until=MAR, approved_by="ann")
    assert _listed(_held(ROW, "genai-prices"), _held(approved, "litellm")) == [
        ("m", 2, None, JAN),
        ("m", 2, MAR, None),
        ("m", 5, JAN, MAR),
    ]


def test_an_approved_row_replaces_only_its_own_tier_and_threshold() -> None:
    above = replace(ROW, above_input_tokens=200_000, prices={"output": 3_000_000_000, "uncached_input": 2_000_000_000})
    batch = replace(ROW, service_tier="batch", prices={"output": 1_000_000_000})
    approved = replace(DEAR, effective_from=JAN, approved_by="ann")
    held = [_held(one, "genai-prices") for one in (ROW, above, batch)]
    rows, _ = in_force([*held, _held(approved, "hand")], NAMES)
    assert sorted(rows, key=str) == sorted([above, batch, approved, replace(ROW, effective_until=JAN)], key=str)


@pytest.mark.parametrize("state", ["proposed", "refused"])
def test_an_undecided_successor_leaves_the_row_before_it_in_force(state: str) -> None:
    old = replace(ROW, seller="rare", model="x", effective_from=JAN, effective_until=FEB)
    new = replace(old, prices={"output": 7_000_000_000}, effective_from=FEB, effective_until=APR)
    names = [HeldName(Alias("rare", "x", "x", "t"), "litellm")]
    rows, _ = in_force([_held(old, "litellm"), _held(new, "litellm", state)], names)
    assert rows == [replace(old, effective_until=APR)]


def test_the_later_of_two_decisions_counts() -> None:
    first = replace(DEAR, effective_from=JAN, approved_by="ann")
    second = replace(first, prices={"output": 6_000_000_000}, effective_from=FEB, approved_by="bob")
    found = _listed(_held(ROW, "genai-prices"), _held(second, "csv", record=2), _held(first, "hand", record=1))
    assert found == [("m", 2, None, JAN), ("m", 5, JAN, FEB), ("m", 6, FEB, None)]


def _compared(other: Tariff, row: Tariff) -> list[tuple[str, int, int, datetime | None, datetime | None]]:
    known = known_names([NAMES[0].alias])
    sources = OtherSources([_held(other, "genai-prices")], known, {("acme", "acme/m"): ["m"]})
    found = sources.disagree(row, "litellm")
    return [(one.token_class, one.price, one.other_price, one.holds_from, one.holds_until) for one in found]


def test_prices_of_two_parts_of_the_day_stand_beside_each_other() -> None:
    """From January on 5 from 16:30 to 00:30 and 3 for the rest; the list's 2 holds before. Neither decision undoes the other."""
    night, day = (time(16, 30), time(0, 30)), (time(0, 30), time(16, 30))
    rows = [
        replace(DEAR, effective_from=JAN, window_start=night[0], window_end=night[1], approved_by="ann"),
        replace(
            ROW,
            prices={"output": 3_000_000_000},
            effective_from=JAN,
            window_start=day[0],
            window_end=day[1],
            approved_by="ann",
        ),
    ]
    held = [_held(ROW, "genai-prices"), *(_held(row, "hand", record=at) for at, row in enumerate(rows))]
    found, names = in_force(held, NAMES)
    PriceBook(found, names)
    assert sorted(found, key=str) == sorted([*rows, replace(ROW, effective_until=JAN)], key=str)


def test_a_price_of_some_hours_leaves_the_list_the_others_and_one_of_the_whole_day_leaves_none() -> None:
    some = replace(
        DEAR, effective_from=JAN, effective_until=MAR, window_start=time(8), window_end=time(20), approved_by="ann"
    )
    found, names = in_force([_held(ROW, "genai-prices"), _held(some, "hand", record=1)], NAMES)
    PriceBook(found, names)
    rest = replace(ROW, effective_from=JAN, effective_until=MAR, window_start=time(20), window_end=time(8))
    around = [replace(ROW, effective_until=JAN), replace(ROW, effective_from=MAR)]
    assert sorted(found, key=str) == sorted([some, rest, *around], key=str)
    whole = replace(DEAR, effective_from=FEB, approved_by="bob")
    found, names = in_force(
        [_held(ROW, "genai-prices"), _held(some, "hand", record=1), _held(whole, "hand", record=2)], NAMES
    )
    PriceBook(found, names)
    kept = [replace(some, effective_until=FEB), replace(rest, effective_until=FEB), around[0], whole]
    assert sorted(found, key=str) == sorted(kept, key=str)


def test_an_undecided_successor_of_other_hours_ends_nothing_later() -> None:
    """The day's price ends in February as stated; what is proposed from then on is the night's."""
    day = replace(
        DEAR, effective_from=JAN, effective_until=FEB, window_start=time(8), window_end=time(20), approved_by="ann"
    )
    night = replace(DEAR, effective_from=FEB, window_start=time(20), window_end=time(8))
    found, _ = in_force([_held(ROW, "genai-prices"), _held(day, "hand"), _held(night, "hand", "proposed", 1)], NAMES)
    assert day in found


def test_sources_disagree_class_by_class_while_both_hold() -> None:
    other = replace(ROW, effective_from=FEB)
    row = replace(DEAR, model="acme/m", effective_from=JAN, effective_until=MAR)
    assert _compared(other, row) == [("output", 5_000_000_000, 2_000_000_000, FEB, MAR)]


@pytest.mark.parametrize(
    "row",
    [
        replace(ROW, model="acme/m", effective_from=JAN),
        replace(DEAR, model="acme/m", effective_from=JAN, service_tier="batch"),
        replace(DEAR, model="acme/m", effective_from=JAN, effective_until=FEB),
        replace(DEAR, model="acme/other", effective_from=JAN),
    ],
)
def test_what_states_the_same_or_about_something_else_does_not_disagree(row: Tariff) -> None:
    assert _compared(replace(ROW, effective_from=FEB), row) == []


def test_above_a_threshold_the_row_is_compared_with_the_one_that_holds_there() -> None:
    above = replace(ROW, above_input_tokens=200_000, prices={"output": 4_000_000_000})
    sources = OtherSources(
        [_held(ROW, "genai-prices"), _held(above, "genai-prices")], known_names([NAMES[0].alias]), {}
    )
    row = replace(ROW, above_input_tokens=272_000, prices={"output": 2_000_000_000})
    assert [(one.other_price, one.price) for one in sources.disagree(row, "litellm")] == [
        (4_000_000_000, 2_000_000_000)
    ]


@pytest.mark.parametrize(
    ("since", "others"),
    [(JAN, [4]), (MAR, [2]), (FEB, [2, 4])],
)
def test_a_threshold_that_is_over_hides_the_price_below_it_no_more(since: datetime, others: list[int]) -> None:
    """4 above 200,000 from January to March, else 2: what is stated from February on is compared with both."""
    above = replace(ROW, above_input_tokens=200_000, prices={"output": 4_000_000_000}, effective_from=JAN)
    held = [_held(ROW, "genai-prices"), _held(replace(above, effective_until=MAR), "genai-prices")]
    sources = OtherSources(held, known_names([NAMES[0].alias]), {})
    until = MAR if since == JAN else None
    row = replace(DEAR, above_input_tokens=272_000, effective_from=since, effective_until=until)
    assert sorted(one.other_price // 10**9 for one in sources.disagree(row, "litellm")) == others


def test_a_later_source_is_silent_from_the_first_ones_first_instant_on() -> None:
    first, other = replace(ROW, effective_from=MAR), replace(DEAR, model="acme/m", effective_from=MAR)
    assert _listed(_held(first, "genai-prices"), _held(other, "litellm")) == [("m", 2, MAR, None)]


def test_of_two_models_that_mean_one_the_one_of_its_name_serves() -> None:
    names = [*NAMES[:1], HeldName(Alias("acme", "a", "m", "x"), "genai-prices")]
    first = _held(replace(ROW, effective_from=MAR), "genai-prices")
    short = _held(replace(DEAR, model="a", effective_from=JAN), "litellm")
    named = _held(replace(DEAR, prices={"output": 9_000_000_000}, effective_from=JAN), "litellm")
    rows, _ = in_force([first, short, named], names)
    assert sorted(
        (row.prices["output"] // 10**9, row.effective_until) for row in rows if row.effective_from == JAN
    ) == [(9, MAR)]
