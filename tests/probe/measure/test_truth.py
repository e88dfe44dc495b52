"""Does a replay count what a client would see? A real engine, and a clock that shows one second more each time it is read."""

from __future__ import annotations

import itertools

import pytest

from probe.measure import watch
from probe.measure.clock import Clock
from probe.measure.rig import Rig
from probe.measure.traffic import Arrival
from probe.measure.truth import Served, quiet_replay, replay
from tests.probe.measure.rigs import rig


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Rig:
    return rig(tmp_path_factory.mktemp("model"))


def served(small: Rig, *arrivals: Arrival) -> Served:
    ticks = itertools.count()
    return replay(small.engine, arrivals, seed=1, now=Clock(lambda: float(next(ticks))))


def test_one_request(small: Rig) -> None:
    """Begun at 0. First turn: read at 1, after the step 2; second turn: 3 and 4. The end is read at 5."""
    found = served(small, Arrival(0.0, 5, 2))
    assert (found.ttft, found.itl, found.busy_seconds, found.seconds) == ([2.0], [2.0], 2.0, 5.0)


def test_waiting_counts_from_the_arrival(small: Rig) -> None:
    """The second arrives at 1.5, is first seen at 3, and has its token at 4: after 2.5."""
    found = served(small, Arrival(0.0, 5, 3), Arrival(1.5, 5, 1))
    assert sorted(found.ttft) == [2.0, 2.5]
    assert found.itl == [2.0, 2.0]


def test_answers_have_the_lengths_asked_for(small: Rig) -> None:
    found = served(small, Arrival(0.0, 5, 4), Arrival(0.0, 9, 7))
    assert (len(found.ttft), len(found.itl)) == (2, 3 + 6)


class Strayed(Clock):
    """Of a machine that was at another pace for a share of the time."""

    def __init__(self, share: float) -> None:
        ticks = itertools.count()
        super().__init__(lambda: float(next(ticks)))
        self.share = share

    def strayed(self) -> float:
        return self.share

    def said(self) -> str:
        return f"; {self.share:.0%} off"


@pytest.mark.parametrize(
    ("shares", "said"),
    [
        ([0.2, 0.0], ("; 20% off", [])),
        ([0.21, 0.1, 0.0], ("; 10% off", [])),
        ([0.3, 0.4, 0.5, 0.0], ("; 50% off", ["the machine did not keep the curve's pace: contaminated"])),
    ],
)
def test_a_replay_at_another_pace_is_repeated_and_marked_where_none_kept_it(
    small: Rig, monkeypatch: pytest.MonkeyPatch, shares: list[float], said: tuple[str, list[str]]
) -> None:
    monkeypatch.setattr(watch, "contaminated", lambda *_: False)
    monkeypatch.setattr(watch, "waited", lambda: 0.0)
    coming = iter(shares)
    found, *told = quiet_replay(small, [Arrival(0.0, 5, 2)], 1, lambda: Strayed(next(coming)))
    assert (len(found.ttft), tuple(told)) == (1, said)
