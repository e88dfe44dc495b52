"""Does a replay's clock go at the pace of the curve? Times are given, none is waited for."""

from __future__ import annotations

import time

import pytest

from probe.measure.clock import Clock, PacedClock, clock_of
from probe.measure.pace import Pace


class Machine:
    """Time that moves only when something is done: a tick of the work takes `tick` seconds."""

    def __init__(self, tick: float) -> None:
        self.now, self.tick = 50.0, tick

    def work(self) -> None:
        self.now += self.tick

    def sleep(self, seconds: float) -> None:
        self.now += seconds

    def real(self) -> float:
        return self.now


def started(tick: float = 1.0, then: float = 1.0, window: float = 2.5) -> tuple[Machine, PacedClock]:
    """Seconds of whole numbers: a window of 2.5 s holds the last three ticks of 1 s."""
    machine = Machine(tick)
    return machine, PacedClock(Pace(machine.work, machine.real), then, window)


def test_paces_of_one_and_a_half_and_one_again() -> None:
    """Ticks of 1 s are the curve's. Six real seconds at that pace are 6; while ticks take 1.5 s six more are 4; then 6 again: 16."""
    machine, clock = started()
    machine.now += 6.0
    clock.stepped()
    assert clock() == 6.0
    machine.tick = 1.5
    machine.now += 6.0
    clock.stepped()
    assert clock() == pytest.approx(10.0)
    machine.tick = 1.0
    machine.now += 6.0
    clock.stepped()
    assert clock() == pytest.approx(16.0)
    assert clock.paces == [1.0, 1.5, 1.0]
    assert (clock.real_busy, clock.busy) == (18.0, pytest.approx(16.0))


def test_a_machine_quicker_than_the_curves_has_a_quicker_clock() -> None:
    machine, clock = started(tick=1.0, then=2.0)
    machine.now += 3.0
    assert clock() == 6.0


def test_what_ticks_take_does_not_count() -> None:
    """A step of 1 s, then three ticks of 1 s each."""
    machine, clock = started()
    before = machine.now
    machine.now += 1.0
    clock.stepped()
    assert machine.now - before == 4.0
    assert (clock(), clock.busy, clock.real_busy) == (1.0, 1.0, 1.0)


def test_ticks_are_rare() -> None:
    """They would slow the steps: none while the last are less than 50 ms old."""
    machine, clock = started(tick=0.001, then=0.001)
    count = len(clock._pace.ticks)
    machine.now += 0.049
    clock.stepped()
    assert len(clock._pace.ticks) == count
    machine.now += 0.002
    clock.stepped()
    assert len(clock._pace.ticks) == count + 3


def test_the_first_of_a_row_of_ticks_does_not_count() -> None:
    """It takes 9 s, those after it 1 s: ten at the start, two later."""
    times = iter([9.0, *[1.0] * 10, 9.0, 1.0, 1.0])
    machine = Machine(0.0)

    def work() -> None:
        machine.now += next(times)

    clock = PacedClock(Pace(work, machine.real), 1.0, 2.5)
    machine.now += 100.0
    clock.stepped()
    assert clock.slower == 1.0


def test_waiting_ends_in_naps_of_the_machines_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine of half the pace: 4 ms of the clock take 8, a second no more than a nap of 10."""
    machine, clock = started(tick=0.002, then=0.001)
    monkeypatch.setattr(time, "sleep", machine.sleep)
    clock.wait(0.004)
    assert clock() == pytest.approx(0.004)
    clock.wait(1.0)
    assert clock() == pytest.approx(0.004 + 0.005)
    clock.wait(-1.0)
    assert clock() == pytest.approx(0.009)


def test_ticks_while_waiting_do_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    """6 s after the last tick three more of 1 s are taken, behind a nap of 4 ms."""
    machine, clock = started()
    monkeypatch.setattr(time, "sleep", machine.sleep)
    machine.now += 6.0
    clock.wait(0.004)
    assert clock() == pytest.approx(6.004)


def test_a_reader_is_told_what_the_wall_would_have_shown() -> None:
    machine, clock = started()
    for tick in (1.0, 1.5):
        machine.tick = tick
        machine.now += 6.0
        clock.stepped()
    assert clock.said() == (
        "; seconds at the curve's pace: the machine took 1.20 times as long in the mean, 1.00 to 1.50, "
        "50% of it more than 10% off, 12 s for all steps"
    )


def test_a_pace_that_no_tick_told_is_taken_for_the_curves_and_said_to_be_off() -> None:
    machine = Machine(1.0)
    clock = PacedClock(Pace(machine.work, machine.real, lambda: machine.now), 2.0)
    machine.now += 6.0
    clock.stepped()
    assert (clock.slower, clock.strayed()) == (1.0, 1.0)


def test_a_curve_without_a_pace_is_replayed_in_real_time() -> None:
    machine = Machine(1.0)
    pace = Pace(machine.work, machine.real)
    for clock in (clock_of(2, pace, None), clock_of(2, None, 1.0)):
        assert type(clock) is Clock
        assert clock.said() == ""
    assert isinstance(clock_of(2, pace, 1.0), PacedClock)
