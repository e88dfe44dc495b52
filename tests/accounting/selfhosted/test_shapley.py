"""Is the policy `equal` the Shapley value of a step, and are experts shared over tokens? Enumerated here, for every small batch."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import permutations, product

import numpy as np
import pytest

from accounting.selfhosted.ledger_steps import Steps, attribute_steps
from tests.accounting.selfhosted.replay import curve, log, pool_of, whole
from tests.accounting.selfhosted.simulator import H200_8B, Job, Replica

Player = tuple[int, int, bool]
KINDS: list[Player] = [(1, 1_000, False), (1, 16_000, False), (700, 0, True), (512, 2_048, True)]


def seconds(players: list[Player]) -> float:
    """The step as the README writes it; nobody in it takes no time."""
    p, total = H200_8B, 0.0
    for new, past, prompt in players:
        mine = p["d"] * new + p["f"] * new * (past + new / 2) + p["r"] * past
        total += mine if prompt else p["a"] + p["c"] * (past + 1)
    return total + (p["t_0"] if players else 0.0)


def shapley(players: list[Player], worth: Callable[[list[Player]], float]) -> list[float]:
    found, orders = [0.0] * len(players), list(permutations(range(len(players))))
    for order in orders:
        inside: list[Player] = []
        for at in order:
            before = worth(inside)
            inside = [*inside, players[at]]
            found[at] += worth(inside) - before
    return [value / len(orders) for value in found]


def by_ledger(players: list[Player], parameters: dict[str, float] = H200_8B) -> list[float]:
    jobs = [Job(at, 0.0, 20_000, 0, 2, first=1.0, end=2.0) for at in range(len(players))]
    new, past, prompt = (np.array(column) for column in zip(*players, strict=True))
    one = np.zeros(1, np.int64)
    steps = Steps(
        one,
        one,
        np.zeros(1),
        np.zeros(1, np.bool_),
        np.zeros(len(players), np.int64),
        np.arange(len(players)),
        new,
        past,
        prompt,
        past + new + 0.0,
    )
    found = attribute_steps(
        curve(parameters), pool_of(Replica(parameters)), log(jobs), whole(log(jobs)), steps, "equal"
    )
    return found.lines.seconds.tolist()


def batches(size: int) -> list[tuple[Player, ...]]:
    """Every batch of that size, order left out."""
    return [batch for batch in product(KINDS, repeat=size) if list(batch) == sorted(batch)]


@pytest.mark.parametrize("size", [1, 2, 3, 4])
def test_equal_is_the_shapley_value_of_every_batch(size: int) -> None:
    for batch in batches(size):
        assert by_ledger(list(batch)) == pytest.approx(shapley(list(batch), seconds), rel=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("size", [5, 6])
def test_equal_is_the_shapley_value_of_every_larger_batch(size: int) -> None:
    for batch in batches(size):
        assert by_ledger(list(batch)) == pytest.approx(shapley(list(batch), seconds), rel=1e-12)


def test_experts_are_shared_over_tokens() -> None:
    """Tokens are the players of cov(T): each of 3 gets a third, so a prompt of 2 tokens gets 2 and a decode 1."""
    moe = H200_8B | {"e": 0.001, "E": 8, "k": 2}
    touched = 8 * (1 - Fraction(6, 8) ** 3)
    dense, sparse = by_ledger([(1, 10, False), (2, 0, True)]), by_ledger([(1, 10, False), (2, 0, True)], moe)
    gained = [after - before for before, after in zip(dense, sparse, strict=True)]
    assert gained == pytest.approx([0.001 * touched / 3, 0.001 * touched * 2 / 3], rel=1e-9)


def test_one_of_16k_among_63_of_1k_pays_five_times_a_small_one() -> None:
    """t_0/64 + a + c*s: 0.07703125 + 0.009 + 0.557056 ms against 0.07703125 + 0.009 + 0.034816 ms."""
    found = by_ledger([(1, 16_383, False), *[(1, 1_023, False)] * 63])
    assert found[0] * 1_000 == pytest.approx(0.64308725, abs=1e-8)
    assert found[1] * 1_000 == pytest.approx(0.12084725, abs=1e-8)
    assert round(found[0] / found[1], 1) == 5.3
