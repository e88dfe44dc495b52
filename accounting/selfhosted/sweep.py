"""With how many others did each request share its steps? Means over its windows, from integrals of one sweep over sorted events.

README.md, "The sweep", has the formulas. Many stretches are swept at once, one after the other; between two events the state is
constant, contexts are taken half way.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from accounting.selfhosted.arrays import Bools, Floats, Ints
from accounting.selfhosted.curve import Curve
from accounting.selfhosted.events import Events, integral, line_up
from accounting.selfhosted.pieces import Pieces
from accounting.selfhosted.pool import Pool
from accounting.selfhosted.state import Policy, State, in_flight, state_of
from accounting.selfhosted.windows import Load, Windows

Places = npt.NDArray[np.int32]
_HELD = 1e-13
"""Of a running sum, what its last digits still hold to a thousandth; what is added in less is read from the state itself."""


@dataclass(frozen=True)
class Phase:
    """Means over one phase of each piece, weighted by rho; 0 where the piece has no such phase.

    Attributes:
        shared: seconds of a step, its part of what the step costs whoever is in it.
        step_share: its part of a step.
        experts: seconds of a step's experts for one token.
        kv_share: its part of the KV tokens held.
        blocked: how much of the phase memory blocked admission.
        beyond: whether some of it was in steps that no run of the table had.
    """

    shared: Floats
    step_share: Floats
    experts: Floats
    kv_share: Floats
    blocked: Floats
    beyond: Bools


@dataclass(frozen=True)
class Swept:
    """Attributes: prefill, decode by piece; in_flight_us, unproven_us: replica-microseconds by stretch."""

    prefill: Phase
    decode: Phase
    in_flight_us: Ints
    unproven_us: Ints


def sweep(
    curve: Curve,
    pool: Pool,
    policy: Policy,
    pieces: Pieces,
    loads: Load,
    windows: Windows,
    parts: Floats,
    cells: int,
    shift: int,
) -> Swept:
    """`pieces.cell` runs from 0 to `cells` - 1; no stretch is as long as 2^`shift` microseconds; `parts`: its replicas, by piece."""
    events = line_up(shift, pieces.cell, pieces.received, windows.began, pieces.first, pieces.end)
    state = state_of(curve, pool, policy, pieces, loads, windows, parts, events)
    began, first, end = events.rank_of(1), events.rank_of(2), events.rank_of(3)
    prompt = loads.held + loads.held_slope * pieces.first
    of_steps = _Integrals(state, state.prefill_steps, events)
    prefill = of_steps.over(began, first, pieces.prefills, prompt, None, prompt)
    if state.decode_steps is not state.prefill_steps:
        of_steps = _Integrals(state, state.decode_steps, events)
    half_way = loads.held + loads.held_slope * (pieces.first + pieces.end) / 2
    decode = of_steps.over(first, end, pieces.decodes, loads.held, loads.held_slope, half_way)
    return Swept(prefill, decode, *in_flight(pieces, parts, events, cells))


class _Integrals:
    """Integrals over predicted steps; what is divided by held tokens comes twice, plain and times the moment."""

    def __init__(self, state: State, steps: Floats, events: Events) -> None:
        self.state, self.events = state, events
        by_held = steps / state.held
        free = steps if state.blocked is None else np.where(state.blocked, 0.0, steps)
        equal = free / state.requests
        self.steps = integral(steps)
        self.equal = integral(equal)
        self.seconds = float(state.shared) if state.shared.ndim == 0 else None
        self.shared = self.equal if self.seconds is not None else integral(equal * state.shared)
        self.experts = None if state.experts is None else integral(steps * state.experts)
        self.held = integral(by_held)
        self.beyond = None if state.beyond is None else integral(np.where(state.beyond, steps, 0.0))
        self.blocked: tuple[Floats, ...] | None = None
        if state.blocked is not None:
            full, seconds = np.where(state.blocked, by_held, 0.0), state.shared
            parts = (
                np.where(state.blocked, steps, 0.0),
                full,
                full * events.middle,
                full * seconds,
                full * events.middle * seconds,
            )
            self.blocked = tuple(integral(one) for one in parts)

    def over(
        self, start: Places, stop: Places, has: Bools, held: Floats, slope: Floats | None, half_way: Floats
    ) -> Phase:
        """Means between the events at two places; the piece holds held + slope * moment tokens, `half_way` on average.

        A phase that begins and ends in one moment has its steps too, and so has one in which prompts stalled it until almost its end:
        they are those of the state just before its end, and before that of any other which ends the same phase then."""

        def between(sums: Floats) -> Floats:
            return np.asarray(sums[stop] - sums[start])

        def of_held(plain: Floats, later: Floats) -> Floats:
            return held * between(plain) if slope is None else held * between(plain) + slope * between(later)

        steps = between(self.steps)
        scale = has / np.where(steps > 0, steps, 1.0)
        step_share = between(self.equal)
        shared = step_share * self.seconds if self.seconds is not None else between(self.shared)
        blocked = np.zeros(steps.size)
        if self.blocked is not None:
            blocked = between(self.blocked[0])
            step_share = step_share + of_held(self.blocked[1], self.blocked[2])
            shared = shared + of_held(self.blocked[3], self.blocked[4])
        experts = np.zeros(steps.size) if self.experts is None else between(self.experts) * scale
        kv_share = half_way * between(self.held)
        beyond = np.zeros(steps.size, np.bool_) if self.beyond is None else has & (between(self.beyond) > 0)
        means = Phase(shared * scale, step_share * scale, experts, kv_share * scale, blocked * scale, beyond)
        at_once = np.flatnonzero(has & (steps <= _HELD * self.steps[stop]))
        if at_once.size:
            self._fill(means, at_once, self.events.before(stop[at_once]), held, slope, half_way)
        return means

    def _fill(
        self,
        means: Phase,
        rows: Ints,
        places: npt.NDArray[np.intp],
        held: Floats,
        slope: Floats | None,
        half_way: Floats,
    ) -> None:
        """Writes the state at `places`, in which each piece of `rows` still is."""
        state = self.state
        own = held[rows] if slope is None else held[rows] + slope[rows] * self.events.middle[places]
        share = 1.0 / state.requests[places]
        if state.blocked is not None:
            means.blocked[rows] = state.blocked[places]
            share = np.where(state.blocked[places], own / state.held[places], share)
        means.step_share[rows] = share
        means.shared[rows] = share * (state.shared if state.shared.ndim == 0 else state.shared[places])
        if state.experts is not None:
            means.experts[rows] = state.experts[places]
        means.kv_share[rows] = half_way[rows] / state.held[places]
        if state.beyond is not None:
            means.beyond[rows] = state.beyond[places]
