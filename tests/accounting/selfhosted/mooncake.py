"""What would an hour of real conversations cost on H200s, if it came ten times as fast? Requests with prefix blocks, a simulated cache.

Replicas keep the blocks of 512 tokens that were used last; a request goes to the replica that holds most of its prefix, else to
the one with least work. Times come from the forward simulation on the curve, a floor composed from kernel times (Llama-3.1-8B, H200), so
everything is `estimated` and half of what serving would cost.
"""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from accounting.money import to_minor
from accounting.selfhosted.apportion import apportion
from accounting.selfhosted.arrays import NO_TIME, UNKNOWN, Bools, Ints
from accounting.selfhosted.curve import StepCurve
from accounting.selfhosted.curve_json import load_curve
from accounting.selfhosted.forward import complete_times
from accounting.selfhosted.hour import settle_hour
from accounting.selfhosted.pool import Cells, Pool
from accounting.selfhosted.prefix import Uses, amortised
from accounting.selfhosted.requests import Requests
from accounting.selfhosted.shares import Attribution, attribute
from accounting.selfhosted.state import Policy
from probe.fit.result import with_curve
from probe.imports.common import Given
from probe.imports.formats import read_foreign
from tests.shared_data import shared

BLOCK = 512
SPEED = 10
CACHE_TOKENS = 840_000
"""110 GB of an H200 beside 16 GB of weights, 2 * 32 * 8 * 128 * 2 = 131,072 bytes a token."""
POOL = Pool(token_budget=8_192, max_batch=256, kv_capacity_tokens=CACHE_TOKENS, admission="peak")
GPU_HOUR = "7.912"
"""Dollars: an H200 on demand (p5en.48xlarge, us-east-1), as seen from 23 June 2025 to 20 July 2026."""
BANDS = (0, 2_048, 8_192, 32_768, 131_072)
"""Edges of context bands, tokens."""


@dataclass(frozen=True)
class Served:
    """The trace on a pool. Attributes: requests: with all times; filled: not logged; uses: prefix blocks; replicas, end_us: billed."""

    requests: Requests
    filled: Bools
    uses: Uses
    replicas: int
    end_us: int

    def attribute(self, policy: Policy) -> Attribution:
        code = np.arange(self.replicas)
        cells = Cells(0 * code, code, 0 * code, np.full(self.replicas, self.end_us), 0 * code + 1)
        return attribute(curve(), POOL, self.requests, cells, policy, self.filled)

    @property
    def bill(self) -> int:
        """10^-15 dollars: all replicas from the first request to the last end."""
        return to_minor(GPU_HOUR) * self.replicas * self.end_us // 3_600_000_000

    def costs(self, policy: Policy, amortise: bool = False) -> Ints:
        """Fully loaded cost of each request, 10^-15 dollars."""
        settled = settle_hour(self.attribute(policy), 0, self.bill, self.requests.request_id)
        settled.check()
        lines = settled.lines
        if amortise:
            share = np.zeros(len(self.requests), np.int64)
            share[lines.row] = lines.share_ps
            share += amortised(curve(), self.uses, len(self.requests))
            return apportion(self.bill, share, self.requests.request_id)
        found = np.zeros(len(self.requests), np.int64)
        found[lines.row] = settled.fully_loaded_cost
        return found


@lru_cache
def curve() -> StepCurve:
    [made] = read_foreign("op-tables", shared("op-tables") / "h200_sxm", Given(model="Llama-3.1-8B"))
    found = load_curve(json.dumps(with_curve(made).curve))
    assert isinstance(found, StepCurve)
    return found


def trace(most: int | None = None) -> list[dict[str, Any]]:
    """The first `most` requests."""
    with shared("mooncake/conversation_trace.jsonl").open(encoding="utf-8") as file:
        return [json.loads(line) for line, _ in zip(file, range(most or 10**9), strict=False)]


def serve(rows: list[dict[str, Any]], replicas: int) -> Served:
    """The requests on that many replicas."""
    cache = Cache(replicas, CACHE_TOKENS // BLOCK)
    placed = [cache.place(row["hash_ids"], row["input_length"]) for row in rows]
    replica, hits = (np.array(column, np.int64) for column in zip(*placed, strict=True))
    length, output = (np.array([row[name] for row in rows], np.int64) for name in ("input_length", "output_length"))
    unknown, no_time = np.full(len(rows), UNKNOWN), np.full(len(rows), NO_TIME)
    logged = Requests(
        request_id=np.array([f"r{number:05d}" for number in range(len(rows))]),
        replica=replica,
        received_at=np.array([row["timestamp"] for row in rows], np.int64) * 1_000 // SPEED,
        prefill_started_at=no_time,
        first_token_at=no_time,
        completed_at=no_time,
        context_tokens=length,
        # The last token is always computed.
        cached_tokens=np.minimum(hits * BLOCK, length - 1),
        output_tokens=output,
        decode_steps=unknown,
        positions=unknown,
        shared_tokens=np.zeros(len(rows), np.int64),
        failed=np.zeros(len(rows), np.bool_),
    )
    requests, filled = complete_times(curve(), POOL, logged, replicas)
    uses = _uses(rows, replica, hits, requests.first_token_at)
    return Served(requests, filled, uses, replicas, int(requests.completed_at.max()) + 1)


def band_of(context: Ints) -> Ints:
    """Which band each context is in."""
    return np.searchsorted(BANDS, context, side="right") - 1


class Cache:
    """Blocks each replica holds, the one used longest ago first, and the tokens it had to compute so far."""

    def __init__(self, replicas: int, blocks: int) -> None:
        self.held: list[OrderedDict[int, None]] = [OrderedDict() for _ in range(replicas)]
        self.work = [0] * replicas
        self.blocks = blocks

    def place(self, ids: list[int], tokens: int) -> tuple[int, int]:
        """(replica, blocks found there). A prefix of more than the block that all have in common draws a request to its replica."""
        found = [_prefix(held, ids) for held in self.held]
        most = max(found)
        near = [at for at, hits in enumerate(found) if hits == most] if most > 1 else list(range(len(found)))
        at = min(near, key=lambda one: self.work[one])
        hits, held = found[at], self.held[at]
        self.work[at] += tokens - hits * BLOCK
        for one in reversed(ids):
            held[one] = None
            held.move_to_end(one)
        while len(held) > self.blocks:
            held.popitem(last=False)
        return at, hits


def _prefix(held: OrderedDict[int, None], ids: list[int]) -> int:
    hits = 0
    for one in ids:
        if one not in held:
            break
        hits += 1
    return hits


def _uses(rows: list[dict[str, Any]], replica: Ints, hits: Ints, first: Ints) -> Uses:
    """Blocks in order of first tokens; a block is one of its replica's."""

    def each() -> Iterator[tuple[int, int, int, int, bool]]:
        for at in np.lexsort((np.arange(len(rows)), first)).tolist():
            length = rows[at]["input_length"]
            for place, block in enumerate(rows[at]["hash_ids"]):
                tokens = min(BLOCK, length - place * BLOCK)
                yield at, block * 1_000 + int(replica[at]), place * BLOCK, tokens, place >= hits[at]

    request, block, start, tokens, computed = (np.array(column) for column in zip(*each(), strict=True))
    return Uses(np.zeros(len(request), np.int64), request, block, start, tokens, computed)
