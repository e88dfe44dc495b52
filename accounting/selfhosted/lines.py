"""What does one request's share of one pool hour consist of?"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import numpy.typing as npt

from accounting.selfhosted import own_terms
from accounting.selfhosted.arrays import PS_PER_SECOND, UNKNOWN, Bools, Floats, Ints
from accounting.selfhosted.curve import Curve, Outside
from accounting.selfhosted.pieces import Pieces
from accounting.selfhosted.pool import Pool
from accounting.selfhosted.reasons import ESTIMATED, MEASURED
from accounting.selfhosted.requests import Requests, steps_of
from accounting.selfhosted.state import Policy
from accounting.selfhosted.sweep import Swept, sweep
from accounting.selfhosted.windows import load, predict


@dataclass(frozen=True)
class Lines:
    """One line for each request and stretch in which it has a share (one stretch an hour, unless a replica left and came back).

    Attributes:
        row: index of the request. hour: of the pool hour.
        own_prefill, own_decode, shared, experts: seconds; their sum is the share.
        share_ps: the share in whole picoseconds, by which the bill is split.
        prefill_seconds: the share's part before the first token.
        request_steps: steps it was in. step_shares: the same, each step counting by the request's part of it.
        kv_share: its mean part of the KV tokens held.
        quality: int8 codes of QUALITIES.
        extrapolated: the request, or a step it was in, lies beyond what the curve measured.
    """

    row: Ints
    hour: Ints
    own_prefill: Floats
    own_decode: Floats
    shared: Floats
    experts: Floats
    share_ps: Ints
    prefill_seconds: Floats
    request_steps: Floats
    step_shares: Floats
    kv_share: Floats
    quality: npt.NDArray[np.int8]
    extrapolated: Bools

    def __len__(self) -> int:
        return len(self.row)

    @property
    def seconds(self) -> Floats:
        """The share."""
        return np.asarray(self.own_prefill + self.own_decode + self.shared + self.experts)

    @property
    def mean_batch(self) -> Floats:
        """Requests in a step it was in, itself included."""
        return np.asarray(self.request_steps / self.step_shares)

    def take(self, chosen: Ints | Bools) -> Lines:
        """Some of the lines."""
        return Lines(**{one.name: getattr(self, one.name)[chosen] for one in fields(self)})

    def between(self, start: int, stop: int) -> Lines:
        """Lines `start` to `stop`, not copied."""
        return Lines(**{one.name: getattr(self, one.name)[start:stop] for one in fields(self)})


def apart(lines: Lines, outside: Outside) -> tuple[Lines, Lines]:
    """(lines that are charged, those that a pool refuses): all of a request and hour in which one is extrapolated."""
    gone = np.zeros(len(lines), np.bool_)
    if outside == "refuse" and bool(lines.extrapolated.any()):
        keys = lines.hour * (int(lines.row.max()) + 1) + lines.row
        gone = np.isin(keys, keys[lines.extrapolated])
    return lines.take(~gone) if gone.any() else lines, lines.take(gone)


class Gathered:
    """Room for the lines of all chunks, made once: joining them at the end would need it twice."""

    def __init__(self, most: int) -> None:
        kinds = {"row": np.int64, "hour": np.int64, "share_ps": np.int64, "quality": np.int8, "extrapolated": np.bool_}
        self._columns: dict[str, Any] = {
            one.name: np.empty(most, kinds.get(one.name, np.float64)) for one in fields(Lines)
        }
        self._count = 0

    def add(self, lines: Lines) -> None:
        """Takes the lines of one chunk."""
        stop = self._count + len(lines)
        for name, column in self._columns.items():
            column[self._count : stop] = getattr(lines, name)
        self._count = stop

    def lines(self) -> Lines:
        """All lines taken."""
        return Lines(**{name: column[: self._count] for name, column in self._columns.items()})


def lines_of(
    curve: Curve,
    pool: Pool,
    policy: Policy,
    requests: Requests,
    charged: Bools,
    filled: Bools,
    pieces: Pieces,
    parts: Floats,
    cells: int,
    shift: int,
) -> tuple[Lines, Swept]:
    """Lines of the charged pieces, `hour` being the stretch; and the sweep. `charged`, `filled` (times filled in): by request."""
    row = pieces.row
    context = requests.context_tokens[row].astype(np.float64)
    cached = np.where(requests.cached_tokens[row] == UNKNOWN, 0, requests.cached_tokens[row]).astype(np.float64)
    output = requests.output_tokens[row]
    given, stated = requests.positions[row], requests.decode_steps[row]
    width = growth = np.ones(row.size)
    if bool((given != UNKNOWN).any()) or bool((stated != UNKNOWN).any()):
        steps = np.maximum(steps_of(output, stated), 1)
        width = np.where(given == UNKNOWN, 1.0, given / steps)
        growth = np.where(output > 1, (output - 1) / steps, 1.0)
    shared_tokens = requests.shared_tokens[row].astype(np.float64)
    loads = load(pieces, context, shared_tokens, output.astype(np.float64), growth, width)
    windows = predict(curve, pool, pieces, loads, pieces.cell << shift, context - cached, cached, parts)
    swept = sweep(curve, pool, policy, pieces, loads, windows, parts, cells, shift)
    at = np.flatnonzero(charged[row] & (pieces.prefills | pieces.decodes))
    own = own_terms.decode_seconds(curve, context, pieces.step_from, pieces.step_to, growth, width)
    decoded = pieces.step_to - pieces.step_from
    before, after = swept.prefill, swept.decode
    prefill_experts = windows.steps * windows.tokens * before.experts
    prefill_seconds = windows.own + windows.steps * before.shared + prefill_experts
    shared = windows.steps * before.shared + decoded * after.shared
    experts = prefill_experts + decoded * width * after.experts
    request_steps = windows.steps + decoded
    kv_share = (windows.steps * before.kv_share + decoded * after.kv_share) / np.maximum(request_steps, 1e-300)
    inferred = (before.blocked > 0) | (after.blocked > 0)
    share = windows.own + own + shared + experts
    every: dict[str, Any] = {
        "row": row,
        "hour": pieces.cell,
        "own_prefill": windows.own,
        "own_decode": own,
        "shared": shared,
        "experts": experts,
        "share_ps": np.rint(share * PS_PER_SECOND).astype(np.int64),
        "prefill_seconds": prefill_seconds,
        "request_steps": request_steps,
        "step_shares": windows.steps * before.step_share + decoded * after.step_share,
        "kv_share": kv_share,
        "quality": np.where(filled[row] | inferred, ESTIMATED, MEASURED).astype(np.int8),
        "extrapolated": before.beyond | after.beyond,
    }
    whole = at.size == row.size
    return Lines(**{name: column if whole else column[at] for name, column in every.items()}), swept
