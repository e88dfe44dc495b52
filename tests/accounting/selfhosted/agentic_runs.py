"""What did agentic coding on B200 servers cost, request by request? Public runs with users, cache blocks and the servers' own totals.

Each run is one replica of 4 or 8 GPUs, billed from its first request to its last end at the on-demand price of its day. The curve is the
table of the benchmark's own served points (form=table: equal shares of a step), so own work is nobody's and only `switch` tells long
from short where the cache is full. The log names the hits a cache without limit would give; the server counted its own.
"""

from __future__ import annotations

import csv
import json
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from typing import Any

import numpy as np

from accounting.money import to_minor
from accounting.selfhosted.arrays import NO_TIME, UNKNOWN, Bools, Ints
from accounting.selfhosted.curve import Curve
from accounting.selfhosted.curve_json import load_curve
from accounting.selfhosted.hour import Settled, settle_hour
from accounting.selfhosted.pool import Cells, Pool
from accounting.selfhosted.requests import Requests
from accounting.selfhosted.shares import Attribution, attribute
from accounting.selfhosted.state import Policy
from probe.fit.result import with_curve
from probe.imports.common import Given
from probe.imports.formats import read_foreign
from tests.shared_data import shared

BLOCK = 64
GPU = "p6-b200.48xlarge"
CAPACITY = {4: 880_000, 8: 1_590_000}
"""Tokens, worked out: 90 % of 180 GB a GPU less the weights (395 GB over the GPUs), 70,272 bytes a token on every GPU (MLA, bf16)."""


@dataclass(frozen=True)
class Run:
    """One run. Attributes: server_*: the server's own counters; hit_share: of prompt tokens it found in its cache."""

    name: str
    gpus: int
    users: int
    server_prompt_tokens: int
    server_generation_tokens: int
    server_requests: int
    hit_share: Decimal
    requests: Requests
    user: np.ndarray
    success: Bools

    @property
    def input_tokens(self) -> Ints:
        return self.requests.context_tokens

    @property
    def span_us(self) -> tuple[int, int]:
        return int(self.requests.received_at.min()), int(self.requests.completed_at.max())

    @property
    def bill(self) -> int:
        """10^-15 dollars: GPU-hours from the first request to the last end at the price of the day."""
        start, end = self.span_us
        return to_minor(gpu_hour()) * self.gpus * (end - start) // 3_600_000_000

    @property
    def pool(self) -> Pool:
        return Pool(token_budget=8_192, max_batch=1_024, kv_capacity_tokens=CAPACITY[self.gpus])


@lru_cache
def gpu_hour() -> Decimal:
    """Dollars an hour of one B200, on demand, in force on 21 April 2026, the day of the runs: 14.2416."""
    with shared("gpu-prices/aws_gpu_price_history.csv").open(encoding="utf-8") as file:
        [row] = [
            row
            for row in csv.DictReader(file)
            if row["instance"] == GPU
            and row["region"] == "us-east-1"
            and row["first_seen"] <= "2026-04-21" <= row["last_seen"]
        ]
    return Decimal(row["price_usd_per_gpu_hour"])


@lru_cache
def curves() -> dict[tuple[int, str], Curve]:
    """(GPUs, offload) -> the table that the benchmark's runs of that setup make."""
    made = read_foreign("inferencex", shared("inferencex/agentic_agg_json"), Given(gpu="b200"))
    found: dict[tuple[int, str], Curve] = {}
    for result in made:
        name = result.result_id
        if "b200" in name:
            gpus, offload = 4 if "tp4" in name else 8, "on" if "offload-on" in name else "off"
            found[gpus, offload] = load_curve(json.dumps(with_curve(result).curve))
    return found


@lru_cache
def runs() -> tuple[Run, ...]:
    """The runs whose server totals are known."""
    with shared("inferencex/agentic_requests.csv").open(encoding="utf-8") as file:
        logged: dict[str, list[dict[str, str]]] = {}
        for row in csv.DictReader(file):
            logged.setdefault(row["run"], []).append(row)
    with shared("inferencex/agentic_runs.csv").open(encoding="utf-8") as file:
        told = [row for row in csv.DictReader(file) if row["server_prompt_tokens_total"]]
    return tuple(_run(row, logged[row["run"]]) for row in told)


def curve_of(run: Run) -> Curve:
    return curves()[run.gpus, "on" if "offloadon" in run.name else "off"]


def settle(run: Run, policy: Policy, cached: Ints | None = None) -> tuple[Attribution, Settled]:
    """The run's bill over its requests. `cached`: other hits than the log names."""
    requests = run.requests if cached is None else Requests(**{**vars(run.requests), "cached_tokens": cached})
    start, end = run.span_us
    one = np.ones(1, np.int64)
    cells = Cells(0 * one, 0 * one, start * one, end * one, one)
    found = attribute(curve_of(run), run.pool, requests, cells, policy)
    settled = settle_hour(found, 0, run.bill, requests.request_id)
    settled.check()
    return found, settled


def by_user(run: Run, settled: Settled) -> dict[str, int]:
    """Fully loaded cost of each user, 10^-15 dollars."""
    found: dict[str, int] = {}
    for row, amount in zip(settled.lines.row.tolist(), settled.fully_loaded_cost.tolist(), strict=True):
        found[run.user[row]] = found.get(run.user[row], 0) + int(amount)
    return found


def _run(told: dict[str, str], rows: list[dict[str, str]]) -> Run:
    agg = json.loads(
        shared(f"inferencex/agentic_agg_json/{told['agg_file']}").read_text(encoding="utf-8"), parse_float=Decimal
    )
    gave = np.array([row["success"] == "True" and int(row["output_tokens_actual"]) > 0 for row in rows])

    def us(name: str) -> Ints:
        return np.array([round(Decimal(row[name]) * 1_000_000) for row in rows], np.int64)

    def count(name: str) -> Ints:
        return np.array([int(row[name]) for row in rows], np.int64)

    context = count("input_tokens")
    columns: dict[str, Any] = {
        "request_id": np.array([f"r{number:05d}" for number in range(len(rows))]),
        "replica": np.zeros(len(rows), np.int64),
        "received_at": us("request_start_time"),
        "prefill_started_at": np.full(len(rows), NO_TIME),
        # Failed rows, and five that succeeded without a token, say that their prefill ended when it began.
        "first_token_at": np.where(gave, us("prefill_complete_time"), NO_TIME),
        "completed_at": us("request_complete_time"),
        "context_tokens": context,
        "cached_tokens": np.minimum(count("cache_hit_blocks") * BLOCK, context),
        "output_tokens": count("output_tokens_actual"),
        "decode_steps": np.full(len(rows), UNKNOWN),
        "positions": np.full(len(rows), UNKNOWN),
        "shared_tokens": np.zeros(len(rows), np.int64),
        "failed": ~gave,
    }
    return Run(
        name=told["run"],
        gpus=int(told["gpus"]),
        users=int(told["users"]),
        server_prompt_tokens=int(told["server_prompt_tokens_total"]),
        server_generation_tokens=int(told["server_generation_tokens_total"]),
        server_requests=int(told["server_requests_completed"]),
        hit_share=Decimal(agg["server_gpu_cache_hit_rate"]),
        requests=Requests(**columns),
        user=np.array([row["user_id"] for row in rows]),
        success=np.array([row["success"] == "True" for row in rows]),
    )
