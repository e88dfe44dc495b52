"""Which parameters can the measured points tell apart, and which not, and why?"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from probe.curve.schema import Point
from probe.curve.terms import NAMES
from probe.fit.features import features, seconds
from probe.fit.model import Experts

_WHY = {
    "t_0": "no point keeps everything else small",
    "e": "batches don't vary where experts are touched anew (sweep 1 to 64 densely)",
    "a": "at least two batches, each at two contexts, are needed",
    "c": "at least two contexts at one batch are needed",
    "d": "no prefill of at least two lengths was measured",
    "f": "new tokens and what they meet were not varied apart",
    "r": "no prefill met cached tokens, or always in proportion to the new ones",
}
INSIDE = {
    "t_0": "weight streaming and launch overhead are one sum: vary depth or dtype to split them",
    "a": "head, feed-forward and sampling of a sequence are one sum",
    "c": "reading the cache and computing attention are one sum",
}


def identify(points: Sequence[Point], experts: Experts) -> tuple[list[str], dict[str, str]]:
    """(identified, not identified with the reason). A parameter is identified when its column is not a combination of the others, to
    one part in a thousand of its length, in the relative rows that are fitted."""
    rows = features(points, experts.count, experts.per_token) / seconds(points)[:, None]
    used = [index for index, name in enumerate(NAMES) if name != "e" or experts.count]
    identified, missing = [], {}
    for index in used:
        column, others = rows[:, index], rows[:, [one for one in used if one != index]]
        length = float(np.linalg.norm(column))
        scale = np.linalg.norm(others, axis=0)
        others = others[:, scale > 0] / scale[scale > 0]
        rest = column - others @ np.linalg.lstsq(others, column, rcond=None)[0] if others.size else column
        if length > 0 and float(np.linalg.norm(rest)) > 1e-3 * length:
            identified.append(NAMES[index])
        else:
            missing[NAMES[index]] = _WHY[NAMES[index]]
    return identified, missing
