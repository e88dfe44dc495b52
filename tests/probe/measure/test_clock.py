"""Does a replay's clock go at the pace of the curve? Times are given, none is waited for."""

from __future__ import annotations

import time
from collections.abc import Iterator
from itertools import chain, repeat

import pytest

from probe.measure.clock import EVERY, FIRST, Clock, PacedClock, clock_of
from probe.measure.yardstick import Yardstick


class Machine(Yardstick):
    """Time that moves only when something is done. A look takes `takes` seconds and finds the machine `slower`; None: it finds nothing."""

    def __init__(self, slower: float | None = 1.0, takes: float = 1.0) -> None:
        self.now, self.slower, self.takes, self.looks = 50.0, slower, takes, 0
        self.finds: Iterator[float | None] | None = None

    def tick(self) -> float | None:
        self.now, self.looks = self.now + self.takes, self.looks + 1
        return self.slower if self.finds is None else next(self.finds)

    def said(self) -> str:
        return "decode 4x64"

    def sleep(self, seconds: float) -> None:
        self.now += seconds

    def real(self) -> float:
        return self.now


def started(slower: float | None = 1.0, takes: float = 1.0, window: float = 0.5) -> tuple[Machine, PacedClock]:
    """A window of half a second holds one look of a second."""
    machine = Machine(slower, takes)
    return machine, PacedClock(machine, machine.real, window)


def test_paces_of_one_and_a_half_and_one_again() -> None:
    """Six real seconds at the curve's pace are 6; while the machine takes 1.5 times as long six more are 4; then 6 again: 16."""
    machine, clock = started()
    machine.now += 6.0
    clock.stepped()
    assert clock() == 6.0
    machine.slower = 1.5
    machine.now += 6.0
    clock.stepped()
    assert clock() == pytest.approx(10.0)
    machine.slower = 1.0
    machine.now += 6.0
    clock.stepped()
    assert clock() == pytest.approx(16.0)
    assert clock.paces == [1.0, 1.5, 1.0]
    assert (clock.real_busy, clock.busy) == (18.0, pytest.approx(16.0))


def test_a_machine_quicker_than_the_curves_has_a_quicker_clock() -> None:
    machine, clock = started(slower=0.5)
    machine.now += 3.0
    assert clock() == 6.0


def test_what_looks_take_does_not_count() -> None:
    """A step of 1 s, then a look of 1 s."""
    machine, clock = started()
    before = machine.now
    machine.now += 1.0
    clock.stepped()
    assert machine.now - before == 2.0
    assert (clock(), clock.busy, clock.real_busy) == (1.0, 1.0, 1.0)


def test_looks_are_rare() -> None:
    """None while the last is less than half a second old."""
    machine, clock = started(takes=0.0)
    assert (EVERY, machine.looks) == (0.5, FIRST)
    machine.now += 0.49
    clock.stepped()
    assert machine.looks == FIRST
    machine.now += 0.02
    clock.stepped()
    assert machine.looks == FIRST + 1


def test_the_middle_of_the_windows_looks_counts() -> None:
    """Looks 1 s apart in a window of 2.5 s: of 1, 1, 1 and then 4, 2, 1 the last three are seen, whose middle is 1, 1, 2 and 2."""
    machine = Machine(takes=1.0)
    machine.finds = chain([1.0, 1.0, 1.0, 4.0, 2.0, 1.0], repeat(1.0))
    clock = PacedClock(machine, machine.real, 2.5)
    for _ in range(4):
        machine.now += 0.0
        clock._take()
    assert clock.slower == 1.0
    machine.finds = chain([4.0, 2.0, 1.0])
    found = []
    for _ in range(3):
        clock._take()
        found.append(clock.slower)
    assert found == [1.0, 2.0, 2.0]


def test_waiting_ends_in_naps_of_the_machines_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine of half the pace: 4 ms of the clock take 8, a second no more than a nap of 10."""
    machine, clock = started(slower=2.0)
    monkeypatch.setattr(time, "sleep", machine.sleep)
    clock.wait(0.004)
    assert clock() == pytest.approx(0.004)
    clock.wait(1.0)
    assert clock() == pytest.approx(0.004 + 0.005)
    clock.wait(-1.0)
    assert clock() == pytest.approx(0.009)


def test_looks_while_waiting_do_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    """6 s after the last look another one of 1 s is taken, behind a nap of 4 ms."""
    machine, clock = started()
    monkeypatch.setattr(time, "sleep", machine.sleep)
    machine.now += 6.0
    clock.wait(0.004)
    assert machine.looks == FIRST + 1
    assert clock() == pytest.approx(6.004)


def test_a_reader_is_told_what_the_wall_would_have_shown() -> None:
    machine, clock = started()
    for slower in (1.0, 1.5):
        machine.slower = slower
        machine.now += 6.0
        clock.stepped()
    assert clock.said() == (
        "; seconds at the curve's pace by decode 4x64: the machine took 1.20 times as long in the mean, 1.00 to 1.50, "
        "50% of it more than 10% off, 12 s for all steps"
    )


@pytest.mark.parametrize(("slower", "strayed"), [(1.1, 0.0), (1.11, 1.0), (0.91, 0.0), (0.9, 1.0)])
def test_a_tenth_off_either_way_is_another_pace(slower: float, strayed: float) -> None:
    machine, clock = started(slower)
    machine.now += 6.0
    clock.stepped()
    assert clock.strayed() == strayed


def test_pace_is_off_for_half_of_the_time() -> None:
    """Steps of 6 s: one at the curve's pace and a little more, one half as slow again or a tenth quicker; either way counts."""
    for off in (1.5, 0.9):
        machine, clock = started()
        for slower in (1.1, off):
            machine.slower = slower
            machine.now += 6.0
            clock.stepped()
        assert clock.strayed() == pytest.approx(0.5)


def test_a_pace_that_no_look_told_is_taken_for_the_curves_and_said_to_be_off() -> None:
    machine, clock = started(slower=None)
    machine.now += 6.0
    clock.stepped()
    assert (clock.slower, clock.strayed()) == (1.0, 1.0)


def test_a_curve_without_a_pace_is_replayed_in_real_time() -> None:
    plain = clock_of(2, None)
    assert type(plain) is Clock
    assert plain.said() == ""
    assert isinstance(clock_of(2, Machine()), PacedClock)
