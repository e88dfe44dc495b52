"""Is the machine's noise told from the own work?"""

from __future__ import annotations

import os
import subprocess
import sys
import time

import pytest

from probe.measure.watch import Reading, Waiting, contaminated, others, parse_busy, read, waited

STAT = "cpu  1000 20 300 9999 88 7 13 60 0 0\ncpu0 1 1 1 1 1 1 1 1 0 0\n"


def test_busy_time_leaves_out_idle_and_waiting_for_disks_and_counts_what_was_stolen() -> None:
    # 1000 + 20 + 300 + 7 + 13 + 60 = 1400 ticks of a hundredth second
    assert parse_busy(STAT, 100) == 14.0


def test_others_are_busy_time_less_own() -> None:
    assert others(Reading(10.0, 1.0, 0.0), Reading(13.0, 3.5, 2.0)) == 0.5


@pytest.mark.parametrize(("busy", "expected"), [(1.62, True), (1.6, False)])
def test_a_share_and_one_tick_a_processor_are_allowed(
    busy: float, expected: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two processors, 5 s: 5 % of 10 s and two ticks of a hundredth are 0.52 s; own work is 1.09 s."""
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    monkeypatch.setattr(os, "sysconf", lambda _: 100)
    assert contaminated(Reading(0.0, 0.0, 0.0), Reading(busy, 1.09, 5.0)) is expected


def test_where_the_system_does_not_say_nothing_is_held_against_a_sample() -> None:
    assert not contaminated(Reading(None, 0.0, 0.0), Reading(None, 1.0, 1.0))


@pytest.mark.skipif(not os.path.exists("/proc/self/schedstat"), reason="Linux with scheduler statistics")
def test_waiting_for_a_processor_is_seen() -> None:
    """Own spinning beside a spinning child, both bound to one processor: half of the time is waited."""
    allowed = os.sched_getaffinity(0)
    one = {min(allowed)}
    spin = "import os, time\nend = time.monotonic() + 2\nwhile time.monotonic() < end: pass"
    os.sched_setaffinity(0, one)
    child = subprocess.Popen([sys.executable, "-c", spin])
    try:
        kept = Waiting()
        before, begin, first = waited(), read(), kept()
        end = time.monotonic() + 0.5
        while time.monotonic() < end:
            pass
        assert waited() - before > 0.1
        assert kept() - first > 0.1
        assert read().own - begin.own < 0.45
    finally:
        os.sched_setaffinity(0, allowed)
        child.kill()
        child.wait()
