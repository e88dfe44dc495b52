"""Does a charge under `switch` say what serving a class of requests displaced? The backlog is served without it, and the time compared."""

from __future__ import annotations

import random

import numpy as np
import pytest

from accounting.selfhosted.shares import attribute
from tests.accounting.selfhosted.replay import curve, log, pool_of, shares, whole
from tests.accounting.selfhosted.simulator import H200_8B, Job, Replica


def backlog(count: int, without: str | None = None) -> list[Job]:
    """Short requests of 1k and long ones of 16k in one random order, all waiting at the start."""
    rng = random.Random(11)
    kinds = ["long" if rng.random() < 0.06 else "short" for _ in range(count)]
    chosen = [(at, kind) for at, kind in enumerate(kinds) if kind != without or rng.random() < 0.8]
    return [
        Job(number, 0.0, 16_000 if kind == "long" else 1_000, 0, 200 + at % 50)
        for number, (at, kind) in enumerate(chosen)
    ]


def displaced(settings: dict[str, int], kind: str, policy: str) -> float:
    """Charge of the class that is missing in the second run over the change of makespan."""
    count = 1_200
    every, fewer = backlog(count), backlog(count, kind)
    replica, other = (Replica(H200_8B, **settings) for _ in range(2))
    saved = replica.run(every) - other.run(fewer)
    found = attribute(curve(), pool_of(replica, admission="peak"), log(every), whole(log(every)), policy)  # type: ignore[arg-type]
    of_class = np.array([job.context == (16_000 if kind == "long" else 1_000) for job in every])
    gone = 1 - sum(job.context == (16_000 if kind == "long" else 1_000) for job in fewer) / of_class.sum()
    return float(shares(found, count)[of_class].sum() * gone / saved)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["long", "short"])
@pytest.mark.parametrize(
    "settings",
    [{"capacity": 80_000, "max_batch": 512, "reserve": True}, {"max_batch": 32}],
    ids=["kv-bound", "batch-bound"],
)
def test_switch_charges_what_a_class_displaced(settings: dict[str, int], kind: str) -> None:
    assert displaced(settings, kind, "switch") == pytest.approx(1, abs=0.10)
