"""Does a tick say what the fixed work took, of which processor's seconds?"""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from probe.measure import pace, watch
from probe.measure.pace import Pace, cache_bytes, fixed_work, pace_of, real_of
from tests.probe.measure.rigs import rig


def test_a_tick_is_the_seconds_of_the_work() -> None:
    times = iter([10.0, 10.25, 20.0, 20.5])
    done: list[int] = []
    one = Pace(lambda: done.append(1), lambda: next(times))
    assert [one.tick(), one.tick()] == [0.25, 0.5]
    assert done == [1, 1]


@pytest.mark.parametrize(("waited", "found"), [(0.0, 1.0), (0.05, 0.95), (0.051, None), (0.6, None), (1.2, None)])
def test_a_tick_that_waited_for_a_processor_says_nothing(waited: float, found: float | None) -> None:
    """A second by the wall, of which all threads together waited so long: 1.2 where two waited 0.6 at once."""
    now = {"wall": 0.0, "waited": 0.0}

    def work() -> None:
        now["wall"] += 1.0
        now["waited"] += waited

    one = Pace(work, lambda: now["wall"] - now["waited"], lambda: now["waited"])
    assert one.tick() == (None if found is None else pytest.approx(found))


@pytest.mark.parametrize(("waited", "found"), [(0.6, 0.4), (1.0, None), (1.2, None)])
def test_who_takes_noise_for_quiet_keeps_all_that_is_left_of_a_tick(waited: float, found: float | None) -> None:
    now = [0.0, 0.0]

    def work() -> None:
        now[:] = [now[0] + 1.0, now[1] + waited]

    tick = Pace(work, lambda: now[0] - now[1], lambda: now[1], quiet_share=1.0).tick()
    assert tick == (None if found is None else pytest.approx(found))


def test_on_one_thread_seconds_stand_still_while_others_have_its_processor(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "perf_counter", lambda: 100.0)
    monkeypatch.setattr(watch, "thread_waited", lambda: 30.0)
    assert real_of(1)() == 70.0


def test_on_several_threads_they_stand_still_while_any_of_them_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "perf_counter", lambda: 100.0)
    monkeypatch.setattr(watch, "Waiting", lambda: lambda: 12.0)
    assert real_of(2)() == 88.0


def test_the_work_is_a_product_of_many_tokens_after_those_of_few() -> None:
    assert fixed_work()().shape == (64, 4096)


def test_a_processor_has_a_pace_of_its_own(tmp_path: Path) -> None:
    found = pace_of(rig(tmp_path / "m"))
    assert found is not None
    assert all(tick is None or tick > 0.0 for tick in (found.tick() for _ in range(3)))


@pytest.mark.parametrize(("text", "expected"), [("1024K\n", 1 << 20), (None, 32 << 20)])
def test_the_last_level_cache_is_as_large_as_linux_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str | None, expected: int
) -> None:
    if text is not None:
        (tmp_path / "size").write_text(text, encoding="ascii")
    monkeypatch.setattr(pace, "_LAST_LEVEL", tmp_path / "size")
    assert cache_bytes() == expected
