"""Which seconds does a replay go by? Real ones, or those of a machine that keeps the pace at which its curve was measured.

A curve holds at one pace. Where the machine's own wanders, a replay by the wall would meet another load than the one predicted, and
queues multiply that; so arrivals, steps and first tokens all go by a clock that is as slow as the machine is.
"""

from __future__ import annotations

import statistics
import time
from collections import deque

from probe.measure.judge import PACE_SHARE
from probe.measure.pace import TICKS, Pace, Real, real_of

# Seconds of ticks that say how quick the machine is now: fewer are noise, more are the past.
WINDOW = 0.4
# A tick takes the model's numbers out of the caches. After every step, steps take 2 to 4 % longer; so often, they do not.
EVERY, BURST = 0.05, 2
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
        """Share of the steps' time at a pace that is off by more than PACE_SHARE either way, or not known: the fixed work follows a step
        only so far."""
        return 0.0

    def said(self) -> str:
        """What a reader of its seconds must know, to stand behind a figure."""
        return ""


class PacedClock(Clock):
    """Real time divided by `slower`, from 0. Between steps the fixed work is done now and then; that time doesn't count.

    then: seconds a tick when the curve was measured. Attributes: slower: how many times as slow as then the machine is now, by the
    median of the window's ticks. paces: `slower` of each step. real_busy, busy: seconds of all steps, as they passed and at the
    curve's pace.
    """

    def __init__(self, pace: Pace, then: float, window: float = WINDOW) -> None:
        super().__init__(pace.real)
        self._pace, self._then, self._window = pace, then, window
        self._ticks: deque[tuple[float, float]] = deque()
        self.paces: list[float] = []
        self.real_busy = self.busy = self._shown = self._strayed = 0.0
        self.slower = 1.0
        self._take(2 * TICKS)
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
        """A step goes by a window that may end with ticks after it."""
        now = self.real()
        took, self._read = now - self._read, now
        self._look()
        self.paces.append(self.slower)
        if not self._ticks or not 1 / (1 + PACE_SHARE) <= self.slower <= 1 + PACE_SHARE:
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
        """Ticks where the last ones are old; what they take is skipped."""
        if self._read - self._looked >= EVERY:
            self._take(BURST)
            self._read = self.real()

    def _take(self, count: int) -> None:
        """So many ticks behind one that doesn't count: it finds other caches and threads than those in a row, as beside a visit, do."""
        self._pace.tick()
        for _ in range(count):
            seconds = self._pace.tick()
            self._looked = self.real()
            if seconds is not None:
                self._ticks.append((self._looked, seconds))
        if not self._ticks:
            return
        while self._ticks[-1][0] - self._ticks[0][0] > self._window:
            self._ticks.popleft()
        self.slower = statistics.median(seconds for _, seconds in self._ticks) / self._then

    def strayed(self) -> float:
        return self._strayed / self.real_busy if self.real_busy else 0.0

    def said(self) -> str:
        """How its seconds differ from the wall's: mean and range over the steps."""
        if not self.paces:
            return ""
        return (
            f"; seconds at the curve's pace: the machine took {self.real_busy / self.busy:.2f} times as long in the mean, "
            f"{min(self.paces):.2f} to {max(self.paces):.2f}, {self.strayed():.0%} of it more than {PACE_SHARE:.0%} off, "
            f"{self.real_busy:.4g} s for all steps"
        )


def clock_of(threads: int, pace: Pace | None, then: float | None) -> Clock:
    """At the pace of a curve that took `then` seconds a tick; in real time where that, or this machine's own pace, isn't known."""
    return Clock(real_of(threads)) if pace is None or then is None else PacedClock(pace, then)
