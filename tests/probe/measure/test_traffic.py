"""Are arrival lists the same for everybody, and scaled as asked?"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from probe.measure.errors import MeasureRefused
from probe.measure.traffic import Arrival, Lengths, at_rate, draw_arrivals, read_arrivals


def test_a_list_is_drawn_from_its_seed_with_a_mean_gap_of_one() -> None:
    first, again = (draw_arrivals(2_000, Lengths((4, 9), (1, 3)), seed=5) for _ in range(2))
    assert first == again
    assert first[0].at == 0.0
    assert np.diff([one.at for one in first]).mean() == pytest.approx(1.0, abs=0.07)
    assert {one.input_tokens for one in first} == set(range(4, 10))
    assert {one.output_tokens for one in first} == {1, 2, 3}


def test_a_rate_compresses_time() -> None:
    assert at_rate([Arrival(0.0, 1, 1), Arrival(3.0, 2, 2)], 4.0) == [Arrival(0.0, 1, 1), Arrival(0.75, 2, 2)]


def test_a_file_is_read_with_its_mean_gap_taken_for_one(tmp_path: Path) -> None:
    (tmp_path / "list.json").write_text("[[10, 5, 2], [12, 6, 3], [18, 7, 4]]", encoding="utf-8")
    assert read_arrivals(tmp_path / "list.json") == [Arrival(0.0, 5, 2), Arrival(0.5, 6, 3), Arrival(2.0, 7, 4)]


@pytest.mark.parametrize(
    ("text", "field"),
    [
        ("[[0, 5, 2], [1, 0, 2]]", r"replay_list\[1\]"),
        ("[[5, 5, 2], [1, 5, 2]]", r"replay_list\[1\]"),
        ("[[5, 5, 2]]", "replay_list=1"),
        ('{"a": 1}', "list.json"),
    ],
)
def test_lists_that_say_nothing_are_refused(tmp_path: Path, text: str, field: str) -> None:
    (tmp_path / "list.json").write_text(text, encoding="utf-8")
    with pytest.raises(MeasureRefused, match=field):
        read_arrivals(tmp_path / "list.json")
