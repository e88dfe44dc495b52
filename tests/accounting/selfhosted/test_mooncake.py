"""What does an hour of real conversations, ten times as fast, say of long contexts and of shared prefixes?"""

from __future__ import annotations

import numpy as np
import pytest

from accounting.money import to_minor
from tests.accounting.selfhosted.mooncake import BANDS, GPU_HOUR, Cache, Served, band_of, serve, trace

REPLICAS = 16


@pytest.fixture(scope="module")
def served() -> Served:
    return serve(trace(), REPLICAS)


def shares_by_band(served: Served, costs: np.ndarray) -> list[float]:
    """Percent of the bill."""
    band = band_of(served.requests.context_tokens)
    return [float(costs[band == one].sum() / costs.sum() * 100) for one in range(len(BANDS) - 1)]


def test_a_cache_that_never_forgets_finds_what_is_known_of_the_trace() -> None:
    """37.4 % of 144,793,823 input tokens, as counted by others from the same ids."""
    cache, rows = Cache(1, 10**9), trace()
    found = sum(min(cache.place(row["hash_ids"], row["input_length"])[1] * 512, row["input_length"]) for row in rows)
    assert len(rows) == 12_031
    assert found / sum(row["input_length"] for row in rows) == pytest.approx(0.374, abs=0.001)


def test_the_bill_is_the_replicas_time_and_every_request_has_its_part(served: Served) -> None:
    """16 H200s at 7.912 from the first request to the last end; the parts add up to the last digit under either policy."""
    hours = served.end_us / 3.6e9
    assert served.bill == pytest.approx(float(to_minor(GPU_HOUR)) * 16 * hours, rel=1e-12)
    for policy in ("switch", "equal"):
        costs = served.costs(policy)  # type: ignore[arg-type]
        assert sum(costs.tolist()) == served.bill
        assert bool((costs > 0).all())


def test_few_long_conversations_cost_half_of_it(served: Served) -> None:
    """829 of 12,031 have 32,768 tokens or more."""
    band = band_of(served.requests.context_tokens)
    assert np.bincount(band).tolist() == [2_804, 3_815, 4_583, 829]
    assert 45 < shares_by_band(served, served.costs("switch"))[3] < 60


def test_where_the_cache_is_full_switch_charges_short_ones_less(served: Served) -> None:
    """16 replicas are too few for this hour, so that the cache keeps requests out; memory then has a price."""
    equal, switch = (shares_by_band(served, served.costs(policy)) for policy in ("equal", "switch"))  # type: ignore[arg-type]
    assert switch[0] < 0.8 * equal[0]
    assert switch[1] < equal[1]
    assert switch[2] > equal[2]
    assert switch[3] > equal[3]


def test_amortised_prefixes_move_cost_and_keep_the_bill(served: Served) -> None:
    """Those that found their prefix take over a part of what the first ones computed."""
    first, amortised = served.costs("switch"), served.costs("switch", amortise=True)
    assert sum(amortised.tolist()) == served.bill
    found = served.requests.cached_tokens / served.requests.context_tokens
    assert amortised[found > 0.5].sum() > 1.05 * first[found > 0.5].sum()
    assert amortised[found < 0.1].sum() < first[found < 0.1].sum()
