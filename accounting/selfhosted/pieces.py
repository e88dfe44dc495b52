"""Which part of each request falls into a billed stretch?"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from accounting.selfhosted.arrays import NO_TIME, Bools, Floats, Ints
from accounting.selfhosted.events import sort_with_order
from accounting.selfhosted.place import in_flight_from
from accounting.selfhosted.pool import Pool, Stretches
from accounting.selfhosted.requests import Evidence, Requests, steps_of


@dataclass(frozen=True)
class Pieces:
    """Requests cut at the edges of stretches, sorted by stretch and first token. Times are microseconds since the stretch began, within it.

    Attributes:
        row: index of the request; cell: index of the stretch.
        received, first, end: in flight from `received` to `end`; decoding from `first` to `end` where `decodes`.
        started: logged start of the prefill; -1 where it has to be predicted.
        ran: it counts in batches. prefills, decodes: it has that phase here. The prefill belongs whole to the stretch of its first token.
        step_from, step_to: decode steps that fall here, in proportion to time.
    """

    row: Ints
    cell: Ints
    received: Ints
    started: Ints
    first: Ints
    end: Ints
    ran: Bools
    prefills: Bools
    decodes: Bools
    step_from: Floats
    step_to: Floats

    def __len__(self) -> int:
        return len(self.row)


def in_order(requests: Requests, cells: Stretches, row: Ints, cell: Ints, shift: int) -> Ints:
    """Placed rows of some stretches, each stretch's in order of first tokens; equal ones stay as they were."""
    begin = cells.start_at[cell]
    first = np.clip(requests.first_token_at[row], begin, cells.end_at[cell]) - begin
    order, _ = sort_with_order(((cell - cell[0]) << shift) + first)
    return row[order]


def cut(requests: Requests, evidence: Evidence, pool: Pool, cells: Stretches, row: Ints, cell: Ints) -> Pieces:
    """The pieces of some placed rows; a window of no length is read as its microsecond."""
    begin, length = cells.start_at[cell], (cells.end_at - cells.start_at)[cell]
    ran = evidence.ran[row]
    first_at, end_at = requests.first_token_at[row], requests.completed_at[row]
    known_end = np.where(end_at == NO_TIME, begin, end_at)
    steps = steps_of(requests.output_tokens[row], requests.decode_steps[row])
    first = np.where(ran, first_at, begin) - begin
    end = known_end - begin
    prefills = ran & (first >= 0) & (first < length) & (pool.role != "decode")
    window = np.maximum(end - first, 1)
    low, high = np.clip(first, 0, length), np.clip(first + window, 0, length)
    decodes = ran & (steps > 0) & (high > low) & (pool.role != "prefill")
    step_from = np.where(decodes, steps * ((low - first) / window), 0.0)
    step_to = np.where(decodes, steps * ((high - first) / window), 0.0)
    started_at = requests.prefill_started_at[row]
    started = np.where(started_at == NO_TIME, -1, np.clip(started_at - begin, 0, length))
    received = np.clip(in_flight_from(requests.received_at[row], started_at, first_at) - begin, 0, length)
    lasts = np.where(decodes, high, np.maximum(np.clip(end, 0, length), np.where(prefills, low + 1, 0)))
    return Pieces(
        row=row,
        cell=cell,
        received=np.minimum(received, lasts),
        started=started,
        first=np.where(prefills | decodes, low, lasts),
        end=lasts,
        ran=ran,
        prefills=prefills,
        decodes=decodes,
        step_from=step_from,
        step_to=step_to,
    )
