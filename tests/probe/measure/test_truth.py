"""Does a replay count what a client would see? A real engine, and a clock that shows one second more each time it is read."""

from __future__ import annotations

import itertools

import pytest

from probe.measure.clock import Clock
from probe.measure.rig import Rig
from probe.measure.traffic import Arrival
from probe.measure.truth import Served, replay
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
