"""Is every case of the data set answered by a test, or waiting for a named capability, and none both?"""

from __future__ import annotations

from tests.cases import (  # noqa: F401  importing them fills ANSWERED
    test_categories,
    test_days_in_the_ledger,
    test_payloads,
    test_pools,
    test_repeats_in_the_ledger,
    test_repricing,
    test_scenarios,
    test_sums_in_the_ledger,
)
from tests.cases.rows import ANSWERED, rows

PENDING = {
    "M13": "budgets: what a request may still cost is asked before it is made, while everything here reads what was logged after it",
}
"""Scenario -> the capability it waits for, and why it is not there. An id leaves this list with the test that answers it."""


def test_every_case_is_answered_or_pending() -> None:
    assert len(rows()) == 119
    assert sorted(ANSWERED | PENDING.keys()) == sorted(rows())
    assert ANSWERED & PENDING.keys() == set()


def test_every_case_with_a_payload_is_answered() -> None:
    with_payload = [case_id for case_id, case in rows().items() if "payload" in case]
    assert list(test_payloads.PAYLOADS) == with_payload
