"""Real tenants of one day on an invented plan of 40: does the report's arithmetic name those who lose money, and the cap?

The largest of the 73 has 49 % of all output tokens. Costs at 0.55 and 2.19 a million tokens in and out; figures by a separate sum.
"""

from __future__ import annotations

import csv
import gzip
from collections import defaultdict

import pytest

from accounting.reports.distribution import top_share
from accounting.reports.subscribers import Subscriber, cap, losing
from tests.shared_data import shared

UNIT = 10**18
PRICE = 40 * UNIT


@pytest.fixture(scope="module")
def tenants() -> list[Subscriber]:
    sums: defaultdict[str, list[int]] = defaultdict(lambda: [0, 0, 0])
    path = shared("servegen/derived_requests_deepseek-r1_day0_20pct.csv.gz")
    with gzip.open(path, "rt", newline="") as file:
        for row in csv.DictReader(file):
            own = sums[row["client_id"]]
            own[0] += 1
            own[1] += int(row["input_tokens"])
            own[2] += int(row["output_tokens"])
    # 0.55 a million is 550,000,000,000 of 10^-18 a token.
    return [
        Subscriber(client, PRICE, 0, 55 * 10**10 * tokens_in + 219 * 10**10 * out, requests, tokens_in + out, False, 1)
        for client, (requests, tokens_in, out) in sums.items()
    ]


def test_the_five_that_lose_money_are_named_worst_first(tenants: list[Subscriber]) -> None:
    assert len(tenants) == 73
    assert [one.user_id for one in losing(tenants)] == ["35", "66", "15", "65", "3"]


def test_the_cap_that_95_and_99_percent_can_live_with(tenants: list[Subscriber]) -> None:
    """95 % are 70 tenants: the 68 in profit, and of the five, those who bear most: 17,657 and 6,937 requests. 99 % are all: 2,137."""
    assert cap(tenants, 95, "requests").limit == 6_937
    assert cap(tenants, 99, "requests").limit == 2_137


def test_the_dearest_tenant_is_nearly_half_of_the_cost(tenants: list[Subscriber]) -> None:
    share = top_share(sorted(one.cost for one in tenants), 1)
    assert share is not None
    assert 0.40 < share < 0.45
