"""How do the step ledgers of a pool hour meet its log: which request is each step's, and what of those that no event is of?

A step's request_id is an event's `event_id`, else the `response_id` of one event of the hour. A request that only the ledger knows used
its replica all the same: it is in flight from its first step in the hour to the end of its last one, and its share is a line of the hour.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from datetime import datetime
from typing import Any

import numpy as np

from accounting.ledger.settlers.pool_log import Log
from accounting.selfhosted.arrays import NO_TIME, UNKNOWN, Bools, Ints
from accounting.selfhosted.ledger_cover import Covered
from accounting.selfhosted.ledger_steps import Steps
from accounting.selfhosted.pool import HOUR_US
from accounting.selfhosted.prefix import Uses
from accounting.selfhosted.prefix_uses import uses_of
from accounting.selfhosted.rates import us
from accounting.selfhosted.requests import Requests
from accounting.selfhosted.step_ledger import NS_PER_US
from accounting.storage.pool_steps import HourSteps

_STRANGERS = 2**40
"""Codes of replicas that have a ledger and are in the pool no more."""


@dataclass(frozen=True)
class Ledgered:
    """The ledgers of an hour against its log.

    Attributes:
        steps: with requests as places in the log's `requests`, then in `unlogged`.
        covered: when the ledgers record. replicas: by request of the log, as the ledger knows it; UNKNOWN: it names none of it.
        unlogged: requests that no event is of, and their names.
        uses: of the prefix blocks that ledgers name; None where none does. blocks_named: by request of the log, by its own ledger.
    """

    steps: Steps
    covered: Covered
    replicas: Ints
    unlogged: Requests
    names: tuple[str, ...]
    uses: Uses | None
    blocks_named: Bools

    def placed(self, requests: Requests) -> Requests:
        """The log's requests, the ledger saying the replica where the log does not."""
        return replace(requests, replica=np.where(requests.replica == UNKNOWN, self.replicas, requests.replica))

    def joined(self, requests: Requests, filled: Bools) -> tuple[Requests, Bools]:
        """The log's requests and then those that only the ledger knows; of the latter no time is filled in."""
        columns = {
            one.name: np.concatenate([getattr(requests, one.name), getattr(self.unlogged, one.name)])
            for one in fields(Requests)
        }
        return Requests(**columns), np.concatenate([filled, np.zeros(len(self.unlogged), np.bool_)])


def ledgered(parts: Sequence[HourSteps], hour: datetime, log: Log, codes: dict[str, int]) -> Ledgered:
    """The ledgers of one hour, at least one, put together."""
    places = _places(log)
    strangers = {name: _STRANGERS + at for at, name in enumerate(sorted({one.replica for one in parts} - {*codes}))}
    replica_of = strangers | codes
    replicas = np.full(len(log.requests), UNKNOWN)
    columns: dict[str, list[Any]] = {one.name: [] for one in fields(Steps)}
    unlogged: dict[tuple[str, str], int] = {}
    before, blocks_named = 0, np.zeros(len(log.requests), np.bool_)
    uses: list[Uses] = []
    for part in parts:
        one, code = part.ledger, replica_of[part.replica]
        place = np.array(
            [
                places[name]
                if name in places
                else len(log.requests) + unlogged.setdefault((part.replica, name), len(unlogged))
                for name in one.request_ids
            ],
            np.int64,
        )
        known = place[place < len(log.requests)]
        replicas[known] = code
        if one.block_size:
            blocks_named[known] = True
            uses.append(uses_of(one, place, len(uses)))
        columns["replica"].append(np.full(one.steps, code))
        columns["started_at"].append(one.start_ns // NS_PER_US)
        columns["seconds"].append(one.duration_ns / 1e9)
        columns["kv_blocked"].append(one.kv_blocked)
        columns["step"].append(one.step + before)
        columns["request"].append(place[one.request])
        columns["new_tokens"].append(one.new_tokens)
        columns["past_tokens"].append(one.past_tokens)
        columns["prompt"].append(one.prompt)
        columns["held"].append(one.held)
        before += one.steps
    steps = Steps(**{name: np.concatenate(of) for name, of in columns.items()})
    spans = [(replica_of[one.replica], us(one.starts_at), us(one.ends_at)) for one in parts]
    covered = Covered(*(np.array(column, np.int64) for column in zip(*spans, strict=True)))
    return Ledgered(
        steps,
        covered,
        replicas,
        _requests(steps, unlogged, len(log.requests), us(hour) + HOUR_US),
        tuple(name for _, name in unlogged),
        _together(uses) if uses else None,
        blocks_named,
    )


def _together(uses: Sequence[Uses]) -> Uses:
    return Uses(**{one.name: np.concatenate([getattr(of, one.name) for of in uses]) for one in fields(Uses)})


def _places(log: Log) -> dict[str, int]:
    """What a ledger may call a request -> its place; a response's id only where one event of the hour has it."""
    rows = [log.rows[at] for at in log.place.tolist()]
    answered: dict[str, list[int]] = {}
    for at, row in enumerate(rows):
        if row.response_id is not None:
            answered.setdefault(row.response_id, []).append(at)
    single = {name: at[0] for name, at in answered.items() if len(at) == 1}
    return single | {row.event_id: at for at, row in enumerate(rows)}


def _requests(steps: Steps, unlogged: dict[tuple[str, str], int], logged: int, until: int) -> Requests:
    """Requests that only the ledger knows, as it knows them in this hour."""
    count = len(unlogged)
    at = np.flatnonzero(steps.request >= logged)
    row, step = steps.request[at] - logged, steps.step[at]
    start = steps.started_at[step]
    end = np.minimum(start + np.rint(steps.seconds[step] * 1e6).astype(np.int64), until)
    received = np.full(count, np.iinfo(np.int64).max)
    np.minimum.at(received, row, start)
    first, ended = received.copy(), received.copy()
    np.maximum.at(first, row, np.where(steps.prompt[at], end, NO_TIME))
    np.maximum.at(ended, row, end)
    context = np.ones(count, np.int64)
    np.maximum.at(context, row, steps.past_tokens[at] + steps.new_tokens[at])
    decoded = np.bincount(row, weights=~steps.prompt[at], minlength=count).astype(np.int64)
    replica = np.full(count, UNKNOWN)
    replica[row] = steps.replica[step]
    return Requests(
        request_id=np.array([f"unlogged {name}" for _, name in unlogged], np.str_),
        replica=replica,
        received_at=received,
        prefill_started_at=np.full(count, NO_TIME),
        first_token_at=first,
        completed_at=ended,
        context_tokens=context,
        cached_tokens=np.zeros(count, np.int64),
        output_tokens=decoded + 1,
        decode_steps=decoded,
        positions=np.full(count, UNKNOWN),
        shared_tokens=np.zeros(count, np.int64),
        failed=np.zeros(count, np.bool_),
    )
