"""How does what the simulator did look as a log, a curve and a pool of the product?"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from accounting.selfhosted.arrays import NO_TIME, UNKNOWN
from accounting.selfhosted.curve import Domain, Header, StepCurve
from accounting.selfhosted.pool import Cells, Pool
from accounting.selfhosted.requests import Requests
from accounting.selfhosted.shares import Attribution, attribute
from tests.accounting.selfhosted.simulator import H200_8B, Job, Replica

HEADER = Header("h200-8b", "Qwen3-8B", "vllm", "H200", "bf16", "2026-10-01")


def curve(parameters: dict[str, float] = H200_8B, **changes: Any) -> StepCurve:
    known = {name: parameters[name] for name in ("t_0", "a", "c", "d", "f", "r")}
    moe = (
        {"e": parameters["e"], "experts": int(parameters["E"]), "experts_per_token": int(parameters["k"])}
        if parameters.get("e")
        else {}
    )
    return StepCurve(HEADER, Domain((1, 512), (1, 131_072)), **{**known, **moe, **changes})


def stamp(seconds: float, tick: float) -> int:
    """Microseconds, rounded to the log's tick."""
    return round(round(seconds / tick) * tick * 1_000_000)


def log(jobs: list[Job], tick: float = 0.01, **columns: Any) -> Requests:
    """The log of finished jobs; `columns` replace some."""

    def ints(values: Callable[[Job], int]) -> np.ndarray:
        return np.array([values(job) for job in jobs], np.int64)

    found: dict[str, Any] = {
        "request_id": np.array([f"r{job.number:08d}" for job in jobs]),
        "replica": ints(lambda job: job.replica),
        "received_at": ints(lambda job: stamp(job.arrival, tick)),
        "prefill_started_at": np.full(len(jobs), NO_TIME),
        "first_token_at": ints(lambda job: stamp(job.first, tick)),
        "completed_at": ints(lambda job: stamp(job.end, tick)),
        "context_tokens": ints(lambda job: job.context),
        "cached_tokens": ints(lambda job: job.cached),
        "output_tokens": ints(lambda job: job.output),
        "decode_steps": np.full(len(jobs), UNKNOWN),
        "positions": np.full(len(jobs), UNKNOWN),
        "shared_tokens": ints(lambda job: job.shared),
        "failed": np.zeros(len(jobs), np.bool_),
    }
    return Requests(**{**found, **columns})


def whole(requests: Requests, replicas: int = 1) -> Cells:
    """One stretch that holds the whole log, of every replica."""
    end = int(requests.completed_at.max()) + 1_000_000
    code = np.arange(replicas)
    return Cells(
        np.zeros(replicas, np.int64),
        code,
        np.zeros(replicas, np.int64),
        np.full(replicas, end),
        np.ones(replicas, np.int64),
    )


def pool_of(replica: Replica, **changes: Any) -> Pool:
    known = {"token_budget": replica.budget, "max_batch": replica.max_batch, "kv_capacity_tokens": replica.capacity}
    return Pool(**{**known, **changes})


def shares(found: Attribution, count: int) -> np.ndarray:
    """Seconds by request."""
    seconds = np.zeros(count)
    np.add.at(seconds, found.lines.row, found.lines.seconds)
    return seconds


def errors(jobs: list[Job], replica: Replica, policy: Any = "equal", **options: Any) -> dict[str, float]:
    """MAPE, 95th percentile and error of the total, in percent, of shares from the log against the simulator's own."""
    requests = options.pop("requests", None) or log(jobs, options.pop("tick", 0.01))
    cells = options.pop("cells", None) or whole(requests)
    found = attribute(
        options.pop("curve", None) or curve(replica.curve),
        options.pop("pool", None) or pool_of(replica),
        requests,
        cells,
        policy,
    )
    got, truth = shares(found, len(jobs)), np.array([getattr(job, policy) for job in jobs])
    off = np.abs(got - truth) / truth * 100
    return {
        "mape": float(off.mean()),
        "p95": float(np.quantile(off, 0.95)),
        "total": float((got.sum() / truth.sum() - 1) * 100),
    }
