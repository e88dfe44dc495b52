"""Does the simulated prefix cache hold what it says: by prefix, with a lifetime, with a capacity?"""

from __future__ import annotations

from itertools import accumulate

import pytest
from hypothesis import given
from hypothesis import strategies as st

from accounting.traces.prefix_cache import PrefixCache, cached_tokens

Requests = list[tuple[int, list[int]]]


def hits(cache: PrefixCache, requests: Requests) -> list[int]:
    return [cache.serve(now, blocks) for now, blocks in requests]


def test_a_hit_is_a_run_of_leading_blocks() -> None:
    assert hits(PrefixCache(), [(0, [1, 2, 3]), (0, [1, 2, 9]), (0, [8, 2, 3])]) == [0, 2, 0]


def test_a_block_can_be_hit_until_its_lifetime_after_its_last_use_that_instant_included() -> None:
    assert hits(PrefixCache(lifetime=10), [(0, [1]), (10, [1]), (20, [1]), (31, [1])]) == [0, 1, 1, 0]


def test_a_lifetime_of_zero_still_serves_the_same_instant() -> None:
    assert hits(PrefixCache(lifetime=0), [(5, [1, 2]), (5, [1, 2]), (6, [1, 2])]) == [0, 2, 0]


def test_beyond_its_capacity_the_least_recently_used_block_goes() -> None:
    assert hits(PrefixCache(capacity=2), [(0, [1]), (1, [2]), (2, [1]), (3, [3]), (4, [1]), (5, [2])]) == [
        0,
        0,
        1,
        0,
        1,
        0,
    ]


def test_a_request_longer_than_the_capacity_leaves_its_head() -> None:
    cache = PrefixCache(capacity=2)
    assert hits(cache, [(0, [1, 2, 3, 4]), (1, [1, 2, 3, 4])]) == [0, 2]
    assert len(cache) == 2


def test_a_capacity_of_nothing_never_hits() -> None:
    assert hits(PrefixCache(capacity=0), [(0, [1]), (0, [1])]) == [0, 0]


def test_a_cache_with_a_lifetime_holds_no_expired_block() -> None:
    cache = PrefixCache(lifetime=1)
    hits(cache, [(now * 2, [now]) for now in range(1_000)])
    assert len(cache) == 1


@pytest.mark.parametrize("bounds", [{"lifetime": -1}, {"capacity": -1}])
def test_negative_bounds_are_refused(bounds: dict[str, int]) -> None:
    with pytest.raises(ValueError, match="can't be negative"):
        PrefixCache(**bounds)


def test_the_last_token_is_never_read_from_the_cache() -> None:
    assert [cached_tokens(2, 1_024), cached_tokens(2, 1_000), cached_tokens(2, 1_025), cached_tokens(0, 1)] == [
        1_023,
        999,
        1_024,
        0,
    ]


@st.composite
def requests(draw: st.DrawFn) -> Requests:
    """Requests in order of time, whose ids name a block with all before it, as Mooncake's do."""
    gaps = draw(st.lists(st.integers(0, 5), max_size=30))
    paths = [draw(st.lists(st.integers(0, 2), min_size=1, max_size=5)) for _ in gaps]
    known: dict[tuple[int, ...], int] = {}
    return [
        (now, [known.setdefault(tuple(path[: end + 1]), len(known)) for end in range(len(path))])
        for now, path in zip(accumulate(gaps), paths, strict=True)
    ]


@given(requests(), st.none() | st.integers(0, 8))
def test_it_equals_a_search_through_all_earlier_requests(some: Requests, lifetime: int | None) -> None:
    def hit(at: int, block: int) -> bool:
        now = some[at][0]
        uses = [then for then, blocks in some[:at] if block in blocks]
        return bool(uses) and (lifetime is None or now - max(uses) <= lifetime)

    expected = []
    for at, (_, blocks) in enumerate(some):
        misses = [position for position, block in enumerate(blocks) if not hit(at, block)]
        expected.append(misses[0] if misses else len(blocks))
    assert hits(PrefixCache(lifetime), some) == expected


@given(requests(), st.integers(0, 12))
def test_with_a_capacity_it_equals_a_list_kept_in_order_of_use(some: Requests, capacity: int) -> None:
    held: list[int] = []
    expected = []
    for _, blocks in some:
        expected.append(next((at for at, block in enumerate(blocks) if block not in held), len(blocks)))
        held = [*blocks, *(block for block in held if block not in blocks)][:capacity]
    assert hits(PrefixCache(capacity=capacity), some) == expected


@given(requests(), st.integers(0, 12), st.none() | st.integers(0, 8))
def test_a_larger_or_longer_lived_cache_never_hits_less(some: Requests, capacity: int, lifetime: int | None) -> None:
    small = hits(PrefixCache(lifetime, capacity), some)
    for larger in (PrefixCache(lifetime, capacity + 1), PrefixCache(lifetime), PrefixCache(None, capacity)):
        assert all(less <= more for less, more in zip(small, hits(larger, some), strict=True))


@given(requests(), st.integers(0, 12))
def test_it_never_holds_more_than_its_capacity(some: Requests, capacity: int) -> None:
    cache = PrefixCache(capacity=capacity)
    for now, blocks in some:
        cache.serve(now, blocks)
        assert len(cache) <= capacity
