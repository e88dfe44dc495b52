"""Which seconds does a replay go by? Real ones, or those of a machine that keeps the pace at which its curve was measured.

A curve holds at one pace. Where the machine's own wanders, a replay by the wall would meet another load than the one predicted, and
queues multiply that; so arrivals, steps and first tokens all go by a clock that is as slow as the machine is.
"""

from __future__ import annotations

import statistics
import time
from collections import deque

from probe.measure.judge import PACE_SHARE
from probe.measure.pace import Real, real_of
from probe.measure.yardstick import Yardstick

# Seconds between two looks at the yardstick, which takes a tenth of a second; how many of the last ones count; looks before the start.
EVERY, WINDOW, FIRST = 0.5, 2.0, 3
_NAP = 0.01


class Clock:
    """Real seconds."""

    def __init__(self, real: Real = time.perf_counter) -> None:
        self.real = real

    def __call__(self) -> float:
        return self.real()

    def wait(self, seconds: float) -> None:
        """Lets up to so many of its seconds pass: the engine has nothing to do."""
        time.sleep(max(0.0, seconds))

    def stepped(self) -> None:
        """A step has just ended."""

    def strayed(self) -> float:
        """Share of the steps' time at a pace that is off by more than PACE_SHARE either way, or not known."""
        return 0.0

    def said(self) -> str:
        """What a reader of its seconds must know, to stand behind a figure."""
        return ""


class PacedClock(Clock):
    """Real time divided by `slower`, from 0. Between steps the yardstick is looked at now and then; that time doesn't count.

    Attributes: slower: how many times as slow as the curve's the machine is now, by the median of the window's looks. paces: `slower` of
    each step. real_busy, busy: seconds of all steps, as they passed and at the curve's pace.
    """

    def __init__(self, yardstick: Yardstick, real: Real, window: float = WINDOW) -> None:
        super().__init__(real)
        self._yardstick, self._window = yardstick, window
        self._looks: deque[tuple[float, float]] = deque()
        self.paces: list[float] = []
        self.real_busy = self.busy = self._shown = self._strayed = 0.0
        self.slower = 1.0
        for _ in range(FIRST):
            self._take()
        self._read = self.real()

    def __call__(self) -> float:
        self._advance()
        return self._shown

    def wait(self, seconds: float) -> None:
        """In naps, as the pace may change meanwhile."""
        time.sleep(max(0.0, min(_NAP, seconds * self.slower)))
        self._advance()
        self._look()

    def stepped(self) -> None:
        """A step goes by a window that may end with a look after it."""
        now = self.real()
        took, self._read = now - self._read, now
        self._look()
        self.paces.append(self.slower)
        if not self._looks or not 1 / (1 + PACE_SHARE) <= self.slower <= 1 + PACE_SHARE:
            self._strayed += took
        self.real_busy += took
        self.busy += took / self.slower
        self._shown += took / self.slower
        self._read = self.real()

    def _advance(self) -> None:
        now = self.real()
        self._shown += (now - self._read) / self.slower
        self._read = now

    def _look(self) -> None:
        """At the yardstick where the last look is old; what it takes is skipped."""
        if self._read - self._looked >= EVERY:
            self._take()
            self._read = self.real()

    def _take(self) -> None:
        slower = self._yardstick.tick()
        self._looked = self.real()
        if slower is not None:
            self._looks.append((self._looked, slower))
        if not self._looks:
            return
        while self._looks[-1][0] - self._looks[0][0] > self._window:
            self._looks.popleft()
        self.slower = statistics.median(slower for _, slower in self._looks)

    def strayed(self) -> float:
        return self._strayed / self.real_busy if self.real_busy else 0.0

    def said(self) -> str:
        """How its seconds differ from the wall's: mean and range over the steps."""
        if not self.paces:
            return ""
        return (
            f"; seconds at the curve's pace by {self._yardstick.said()}: the machine took {self.real_busy / self.busy:.2f} times as long "
            f"in the mean, {min(self.paces):.2f} to {max(self.paces):.2f}, {self.strayed():.0%} of it more than {PACE_SHARE:.0%} off, "
            f"{self.real_busy:.4g} s for all steps"
        )


def clock_of(threads: int, yardstick: Yardstick | None) -> Clock:
    """At the pace of a curve; in real time where the machine's pace was not asked when it was measured, or can't be."""
    real = real_of(threads)
    return Clock(real) if yardstick is None else PacedClock(yardstick, real)
