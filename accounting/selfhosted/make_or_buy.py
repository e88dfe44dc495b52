"""Is it cheaper to serve these requests on own GPUs or to buy them: from how many tokens a day, at which utilisation?

Bought cost grows with tokens; a pool costs the same whether used or not, until it is full. So for a pool that costs B a day, whose
replicas can serve X tokens of this mix a day, and a tariff that asks p a token for the same requests:

    break-even = B / p tokens a day        utilisation there = B / (p * X)        full cost a token = B / X

Above 1 the tariff is cheaper at any load. Self-hosted is fully loaded: gap, idle and empty places are in it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from accounting.errors import InvalidInput
from accounting.selfhosted.steady import NO_TARGETS, Targets, operating_point
from accounting.selfhosted.what_if import BEHAVIOUR, Setup, notes_of
from accounting.selfhosted.workload import Workload

DAY_SECONDS = 86_400

Price = Callable[[Workload], Mapping[str, Fraction | None]]
"""What each tariff asks for a whole workload, in the pool's currency; None where it can't serve some of the requests."""


@dataclass(frozen=True)
class Tariffed:
    """One tariff against the pool. Amounts in the pool's currency.

    Attributes:
        cost: of the workload. per_million: of its tokens, input and output together.
        break_even: tokens a day from which the pool is cheaper, None where the tariff is free.
        turns_at: share of the pool's full throughput at which that is; above 1: never. None where no batch holds the targets.
    """

    name: str
    cost: Fraction | None
    per_million: Fraction | None
    break_even: Fraction | None
    turns_at: float | None


@dataclass(frozen=True)
class MakeOrBuy:
    """A pool against every tariff.

    Attributes:
        pool_day: what the pool costs a day. tokens_day: what the workload asks for a day.
        most_day: tokens of this mix a day at R*; None where no batch holds the targets. utilisation: tokens_day over it.
        made_per_million: the pool's cost over the workload's tokens: fully loaded. full_per_million: the same at R* all day.
        notes: what a reader must know: floor, table, changed behaviour.
    """

    pool_day: Fraction
    tokens_day: Fraction
    most_day: Fraction | None
    utilisation: float | None
    made_per_million: Fraction
    full_per_million: Fraction | None
    tariffs: list[Tariffed]
    notes: tuple[str, ...]

    @property
    def behaviour_changing(self) -> bool:
        """Whether answers of the pool may differ from those that are bought."""
        return any(note.startswith(BEHAVIOUR) for note in self.notes)


@dataclass(frozen=True)
class Case:
    """One changed assumption. Attributes: axis: gpu_price | context | cache_hits. value: factor of the first two, share of the third."""

    axis: str
    value: Fraction


def make_or_buy(
    setup: Setup, replicas: Fraction, workload: Workload, days: Fraction, price: Price, targets: Targets = NO_TARGETS
) -> MakeOrBuy:
    """`replicas` (a mean over the days) of a setup against tariffs, on the requests of `days` days.

    Raises InvalidInput for no days or replicas.
    """
    if replicas <= 0:
        raise InvalidInput("replicas", str(replicas), "a positive number is expected")
    if days <= 0:
        raise InvalidInput("days", str(days), "a positive length is expected")
    pool_day = setup.replica_hour * 24 * replicas
    tokens_day = workload.tokens / Fraction(days)
    best = operating_point(setup.curve, setup.pool, workload, targets)
    most_day = None
    if best is not None:
        a_request = Fraction(workload.tokens, len(workload))
        most_day = replicas * DAY_SECONDS * a_request / Fraction(best.steady.request_seconds)
    found = [_tariff(name, cost, workload, pool_day, most_day) for name, cost in sorted(price(workload).items())]
    found.sort(key=lambda one: (one.cost is None, one.cost or 0, one.name))
    return MakeOrBuy(
        pool_day,
        tokens_day,
        most_day,
        None if most_day is None else float(tokens_day / most_day),
        pool_day * 1_000_000 / tokens_day,
        None if most_day is None else pool_day * 1_000_000 / most_day,
        found,
        (*notes_of(setup.curve, best is not None and best.steady.extrapolated), *setup.assumptions),
    )


def sensitivity(
    setup: Setup,
    replicas: Fraction,
    workload: Workload,
    days: Fraction,
    price: Price,
    cases: Sequence[Case],
    targets: Targets = NO_TARGETS,
) -> list[tuple[Case, MakeOrBuy]]:
    """The comparison under one changed assumption each; tariffs are rated again on the changed requests."""
    found = []
    for case in cases:
        changed, requests = setup, workload
        if case.axis == "gpu_price":
            changed = Setup(setup.name, setup.curve, setup.pool, setup.replica_hour * case.value, setup.assumptions)
        elif case.axis == "context":
            requests = workload.with_context(case.value)
        elif case.axis == "cache_hits":
            requests = workload.with_hit_share(case.value)
        else:
            raise InvalidInput("axis", case.axis, "gpu_price, context or cache_hits is expected")
        found.append((case, make_or_buy(changed, replicas, requests, days, price, targets)))
    return found


def _tariff(
    name: str, cost: Fraction | None, workload: Workload, pool_day: Fraction, most_day: Fraction | None
) -> Tariffed:
    if cost is None:
        return Tariffed(name, None, None, None, None)
    a_token = cost / workload.tokens
    if a_token == 0:
        return Tariffed(name, cost, Fraction(0), None, None)
    even = pool_day / a_token
    return Tariffed(name, cost, a_token * 1_000_000, even, None if most_day is None else float(even / most_day))
