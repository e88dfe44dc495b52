"""Which prompts shared their steps? Prompts that queue fill one step after the other, each beginning where the one before ended."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from accounting.selfhosted.arrays import US_PER_SECOND, Bools, Floats, Ints

_SLACK = 1e-9


@dataclass(frozen=True)
class Packed:
    """Prompts in the order of their first tokens. Attributes: steps: that a prompt was in; work: prefill seconds of all prompts in them."""

    steps: Floats
    work: Floats


def pack(cell: Ints, received: Ints, first: Ints, fill: Floats, own: Floats, least: Floats, apart: Bools) -> Packed:
    """Lays prompts along the steps of their replica.

    A prompt follows on the one before when it had come in before that one's last step began, or when both first tokens come from one step
    (stamps nearer than half a step). One that would have fitted into that step and yet came later was kept waiting by something else
    (a full batch, a full cache): it begins a step of its own. Rows are sorted by cell and first.

    Args:
        cell, received, first: microseconds in the stretch.
        fill: steps' worth of tokens the prompt brings. own: its prefill seconds.
        least: seconds of a step with it alone. apart: prompts that follow on none (several replicas in a stretch).
    """
    if not cell.size:
        return Packed(np.zeros(0), np.zeros(0))
    alone = least * US_PER_SECOND
    follows = np.zeros(cell.size, np.bool_)
    waited = received[1:] <= first[:-1] - alone[:-1]
    together = first[1:] - first[:-1] < alone[1:] / 2
    follows[1:] = (cell[1:] == cell[:-1]) & (waited | together) & ~apart[1:]
    begin, end = _along(follows, fill)
    same_step = np.ceil(end[1:] - _SLACK) == np.ceil(end[:-1] - _SLACK)
    if bool((broken := follows[1:] & same_step & ~together).any()):
        follows[1:] &= ~broken
        begin, end = _along(follows, fill)
    steps = np.maximum(np.ceil(end - _SLACK) - np.floor(begin + _SLACK), 1.0)
    done = np.cumsum(own)
    at, work = np.empty(2 * cell.size), np.empty(2 * cell.size)
    at[0::2], at[1::2], work[0::2], work[1::2] = begin, end, done - own, done
    of_steps = np.interp(np.ceil(end - _SLACK), at, work) - np.interp(np.floor(begin + _SLACK), at, work)
    return Packed(steps, np.maximum(of_steps, own))


def _along(follows: Bools, fill: Floats) -> tuple[Floats, Floats]:
    """Where each prompt begins and ends, counted in steps; who follows on none begins a new step."""
    total = np.cumsum(fill)
    heads = np.flatnonzero(~follows)
    chain = np.cumsum(~follows) - 1
    before = total[heads] - fill[heads]
    lengths = np.diff(np.append(before, total[-1]))
    start = np.concatenate([[0.0], np.cumsum(np.ceil(lengths - _SLACK))[:-1]])
    shift = (start - before)[chain]
    return total - fill + shift, total + shift
