"""Does a price stand from its first moment to the next, with every digit one hover away?"""

from __future__ import annotations

from dashboard import charts

ROWS = [
    {"of": "openai", "at": "2025-01-01T00:00:00Z", "output": "40"},
    {"of": "openai", "at": "2025-06-10T00:00:00Z", "output": "8.000000001"},
    {"of": "azure", "at": "2025-06-10T00:00:00Z", "output": None},
]


def test_a_price_is_a_step_that_holds_until_the_next() -> None:
    made = charts.steps(ROWS, "at", "output", "of", ("in force from", "per million"))
    first, second = made.data
    assert list(first.x) == ["2025-01-01T00:00:00Z", "2025-06-10T00:00:00Z"]
    assert list(first.y) == [40.0, 8.000000001]
    assert first.line.shape == "hv"
    assert list(first.customdata) == ["40", "8.000000001"]
    assert (made.layout.xaxis.type, made.layout.yaxis.title.text) == ("date", "per million")
    assert list(second.x) == []


def test_two_sellers_differ_by_more_than_colour() -> None:
    first, second = charts.steps(ROWS, "at", "output", "of", ("", "")).data
    assert (first.line.dash, first.marker.symbol) != (second.line.dash, second.marker.symbol)
