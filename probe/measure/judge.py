"""Was the machine slower beside a visit than the run's own quicker visits had it?

Each visit's samples carry its pace: the median seconds of the fixed work before and after it (pace.py). The quicker quarter of all
visits so far is what this machine can do; a visit whose pace is slower than that by more than a share is out. Nothing is decided for
good: marks are made anew whenever samples are read, so that the first visits are held to a pace that was known only later, and a run
that goes on after a kill judges as one that was never stopped.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np

from probe.curve.schema import ResultFile, Sample
from probe.measure.pace import WORK

PACE_SHARE = 0.1
_FEWEST = 8
_QUICKER = 25


def quick_of(paces: Sequence[float]) -> float | None:
    """The pace that a quarter of the visits had or bettered; None while there are too few to tell."""
    return float(np.percentile(paces, _QUICKER)) if len(paces) >= _FEWEST else None


def limit_of(visits: Sequence[Sequence[Sample]], share: float) -> float | None:
    """Seconds of the fixed work beyond which a visit is out; None where a share of 0 doesn't ask, or it can't be told yet."""
    if not share:
        return None
    quick = quick_of([samples[0].pace for samples in visits if samples and samples[0].pace is not None])
    return None if quick is None else quick * (1 + share)


def slow(sample: Sample, limit: float | None) -> bool:
    return limit is not None and sample.pace is not None and sample.pace > limit


def judged(samples: Sequence[Sample], limit: float | None) -> list[Sample]:
    """The samples, those of a slow machine contaminated."""
    return [msgspec.structs.replace(one, contaminated=True) if slow(one, limit) else one for one in samples]


def pace_of_curve(samples: Sequence[Sample]) -> float | None:
    """At which pace a curve of these was measured: the median beside clean samples; the quicker quarter's beside contaminated ones where
    there are no others, as points take the quicker quarter of those too. None where no pace was taken."""
    clean = [one.pace for one in samples if one.pace is not None and not one.contaminated]
    every = [one.pace for one in samples if one.pace is not None]
    if clean:
        return float(np.median(clean))
    return float(np.percentile(every, _QUICKER)) if every else None


def comparable(result: ResultFile) -> list[Sample]:
    """Its samples, without a pace where that is another work's."""
    if result.run.pace_work == WORK:
        return result.samples
    return [msgspec.structs.replace(one, pace=None) for one in result.samples]


def notes_of(visits: Sequence[Sequence[Sample]], share: float) -> list[str]:
    """What a reader must know of the machine's own pace: nothing where it kept it."""
    limit = limit_of(visits, share)
    paces = [samples[0].pace for samples in visits if samples and samples[0].pace is not None]
    out = [pace for pace in paces if limit is not None and pace > limit]
    if limit is None or not out:
        return []
    slowest = float(np.percentile(paces, 95)) * (1 + share) / limit - 1
    return [
        f"beside {len(out)} of {len(paces)} visits a fixed piece of work was more than {share:.0%} slower than beside the quicker quarter "
        f"of them, which no system counter shows: they are contaminated (95 % of visits were at most {slowest:.0%} slower)"
    ]
