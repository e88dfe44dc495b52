"""Does attribution from the log alone find what the simulator knows? Replica, first token, cached tokens and order logged, 10 ms stamps."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from accounting.selfhosted.curve import Curve
from accounting.selfhosted.hour import settle_hour
from accounting.selfhosted.ledger_steps import Steps, attribute_steps
from accounting.selfhosted.shares import attribute
from tests.accounting.selfhosted.replay import curve, errors, log, pool_of, shares, whole
from tests.accounting.selfhosted.simulator import H200_8B, Job, Replica, agentic, bursty, poisson

Made = Callable[[random.Random, int, float], list[Job]]
MIXTURE = H200_8B | {"e": 2e-5, "E": 128, "k": 8}


def fresh(jobs: list[Job]) -> list[Job]:
    return [Job(job.number, 0.0, job.context, job.cached, job.output, job.shared) for job in jobs]


@cache
def capacity(made: Made, count: int, seed: int, room: int) -> float:
    """Requests a second of a backlog."""
    return count / Replica(H200_8B, capacity=room).run(fresh(made(random.Random(seed), count, 1.0)))


@cache
def served(
    made: Made, load: float, count: int = 500, seed: int = 3, room: int = 10**9, host: float = 0.0
) -> tuple[list[Job], Replica]:
    """Jobs served at a share of capacity, and the replica."""
    jobs = made(random.Random(seed), count, load * capacity(made, count, seed, room))
    replica = Replica(H200_8B, capacity=room, host=host)
    replica.run(jobs)
    return jobs, replica


@pytest.mark.parametrize("load", [0.30, 0.70, 0.95])
@pytest.mark.parametrize("made", [poisson, bursty, agentic])
def test_shares_are_those_of_the_simulator(made: Made, load: float) -> None:
    found = errors(*served(made, load))
    assert found["mape"] <= 1
    assert found["p95"] <= 2
    assert abs(found["total"]) <= 0.5


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("load", [0.30, 0.70, 0.95])
@pytest.mark.parametrize("made", [poisson, bursty, agentic])
def test_shares_of_long_runs_are_those_of_the_simulator(made: Made, load: float, seed: int) -> None:
    found = errors(*served(made, load, 4_000, seed))
    assert (found["mape"] <= 1, found["p95"] <= 2, abs(found["total"]) <= 0.5) == (True, True, True)


def test_shares_of_a_mixture_of_experts_are_those_of_the_simulator() -> None:
    jobs, replica = poisson(random.Random(5), 400, 8.0), Replica(MIXTURE)
    replica.run(jobs)
    found = errors(jobs, replica)
    assert (found["mape"] <= 1, found["p95"] <= 2, abs(found["total"]) <= 0.5) == (True, True, True)


def test_preemption_errs_by_the_rework_that_stays_in_the_gap() -> None:
    jobs, replica = served(bursty, 0.95, 500, 3, 60_000)
    again = [job for job in jobs if job.rework > 0]
    assert len(again) > 10
    got = shares(attribute(curve(), pool_of(replica), log(jobs), whole(log(jobs)), "equal"), len(jobs))
    truth = np.array([job.equal for job in jobs])
    assert np.abs(got / truth - 1).mean() < 0.01
    rework = sum(job.rework for job in jobs)
    steps = sum(step.seconds for step in replica.steps)
    assert steps - got.sum() == pytest.approx(rework, rel=0.10)


def test_host_time_shows_in_the_gap_and_not_in_shares() -> None:
    jobs, replica = served(poisson, 0.7, host=0.001)
    found = attribute(curve(), pool_of(replica), log(jobs), whole(log(jobs)), "equal")
    truth = sum(job.equal for job in jobs)
    assert shares(found, len(jobs)).sum() == pytest.approx(truth, rel=0.005)
    gap = found.in_flight_us[0] / 1e6 - truth
    assert gap == pytest.approx(0.001 * len(replica.steps), rel=0.1)


def test_a_curve_ten_percent_off_shows_in_the_gap() -> None:
    jobs, replica = served(poisson, 0.95)
    requests, cells = log(jobs), whole(log(jobs))
    right, high = (
        settle_hour(attribute(one, pool_of(replica), requests, cells, "equal"), 0, 10**15, requests.request_id)
        for one in (curve(), curve({name: value * 1.1 for name, value in H200_8B.items()}))
    )
    assert high.direct / right.direct == pytest.approx(1.1, abs=0.002)
    assert high.gap == pytest.approx(right.gap - 0.1 * right.direct, rel=0.05)
    assert high.gap < 0
    assert high.calibration == pytest.approx(1 / 1.1, abs=0.02)
    relative = [(one.lines.share_ps / one.lines.share_ps.sum()) for one in (right, high)]
    assert np.abs(relative[0] / relative[1] - 1).max() < 0.01


@cache
def sustained() -> float:
    """Requests a second while a long backlog keeps 64 places full: ends between a fifth and three fifths of the way."""
    full = Replica(H200_8B, max_batch=64)
    backlog = fresh(poisson(random.Random(3), 1_500, 1.0))
    full.run(backlog)
    ends = sorted(job.end for job in backlog)
    return 600 / (ends[900] - ends[300])


@pytest.mark.parametrize("load", [0.05, 0.30, 0.60, 0.95])
def test_utilisation_follows_the_offered_load(load: float) -> None:
    """Offered load: arrivals a second over those that 64 full places sustain."""
    jobs, replica = poisson(random.Random(3), 800, load * sustained()), Replica(H200_8B, max_batch=64)
    replica.run(jobs)
    settled = settled_of(jobs, replica, curve(), 64)
    offered = len(jobs) / max(job.end for job in jobs) / sustained()
    assert settled.utilisation == pytest.approx(offered, abs=0.05)
    if load == 0.30:
        assert settled.underfill is not None
        assert settled.underfill / settled.bill > 0.40
        assert settled.idle / settled.bill < 0.01


def settled_of(jobs: list[Job], replica: Replica, one: Curve, best: int):  # type: ignore[no-untyped-def]
    requests = log(jobs)
    return settle_hour(
        attribute(one, pool_of(replica), requests, whole(requests)), 0, 10**15, requests.request_id, best
    )


def ledger(jobs: list[Job], replica: Replica, slower: float = 1.0) -> Steps:
    parts = [(at, *part) for at, step in enumerate(replica.steps) for part in step.parts]
    step, job, new, past, prompt, held = (np.array(column) for column in zip(*parts, strict=True))
    return Steps(
        replica=np.zeros(len(replica.steps), np.int64),
        started_at=np.array([round(one.start * 1e6) for one in replica.steps]),
        seconds=np.array([one.seconds * slower for one in replica.steps]),
        kv_blocked=np.array([one.blocked for one in replica.steps]),
        step=step,
        request=job,
        new_tokens=new,
        past_tokens=past,
        prompt=prompt,
        held=held.astype(np.float64),
    )


@pytest.mark.parametrize("policy", ["equal", "switch"])
def test_a_step_ledger_gives_the_simulators_shares_exactly(policy: str) -> None:
    jobs, replica = served(bursty, 0.7, 300, 4, 60_000)
    found = attribute_steps(curve(), pool_of(replica), log(jobs), whole(log(jobs)), ledger(jobs, replica, 1.03), policy)  # type: ignore[arg-type]
    truth = np.array([getattr(job, policy) + (job.rework if policy == "equal" else 0) for job in jobs])
    rework = np.array([job.rework for job in jobs])
    clean = rework == 0
    assert shares(found, len(jobs))[clean] == pytest.approx(truth[clean], rel=1e-9)
    assert found.variance_ps is not None
    total = sum(step.seconds for step in replica.steps)
    assert found.variance_ps[0] / 1e12 == pytest.approx(0.03 * total, rel=1e-6)


@pytest.mark.slow
def test_what_is_not_logged_is_printed_without_a_bar(capsys: pytest.CaptureFixture[str]) -> None:
    """Stamps of a second; every twentieth request unlogged; two replicas whose names the log lacks."""
    jobs, replica = served(poisson, 0.7, 1_500)
    printed = {"1 s stamps": errors(jobs, replica, tick=1.0)}
    logged = [job for job in jobs if job.number % 20]
    printed["5 % unlogged"] = errors(logged, replica)
    both: list[Job] = []
    for at, seed in enumerate((3, 4)):
        mine, one = served(poisson, 0.7, 750, seed)
        both += [replace(job, number=job.number + 750 * at, replica=at) for job in mine]
    unknown = log(both, replica=np.full(len(both), -1))
    printed["replica unknown"] = errors(both, one, requests=unknown, cells=whole(unknown, 2))
    with capsys.disabled():
        print({name: {kind: round(value, 2) for kind, value in found.items()} for name, found in printed.items()})
    assert all(np.isfinite(list(found.values())).all() for found in printed.values())
