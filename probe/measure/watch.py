"""Did something else use the machine while a shape was measured?

Two questions of Linux. Over a visit: busy time of all processors (/proc/stat, time stolen by a hypervisor included) less this process's
own; the kernel counts it in ticks, so one tick a processor is allowed on top of the share. That a run leaves a processor over is no
excuse: two processors of a virtual machine may be one core, and a busy sibling makes steps half as slow again. Over a step: how long own
threads waited for a processor that others had (/proc/self/task/*/schedstat), to the nanosecond.
"""

from __future__ import annotations

import os
import time
import weakref
from dataclasses import dataclass
from pathlib import Path

QUIET_SHARE = 0.05
_STAT, _TASKS = Path("/proc/stat"), Path("/proc/self/task")


@dataclass(frozen=True)
class Reading:
    """Seconds since some beginning: busy of the machine (None: this system doesn't say), own processor time, wall time."""

    busy: float | None
    own: float
    wall: float


def read() -> Reading:
    return Reading(_busy(), time.process_time(), time.perf_counter())


def others(begin: Reading, end: Reading) -> float | None:
    """Seconds of processor time that others took; None: not known."""
    if begin.busy is None or end.busy is None:
        return None
    return (end.busy - begin.busy) - (end.own - begin.own)


def contaminated(begin: Reading, end: Reading, share: float = QUIET_SHARE) -> bool:
    """Others took more than `share` of the machine. Where the system doesn't say, nothing is held against a sample."""
    taken = others(begin, end)
    if taken is None:
        return False
    processors = os.cpu_count() or 1
    allowed = share * processors * (end.wall - begin.wall) + processors / os.sysconf("SC_CLK_TCK")
    return taken > allowed


def waited() -> float:
    """Seconds that all threads of this process have been ready to run while others had the processors; 0 where it isn't said."""
    total = 0
    for task in _TASKS.iterdir() if _TASKS.exists() else ():
        try:
            total += int((task / "schedstat").read_text(encoding="ascii").split()[1])
        except FileNotFoundError:  # ended since, or a kernel without these figures
            continue
    return total / 1e9


def thread_waited() -> float:
    """The same of the calling thread alone."""
    path = Path("/proc/thread-self/schedstat")
    return int(path.read_text(encoding="ascii").split()[1]) / 1e9 if path.exists() else 0.0


class Waiting:
    """`waited` of the threads there are when it is made, quick enough to be asked around every step: their files stay open."""

    def __init__(self) -> None:
        tasks = _TASKS.iterdir() if _TASKS.exists() else ()
        self._files = [os.open(task / "schedstat", os.O_RDONLY) for task in tasks if (task / "schedstat").exists()]
        weakref.finalize(self, _close, self._files)

    def __call__(self) -> float:
        """Seconds. A thread that has ended since waits for nothing any more: what it had waited is gone."""
        return sum(map(_waited, self._files)) / 1e9


def _waited(file: int) -> int:
    try:
        return int(os.pread(file, 96, 0).split()[1])
    except ProcessLookupError:
        return 0


def _close(files: list[int]) -> None:
    for file in files:
        os.close(file)


def parse_busy(text: str, ticks_a_second: int) -> float:
    """Seconds from the first line of /proc/stat: user, nice, system, irq, softirq and stolen; idle and waiting for disks left out."""
    user, nice, system, _idle, _wait, irq, softirq, steal = (int(one) for one in text.split("\n", 1)[0].split()[1:9])
    return (user + nice + system + irq + softirq + steal) / ticks_a_second


def _busy() -> float | None:
    if not _STAT.exists():
        return None
    return parse_busy(_STAT.read_text(encoding="ascii"), os.sysconf("SC_CLK_TCK"))
