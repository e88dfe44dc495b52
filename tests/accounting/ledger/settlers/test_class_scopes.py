"""What do parts of a contract leave to each other that are about token classes? A class that is paid is paid once."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from accounting.ledger.settlers.cells import Cell, Group, PriceRow
from accounting.ledger.settlers.contracts import settle_contract
from accounting.ledger.settlers.postings import Postings
from accounting.ledger.settlers.standing import Standing
from accounting.pricing.contract_json import contract_from_json
from accounting.storage.changes import ALWAYS

DAY = datetime(2026, 11, 2, tzinfo=UTC)
DOLLAR = 10**15
OUTPUT = {"token_classes": ["output"]}
FROM = "2026-11-01T00:00:00Z"
HALF = {
    "volume_tiers": [
        {"tier_id": "v", "scope": OUTPUT, "steps": [{"from_quantity": 0, "kind": "discount", "value": "0.5"}]}
    ]
}


def credits_of(*amounts: str, scope: dict[str, Any] | None = OUTPUT) -> dict[str, Any]:
    every = enumerate(amounts, start=1)
    scoped = {} if scope is None else {"scope": scope}
    return {
        "credits": [
            {"credit_id": f"c{i}", "amount": one, "priority": i, "valid_from": FROM, **scoped} for i, one in every
        ]
    }


def commitment(kind: str, amount: str) -> dict[str, Any]:
    one = {
        "commitment_id": "m",
        "kind": kind,
        "amount": amount,
        "starts_on": "2026-11-01",
        "ends_on": "2026-11-30",
        "scope": OUTPUT,
    }
    return {"commitments": [one]}


@pytest.mark.parametrize(
    ("parts", "posted", "left"),
    [
        (credits_of("100", "100"), {"credit:c1 credit": -100}, 100),
        (credits_of("60", "100"), {"credit:c1 credit": -60, "credit:c2 credit": -40}, 100),
        # One for all classes takes half of its 100 from output; 50 of output are left for the second.
        (
            {"credits": [*credits_of("100", scope=None)["credits"], credits_of("0", "80")["credits"][1]]},
            {"credit:c1 credit": -100, "credit:c2 credit": -50},
            50,
        ),
        (
            commitment("prepaid", "150") | credits_of("150"),
            {"prepaid:m purchase": 150, "prepaid:m drawn": -100, "prepaid:m unused": 0},
            100,
        ),
        (HALF | credits_of("100"), {"volume_tier:v tier": -50, "credit:c1 credit": -50}, 100),
        (HALF | commitment("minimum_spend", "100"), {"volume_tier:v tier": -50, "minimum_spend:m shortfall": 50}, 150),
    ],
)
def test_what_a_class_owes_is_paid_once(parts: dict[str, Any], posted: dict[str, int], left: int) -> None:
    """40 million input tokens at 2.50 and 10 million of output at 10: 100 each."""
    row = PriceRow(
        1,
        "gpt-4o",
        "default",
        {"uncached_input": 25 * 10**8, "output": 10**10},
        frozenset(("uncached_input", "output")),
    )
    counts = {"uncached_input": 40_000_000, "output": 10_000_000}
    cell = Cell("k", DAY, Group(DAY, "", "", "production", "gpt-4o"), row, counts, 200 * DOLLAR)
    about = {"contract_id": "c", "tenant": "acme", "seller": "openai", "currency": "USD", "effective_from": FROM}
    target: Postings = {}
    settle_contract(
        contract_from_json(about | parts), [cell], Standing("", ALWAYS, {}), datetime(2026, 12, 5, tzinfo=UTC), target
    )
    billed = {f"{place.policy} {place.reason}": amounts[3] for place, amounts in target.items()}
    assert billed == {name: amount * DOLLAR for name, amount in posted.items()}
    assert cell.billed == left * DOLLAR
