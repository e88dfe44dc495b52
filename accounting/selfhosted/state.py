"""What was in a replica's steps at each instant, and how many steps a second did it run?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from accounting.selfhosted.arrays import US_PER_SECOND, Bools, Floats, Ints
from accounting.selfhosted.curve import Curve, TableCurve
from accounting.selfhosted.events import Events
from accounting.selfhosted.pieces import Pieces
from accounting.selfhosted.pool import Pool
from accounting.selfhosted.windows import Load, Windows

Policy = Literal["switch", "equal"]
_STALLED = 1e-9
"""Weight of an instant at which prompts alone run, for a decoding request: a mean over nothing but such instants stays defined."""


@dataclass(frozen=True)
class State:
    """Between each event and the next, of one replica (the mean of those at work in a fluid stretch).

    Attributes:
        prefill_steps, decode_steps: predicted steps (rho times length) for who is in that phase.
        requests: R; at least 1. held: KV tokens of all in the step.
        shared: seconds of a step that it costs whoever is in it, () where constant. experts: seconds of its experts for one token.
        blocked: memory kept a waiting request out.
        beyond: no run of a table had that batch at such contexts; None for curves of other forms.
    """

    prefill_steps: Floats
    decode_steps: Floats
    requests: Floats
    held: Floats
    shared: Floats
    experts: Floats | None
    blocked: Bools | None
    beyond: Bools | None


def state_of(
    curve: Curve,
    pool: Pool,
    policy: Policy,
    pieces: Pieces,
    loads: Load,
    windows: Windows,
    parts: Floats,
    events: Events,
) -> State:
    """The state, from what each piece brings in at its events and takes out again. `parts`: replicas of each piece's stretch."""
    prefills, decodes = pieces.prefills.astype(np.int8), pieces.decodes.astype(np.int8)
    prefilling, decoding = events.count(None, prefills, -prefills), events.count(None, None, decodes, -decodes)
    present = (prefilling + decoding).astype(np.float64)
    busy = _busy(present, parts, events)
    weight, alive = loads.positions, np.maximum(windows.steps, 1.0)
    one_each = bool((weight == pieces.decodes).all())
    context, slope = weight * loads.context, weight * loads.context_slope
    in_all = events.total(None, None, context, -context) + events.total(None, None, slope, -slope) * events.middle
    contexts = in_all / busy
    positions = (decoding if one_each else events.total(None, None, weight, -weight)) / busy
    work = windows.own / alive
    prefill = events.total(None, work, -work) / busy
    held = _held(pieces, loads, events, in_all if one_each and loads.held is loads.context else None) / busy
    tokens = positions
    if curve.moe:
        tokens = positions + events.total(None, windows.tokens, -windows.tokens) / busy
    requests = np.maximum(present / busy, 1.0)
    blocked = _blocked(pool, pieces, loads, events, held, busy, present / busy) if policy == "switch" else None
    runs = np.where(present > 0, events.seconds, 0.0)
    shared = curve.shared_seconds(requests, contexts)
    experts = curve.e * curve.coverage(tokens) / np.maximum(tokens, 1.0) if curve.moe else None
    beyond = curve.unmeasured(requests, contexts / requests) if isinstance(curve, TableCurve) else None
    if pool.order == "decode_first":
        steps = runs / curve.step_seconds(positions, contexts, prefill, tokens)
        return State(steps, steps, requests, held, shared, experts, blocked, beyond)
    prompts = prefilling > 0
    none = np.zeros(events.size)
    alone = np.maximum(np.where(prompts, prefilling, present) / busy, 1.0)
    of_prompts = runs / curve.step_seconds(none, none, prefill, tokens)
    of_decodes = runs * np.where(prompts, _STALLED, 1.0) / curve.step_seconds(positions, contexts, none, positions)
    return State(of_prompts, of_decodes, alone, held, shared, experts, blocked, beyond)


def _busy(present: Floats, parts: Floats, events: Events) -> Floats:
    """Replicas at work: all of a fluid stretch that have a request, requests spread evenly (R divided by replicas, 1 at least)."""
    if bool((parts == 1.0).all()):
        return np.ones(1)
    return np.clip(present, 1.0, parts[events.order % (events.size // 4)])


def _held(pieces: Pieces, loads: Load, events: Events, contexts: Floats | None) -> Floats:
    """KV tokens held by all in the step; a prompt holds its blocks from admission. `contexts`: what decoding ones hold, if known."""
    prompt = np.where(pieces.prefills, loads.held + loads.held_slope * pieces.first, 0.0)
    if contexts is not None:
        return np.maximum(contexts + events.total(None, prompt, -prompt), 1.0)
    kept = np.where(pieces.decodes, loads.held, 0.0)
    slope = np.where(pieces.decodes, loads.held_slope, 0.0)
    now = events.total(None, prompt, kept - prompt, -kept) + events.total(None, None, slope, -slope) * events.middle
    return np.maximum(now, 1.0)


def _blocked(
    pool: Pool, pieces: Pieces, loads: Load, events: Events, held: Floats, busy: Floats, present: Floats
) -> Bools | None:
    """Where a request waits, a place in the batch is free, and the cache has no room for the one let in next."""
    if pool.kv_capacity_tokens is None:
        return None
    if pool.admission == "peak":
        need = np.where(pieces.prefills, loads.peak, 0.0)
        later = np.where(pieces.decodes & ~pieces.prefills, loads.peak, 0.0)
        held = events.total(None, need, later, -need - later) / busy
    else:
        need = np.where(pieces.prefills, loads.held + loads.held_slope * pieces.first, 0.0)
    if held.max() + need.max() <= pool.kv_capacity_tokens:
        return None
    prefills = pieces.prefills.astype(np.int8)
    waiting = events.count(prefills, -prefills)
    found = (
        (waiting > 0) & (held + _of_next(pieces, events, need) > pool.kv_capacity_tokens) & (present < pool.max_batch)
    )
    return found if bool(found.any()) else None


def _of_next(pieces: Pieces, events: Events, need: Floats) -> Floats:
    """What the next request to begin its prefill needs, at each place: who waits longest is let in first."""
    rows = np.flatnonzero(pieces.prefills)
    at = events.rank_of(1)[rows]
    order = np.argsort(at)
    behind = np.searchsorted(at[order], np.arange(events.size), side="right")
    return np.append(need[rows][order], 0.0)[behind]


def in_flight(pieces: Pieces, parts: Floats, events: Events, cells: int) -> tuple[Ints, Ints]:
    """Replica-microseconds by stretch with a request in flight, and those of them with none that has evidence of steps."""
    every, ran = np.ones(len(pieces), np.int8), pieces.ran.astype(np.int8)
    single = bool((parts == 1.0).all())
    most = 1 if single else parts[events.order % (events.size // 4)].astype(np.int32)
    lengths = np.rint(events.seconds * US_PER_SECOND)

    def lasting(present: npt.NDArray[np.int32]) -> Ints:
        return np.bincount(events.cell, weights=lengths * np.minimum(present, most), minlength=cells).astype(np.int64)

    whole = lasting(events.count(every, None, None, -every))
    if bool(ran.all()):
        return whole, np.zeros(cells, np.int64)
    return whole, whole - lasting(events.count(ran, None, None, -ran))
