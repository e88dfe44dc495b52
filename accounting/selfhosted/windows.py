"""When did each prompt occupy the replica? Its prefill window ends at the first token and lasts the predicted steps."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from accounting.selfhosted import own_terms
from accounting.selfhosted.arrays import US_PER_SECOND, Floats, Ints
from accounting.selfhosted.curve import Curve
from accounting.selfhosted.pieces import Pieces
from accounting.selfhosted.pool import Pool
from accounting.selfhosted.prompts import pack


@dataclass(frozen=True)
class Load:
    """What a piece brings into a step while it decodes: intercept + slope * microseconds since the stretch began.

    Attributes:
        context, context_slope: tokens of its context. held, held_slope: those it holds in the cache, shared ones by holders.
        positions: computed in one of its decode steps.
        peak: tokens it will hold at its end.
    """

    context: Floats
    context_slope: Floats
    held: Floats
    held_slope: Floats
    positions: Floats
    peak: Floats


@dataclass(frozen=True)
class Windows:
    """Prefill windows of pieces; 0 steps where a piece has no prefill here.

    Attributes:
        began: microseconds since the stretch began; within it.
        steps: K, predicted steps of the prompt.
        own: seconds of its own prefill terms.
        tokens: computed in one of its steps.
    """

    began: Ints
    steps: Floats
    own: Floats
    tokens: Floats


def load(pieces: Pieces, context: Floats, shared: Floats, output: Floats, growth: Floats, width: Floats) -> Load:
    """Contexts as lines over each decode window: `growth` tokens a step, half a step ahead (README.md, "The sweep")."""
    length = np.maximum(pieces.end - pieces.first, 1)
    slope = np.where(pieces.decodes, growth * (pieces.step_to - pieces.step_from) / length, 0.0)
    at_zero = context + growth * (pieces.step_from - 0.5) + (width + 1) / 2 - slope * pieces.first
    peak = context - shared + output
    held = at_zero - shared if bool(shared.any()) else at_zero
    return Load(at_zero, slope, held, slope, np.where(pieces.decodes, width, 0.0), peak)


def predict(
    curve: Curve, pool: Pool, pieces: Pieces, loads: Load, key: Ints, new: Floats, cached: Floats, parts: Floats
) -> Windows:
    """Windows from what decodes at each first token. `key` puts stretches one after the other; `parts` replicas share a fluid one."""
    decoding, contexts = _decoding_at(pieces, loads, key)
    busy = np.clip(decoding + 1, 1, parts)
    decoding, contexts = decoding / busy, contexts / busy
    if pool.order == "prefill_first":
        decoding, contexts = np.zeros_like(decoding), np.zeros_like(contexts)
    at = np.flatnonzero(pieces.prefills)
    new, cached, decoding, contexts = new[at], cached[at], decoding[at], contexts[at]
    fill = new / np.maximum(pool.token_budget - decoding, 1.0)
    alone = np.maximum(np.ceil(fill), 1.0)
    whole = own_terms.prefill_seconds(curve, new, cached, alone)
    least = curve.step_seconds(decoding, contexts, whole / alone, decoding + new / alone)
    packed = pack(pieces.cell[at], pieces.received[at], pieces.first[at], fill, whole, least, parts[at] > 1)
    steps, own, tokens, seconds = (np.zeros(len(pieces)) for _ in range(4))
    steps[at], tokens[at] = packed.steps, new / packed.steps
    own[at] = own_terms.prefill_seconds(curve, new, cached, packed.steps)
    per_step = curve.step_seconds(decoding, contexts, packed.work / packed.steps, decoding + new / packed.steps)
    seconds[at] = packed.steps * per_step
    predicted = pieces.first - np.rint(seconds * US_PER_SECOND).astype(np.int64)
    began = np.where(pieces.started >= 0, np.minimum(pieces.started, pieces.first), predicted)
    began = np.where(pieces.prefills, np.maximum(began, pieces.received), pieces.first)
    return Windows(began, steps, own, tokens)


def _decoding_at(pieces: Pieces, loads: Load, key: Ints) -> tuple[Floats, Floats]:
    """Sequences that decode just before each prompt's first token, and their contexts; who begins or ends right then is not there."""
    rows, ask = np.flatnonzero(pieces.decodes), np.flatnonzero(pieces.prefills)
    found_count, found_context = np.zeros(len(pieces)), np.zeros(len(pieces))
    if not rows.size or not ask.size:
        return found_count, found_context
    moment = pieces.first[ask]
    asked = key[ask] + moment
    begin, end = (key + pieces.first)[rows], (key + pieces.end)[rows]
    by_end = np.argsort(end)
    begun, ended = np.searchsorted(begin, asked, side="left"), np.searchsorted(end[by_end], asked, side="right")

    def present(values: Floats) -> Floats:
        of = values[rows]
        return np.asarray(_before(of)[begun] - _before(of[by_end])[ended])

    positions = loads.positions
    found_count[ask] = np.round(present(positions), 6)  # Whole again after sums of many.
    found_context[ask] = present(loads.context * positions) + moment * present(loads.context_slope * positions)
    return found_count, found_context


def _before(values: Floats) -> Floats:
    """Running sums with a leading 0."""
    found = np.zeros(values.size + 1)
    np.cumsum(values, out=found[1:])
    return found
