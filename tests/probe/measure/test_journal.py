"""Does the journal keep every visit, once, whatever happens to the process?"""

from __future__ import annotations

from pathlib import Path

import pytest

from probe.curve.schema import Sample
from probe.measure.errors import MeasureRefused
from probe.measure.journal import Journal, contaminated
from probe.measure.shapes import decode, mixed

ABOUT = {"model_hash": "abc", "grid": (1, 2)}
SAMPLE = Sample(kind="decode", seconds=0.25, contexts=[40])


def test_what_was_written_is_there_when_it_is_opened_again(tmp_path: Path) -> None:
    first = Journal(tmp_path / "j", ABOUT)
    first.plan(0, [decode(1, 40), mixed(2, 30, 16, 8)])
    first.visit((0, 0, 0, 0), decode(1, 40), 1.5, [SAMPLE])
    first.close()
    again = Journal(tmp_path / "j", ABOUT)
    assert again.plans == {0: [decode(1, 40), mixed(2, 30, 16, 8)]}
    assert again.samples() == [(decode(1, 40), SAMPLE)]
    assert again.seconds == 1.5


def test_a_line_cut_short_by_a_kill_is_dropped_and_the_next_one_stands_alone(tmp_path: Path) -> None:
    path = tmp_path / "j"
    first = Journal(path, ABOUT)
    first.visit((0, 0, 0, 0), decode(1, 40), 1.0, [SAMPLE])
    first.close()
    whole = path.read_bytes()
    path.write_bytes(whole + b'{"type":"visit","key":[0,0,1,0],"sha')
    again = Journal(path, ABOUT)
    again.visit((0, 0, 1, 0), decode(2, 40), 1.0, [SAMPLE])
    again.close()
    assert path.read_bytes().startswith(whole + b'{"type":"visit","key":[0,0,1,0],"shape"')
    assert [one.key for one in Journal(path, ABOUT).visits] == [(0, 0, 0, 0), (0, 0, 1, 0)]


def test_the_journal_of_another_run_is_refused_by_what_differs(tmp_path: Path) -> None:
    Journal(tmp_path / "j", ABOUT).close()
    with pytest.raises(MeasureRefused, match="model_hash 'abc' there, 'xyz' here"):
        Journal(tmp_path / "j", {**ABOUT, "model_hash": "xyz"})


def test_a_damaged_line_in_the_middle_is_refused_by_its_number(tmp_path: Path) -> None:
    Journal(tmp_path / "j", ABOUT).close()
    with (tmp_path / "j").open("ab") as file:
        file.write(b"{}\n")
    with pytest.raises(MeasureRefused, match="j:2"):
        Journal(tmp_path / "j", ABOUT)


@pytest.mark.parametrize(("bad", "expected"), [(1, False), (2, True)])
def test_a_visit_is_contaminated_when_more_than_half_of_its_steps_are(bad: int, expected: bool) -> None:
    noisy = Sample(kind="decode", seconds=0.5, contexts=[40], contaminated=True)
    assert contaminated([SAMPLE] * (3 - bad) + [noisy] * bad) is expected
