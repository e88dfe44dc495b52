"""Do the charts draw the figures they are given, at their place, with exact values to hover over?"""

from __future__ import annotations

import xml.etree.ElementTree as ET
from typing import Any

import pytest

from dashboard import charts
from dashboard.charts import colours
from dashboard.charts.spark import drawing

LIGHT, DARK = "#FFFFFF", "#11161C"


def bridge(rows: list[dict[str, Any]], before: str = "100", after: str = "120") -> Any:
    return charts.waterfall(rows, "step", "margin", ("September", before), ("October", after), "USD").data[0]


def test_a_waterfall_goes_from_the_first_amount_over_signed_steps_to_the_last() -> None:
    bars = bridge([{"step": "unit_price", "margin": "-30.5"}, {"step": "users", "margin": "50.5"}])
    assert list(bars.y) == ["September", "unit price", "users", "October"]
    assert list(bars.x) == [100.0, -30.5, 50.5, 120.0]
    assert list(bars.measure) == ["absolute", "relative", "relative", "absolute"]


def test_a_waterfall_has_every_digit_one_hover_away() -> None:
    bars = bridge([{"step": "users", "margin": "20.000000000000000001"}])
    assert bars.customdata[1] == "20.000000000000000001 USD"
    assert bars.text[1] == "$20.00"


@pytest.mark.parametrize(("margin", "shown"), [("0.005", True), ("-0.005", True), ("0.0049", False), ("0", False)])
def test_a_step_below_half_a_cent_has_no_bar(margin: str, shown: bool) -> None:
    assert ("users" in bridge([{"step": "users", "margin": margin}]).y) is shown


def test_the_axis_of_a_waterfall_begins_at_0_unless_its_steps_are_small() -> None:
    rows = [{"step": "users", "margin": "-60"}]
    wide = charts.waterfall(rows, "step", "margin", ("a", "100"), ("b", "40"), "USD")
    assert tuple(wide.layout.xaxis.range) == (0.0, 125.0)  # a quarter of room for the amount beside the bar
    rows = [{"step": "users", "margin": "-1"}]
    cut = charts.waterfall(rows, "step", "margin", ("a", "100"), ("b", "99"), "USD")
    assert tuple(cut.layout.xaxis.range) == (98.75, 100.25)
    assert cut.layout.xaxis.title.text == "USD, axis cut"
    rows = [{"step": "users", "margin": "-50"}]
    half = charts.waterfall(rows, "step", "margin", ("a", "100"), ("b", "50"), "USD")
    assert tuple(half.layout.xaxis.range) == (0.0, 125.0)


def test_a_waterfall_below_zero_keeps_its_axis() -> None:
    lost = charts.waterfall([{"step": "users", "margin": "-10"}], "step", "margin", ("a", "-90"), ("b", "-100"), "USD")
    assert tuple(lost.layout.xaxis.range) == (-125.0, 0.0)


CURVE = [
    {"plan": "pro", "subscribers_pct": "0", "cost_pct": "0"},
    {"plan": "pro", "subscribers_pct": "50", "cost_pct": "12.5"},
    {"plan": "pro", "subscribers_pct": "100", "cost_pct": "100"},
    {"plan": "free", "subscribers_pct": "0", "cost_pct": None},
]


def test_a_lorenz_curve_stands_beside_equal_shares() -> None:
    drawn = charts.lorenz(CURVE, "subscribers_pct", "cost_pct", "plan", ("Subscribers", "Cost"))
    equal, pro = drawn.data
    assert (list(equal.x), list(equal.y)) == ([0, 100], [0, 100])
    assert (pro.name, list(pro.x), list(pro.y)) == ("pro", [0.0, 50.0, 100.0], [0.0, 12.5, 100.0])


def test_a_plan_without_known_shares_has_no_curve() -> None:
    drawn = charts.lorenz(CURVE, "subscribers_pct", "cost_pct", "plan", ("Subscribers", "Cost"))
    assert [trace.name for trace in drawn.data] == ["equal shares", "pro"]


GRID = [
    {"batch": 1, "context": 128, "tokens_per_second": "200.5", "beyond": False, "measured": "190"},
    {"batch": 8, "context": 128, "tokens_per_second": "1400", "beyond": True, "measured": None},
    {"batch": 1, "context": 4096, "tokens_per_second": "150", "beyond": False, "measured": None},
]


def test_a_heat_map_leaves_a_cell_that_was_not_measured_empty() -> None:
    titles = ("Context, tokens", "Batch", "tokens a second")
    (cells,) = charts.heat(GRID, "context", "batch", "tokens_per_second", titles, str).data
    assert (list(cells.x), list(cells.y)) == (["128", "4,096"], ["1", "8"])
    assert [list(line) for line in cells.z] == [[200.5, 150.0], [1400.0, None]]
    assert [list(line) for line in cells.text] == [["200.5", "150"], ["1400", ""]]
    assert cells.customdata[1][1] == "not measured"


def drawn_lines(**more: Any) -> Any:
    titles = ("Batch", "Tokens a second")
    return charts.lines(GRID, "batch", "tokens_per_second", "context", titles, name="context", **more).data


def test_measured_points_lie_beside_the_line_of_their_colour() -> None:
    line, points, other = drawn_lines(measured="measured")
    assert (line.name, list(line.x), list(line.y)) == ("context 128", [1.0, 8.0], [200.5, 1400.0])
    assert (list(points.x), list(points.y), points.mode) == ([1.0], [190.0], "markers")
    assert points.marker.color == line.line.color != other.line.color


def test_what_lies_beyond_the_measured_range_is_dotted() -> None:
    inside, outside, other = drawn_lines(beyond="beyond")
    assert (list(inside.y), list(outside.y)) == ([200.5, None], [None, 1400.0])
    assert (inside.line.dash, outside.line.dash, other.line.dash) == ("solid", "dot", "dash")


def test_a_logarithmic_axis_has_a_tick_at_each_value_that_was_measured() -> None:
    titles = ("Batch", "Tokens a second")
    made = charts.lines(GRID, "batch", "tokens_per_second", "context", titles, log=(True, False))
    assert (made.layout.xaxis.type, made.layout.yaxis.type) == ("log", "linear")
    assert (list(made.layout.xaxis.tickvals), list(made.layout.xaxis.ticktext)) == ([1.0, 8.0], ["1", "8"])


def test_a_logarithmic_height_has_whole_names_at_1_2_and_5() -> None:
    titles = ("Batch", "Tokens a second")
    made = charts.lines(GRID, "batch", "tokens_per_second", "context", titles, log=(True, True))
    # From 150 to 1,400: 100 and 2,000 are the first beyond, within twice.
    assert list(made.layout.yaxis.ticktext) == ["100", "200", "500", "1,000", "2,000"]


def test_days_below_an_axis_are_few_and_say_their_year_once() -> None:
    days = [{"day": f"2026-10-{day:02}", "model": "a", "cost": "1"} for day in range(1, 32)]
    axis = charts.stacked(days, "day", "model", "cost", ("", "USD"), "USD").layout.xaxis
    assert list(axis.ticktext) == ["1 Oct<br>2026", "6 Oct", "11 Oct", "16 Oct", "21 Oct", "26 Oct", "31 Oct"]
    assert list(axis.tickvals)[:2] == ["2026-10-01", "2026-10-06"]
    named = charts.stacked([{"m": "pro", "x": "a", "cost": "1"}], "m", "x", "cost", ("", "USD"), "USD").layout.xaxis
    assert named.tickvals is None  # names that are no periods all stay


def test_a_limit_of_use_from_ten_on_is_whole() -> None:
    marks = (charts.Mark("break-even", "1773.9412"), charts.Mark("cap", "9.5"))
    made = charts.distribution(
        USE, ("from_use", "below_use"), "subscribers", "loss_making", marks, ("Requests", "Subscribers")
    )
    assert [trace.name for trace in made.data[2:]] == ["break-even: 1,774", "cap: 9.5"]


MONTHS: list[dict[str, Any]] = [
    {"month": "2026-10", "model": "a", "cost": "3"},
    {"month": "2026-09", "model": "a", "cost": None},
    {"month": "2026-10", "model": None, "cost": "1.25"},
]


def test_stacked_bars_keep_the_order_of_the_rows_and_their_holes() -> None:
    made = charts.stacked(MONTHS, "month", "model", "cost", ("Month", "USD"), "USD")
    first, second = made.data
    assert (list(first.x), list(first.y)) == (["2026-10", "2026-09"], [3.0, None])
    assert first.customdata[1] == "not known"
    assert (second.name, list(second.y)) == ("not named", [1.25])
    assert list(made.layout.xaxis.categoryarray) == ["2026-10", "2026-09"]
    assert made.layout.barmode == "relative"  # a credit goes below the axis, and takes nothing off the bar above


def test_a_bill_is_a_bar_of_its_parts_with_what_is_negative_below_the_axis() -> None:
    bills = [
        {"day": "1", "direct": "3", "gap": "-1", "idle": "2"},
        {"day": "2", "direct": "0", "gap": "0", "idle": "4"},
    ]
    made = charts.parts(bills, "day", ("direct", "gap", "idle"), ("Day", "USD"), "USD")
    assert [(trace.name, list(trace.y)) for trace in made.data] == [
        ("direct", [3.0, 0.0]),
        ("gap", [-1.0, 0.0]),
        ("idle", [2.0, 4.0]),
    ]
    assert made.layout.barmode == "relative"


def test_grouped_bars_stand_side_by_side() -> None:
    made = charts.grouped(
        [{"plan": "pro", "price": "1", "volume": "-2"}], "plan", ("price", "volume"), ("", "USD"), "USD"
    )
    assert [(trace.name, trace.y[0]) for trace in made.data] == [("price", 1.0), ("volume", -2.0)]
    assert made.layout.barmode == "group"


def test_a_filled_bar_keeps_its_colour_below_the_pattern() -> None:
    _, second = charts.stacked(MONTHS, "month", "model", "cost", ("Month", "USD"), "USD").data
    assert (second.marker.color, second.marker.pattern.shape) == (colours.SERIES[1], "/")
    assert second.marker.pattern.fillmode == "overlay"  # else the pattern takes the colour's place


def test_ranked_bars_begin_on_top_and_show_losses_by_colour_and_sign() -> None:
    rows = [{"user": "u1", "margin": "-4.5"}, {"user": "u2", "margin": None}, {"user": "u3", "margin": "2"}]
    made = charts.ranked(rows, "user", "margin", "Gross margin, USD", "USD")
    (bar,) = made.data
    assert (list(bar.y), list(bar.x)) == (["u1", "u3"], [-4.5, 2.0])
    assert list(bar.text) == ["\N{MINUS SIGN}$4.50", "$2.00"]
    assert list(bar.marker.color) == [colours.LOSS, colours.GAIN]
    assert made.layout.yaxis.autorange == "reversed"


USE = [
    {"from_use": 0, "below_use": 1, "subscribers": 7, "loss_making": 0},
    {"from_use": 1, "below_use": 2, "subscribers": 5, "loss_making": 1},
    {"from_use": 2, "below_use": 5, "subscribers": 3, "loss_making": 3},
]


def test_a_distribution_has_bars_from_edge_to_edge_and_losers_inside() -> None:
    marks = (charts.Mark("break-even", "3.5"), charts.Mark("cap", None), charts.Mark("none", 0))
    made = charts.distribution(
        USE, ("from_use", "below_use"), "subscribers", "loss_making", marks, ("Requests", "Subscribers")
    )
    every, lost, mark = made.data
    assert (list(every.x), list(every.width), every.offset, list(every.y)) == ([1.0, 2.0], [1.0, 3.0], 0, [5, 3])
    assert (lost.name, list(lost.y)) == ("losing money", [1, 3])
    assert (list(mark.x), list(mark.y), mark.name) == ([3.5, 3.5], [0, 5], "break-even: 3.5")
    assert made.layout.xaxis.title.text == "Requests. 7 used nothing"


def test_a_sparkline_runs_from_the_lowest_to_the_highest_with_holes() -> None:
    lines = ET.fromstring(drawing(["0", "10", None, "5"]))
    assert [line.get("points") for line in lines] == ["2.0,18.0 32.7,2.0", "94.0,10.0"]


@pytest.mark.parametrize(
    ("values", "points"),
    [
        (["5", "10"], "2.0,10.0 94.0,2.0"),
        (["-5", "5"], "2.0,18.0 94.0,2.0"),
        (["-5", "-10"], "2.0,10.0 94.0,18.0"),
        (["0"], "2.0,18.0"),
    ],
)
def test_a_sparkline_has_0_in_its_range(values: list[str], points: str) -> None:
    assert [line.get("points") for line in ET.fromstring(drawing(values))] == [points]


def test_a_sparkline_says_what_it_shows_to_those_who_hear_it() -> None:
    assert charts.spark(["1"], 'cost of "u1"').startswith(
        '<img alt="cost of &quot;u1&quot;" width="96" height="20" src="data:image/svg'
    )


def test_a_sparkline_of_nothing_known_is_empty() -> None:
    assert charts.spark([None, None], "cost") == ""


def luminance(colour: str) -> float:
    """WCAG 2.2, relative luminance."""
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)


def test_contrast_is_worked_as_the_standard_says() -> None:
    assert contrast("#000000", "#FFFFFF") == 21.0


@pytest.mark.parametrize("colour", sorted({*colours.SERIES, colours.GAIN, colours.LOSS, colours.NEUTRAL}))
def test_every_colour_can_be_seen_in_light_and_dark(colour: str) -> None:
    assert contrast(colour, LIGHT) >= 3
    assert contrast(colour, DARK) >= 3


def test_series_differ_without_their_colour() -> None:
    assert len({(colours.dash(number), colours.symbol(number)) for number in range(8)}) == 8
    assert len({colours.pattern(number) for number in range(8)}) == 8


def test_a_ninth_bar_has_the_firsts_colour_and_another_filling() -> None:
    assert (colours.series(8), colours.series(0)) == ("#0072B2", "#0072B2")
    assert (colours.pattern(8), colours.pattern(0)) == ("/", "")
    assert len({(colours.series(number), colours.pattern(number)) for number in range(64)}) == 64


FIGURES = {
    "waterfall": lambda: charts.waterfall([], "step", "margin", ("a", "1"), ("b", "1"), "USD"),
    "lines": lambda: charts.lines(GRID, "batch", "tokens_per_second", "context", ("Batch", "Tokens a second")),
    "lorenz": lambda: charts.lorenz(CURVE, "subscribers_pct", "cost_pct", "plan", ("Subscribers", "Cost")),
    "stacked": lambda: charts.stacked(MONTHS, "month", "model", "cost", ("Month", "USD"), "USD"),
}


@pytest.mark.parametrize("name", sorted(FIGURES))
def test_axes_keep_room_for_their_labels(name: str) -> None:
    layout = FIGURES[name]().layout
    assert layout.xaxis.automargin
    assert layout.yaxis.automargin
    assert layout.xaxis.title.text or layout.yaxis.title.text
