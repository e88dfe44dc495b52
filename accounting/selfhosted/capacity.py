"""How many replicas does a forecast need, at given times to first token and between tokens?"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import ceil

from accounting.errors import InvalidInput
from accounting.selfhosted.curve import Curve
from accounting.selfhosted.pool import Pool
from accounting.selfhosted.steady import NO_TARGETS, Operating, Targets, operating_point
from accounting.selfhosted.workload import Workload


@dataclass(frozen=True)
class Capacity:
    """Attributes:
    operating: what one replica does at R*.
    replicas: whole ones. load: of their throughput that the forecast uses, at most the share asked for.
    """

    operating: Operating
    replicas: int
    load: float


def replicas_needed(
    curve: Curve,
    pool: Pool,
    workload: Workload,
    requests_per_second: float,
    busy: Fraction,
    targets: Targets = NO_TARGETS,
) -> Capacity | None:
    """Replicas that serve `requests_per_second` of such requests; None where no batch holds the targets.

    `busy`: share of a replica's best throughput that may be used, 1 at most. What is left is for bursts: at 1 the queue never empties,
    and times to first token grow beyond those of the curve, which have no queueing in them.
    """
    if not requests_per_second > 0:
        raise InvalidInput("requests_per_second", requests_per_second, "a positive rate is expected")
    if not 0 < busy <= 1:
        raise InvalidInput("busy", str(busy), "more than 0 and at most 1 is expected")
    best = operating_point(curve, pool, workload, targets)
    if best is None:
        return None
    needed = requests_per_second * best.steady.request_seconds
    replicas = max(1, ceil(needed / float(busy)))
    return Capacity(best, replicas, needed / replicas)
