"""Does a contract say the same after it was written down, and is what it must not say refused by name?"""

from __future__ import annotations

import copy
from dataclasses import replace
from datetime import UTC, date, datetime
from typing import Any

import pytest

from accounting.errors import InvalidInput
from accounting.pricing.contract import Commitment, Contract, Credit, PriceRule, Scope, VolumeStep, VolumeTier
from accounting.pricing.contract_json import contract_from_json, contract_hash, contract_to_json

STATED: dict[str, Any] = {
    "contract_id": "acme-2026",
    "tenant": "acme",
    "seller": "openai",
    "currency": "USD",
    "effective_from": "2026-01-01T00:00:00Z",
    "effective_until": "2027-01-01T00:00:00Z",
    "rules": [
        {"rule_id": "all", "kind": "discount", "value": "0.10"},
        {"rule_id": "out", "kind": "cap", "value": "9.5", "scope": {"models": ["gpt-5"], "token_classes": ["output"]}},
    ],
    "volume_tiers": [
        {
            "tier_id": "v",
            "counted_classes": ["output"],
            "steps": [{"from_quantity": 1_000_000_000, "kind": "discount", "value": "0.05"}],
            "period": "contract_month",
            "scope": {"regions": ["eu"]},
        }
    ],
    "commitments": [
        {
            "commitment_id": "p",
            "kind": "prepaid",
            "amount": "50000",
            "starts_on": "2026-01-01",
            "ends_on": "2026-12-31",
        }
    ],
    "credits": [
        {"credit_id": "start", "amount": "250.00", "priority": 1, "valid_from": "2026-01-01T00:00:00Z"},
    ],
    "source": "order form 17",
    "created_by": "ann",
}


def test_every_part_is_read() -> None:
    assert contract_from_json(STATED) == Contract(
        contract_id="acme-2026",
        tenant="acme",
        seller="openai",
        currency="USD",
        effective_from=datetime(2026, 1, 1, tzinfo=UTC),
        effective_until=datetime(2027, 1, 1, tzinfo=UTC),
        rules=(
            PriceRule("all", "discount", Scope(), "0.10"),
            PriceRule("out", "cap", Scope(models=frozenset({"gpt-5"}), token_classes=frozenset({"output"})), "9.5"),
        ),
        volume_tiers=(
            VolumeTier(
                "v",
                Scope(regions=frozenset({"eu"})),
                frozenset({"output"}),
                (VolumeStep(1_000_000_000, "discount", "0.05"),),
                "contract_month",
            ),
        ),
        commitments=(Commitment("p", "prepaid", "50000", date(2026, 1, 1), date(2026, 12, 31)),),
        credits=(Credit("start", "250.00", 1, datetime(2026, 1, 1, tzinfo=UTC)),),
        source="order form 17",
        created_by="ann",
    )


def test_what_is_written_is_what_was_read() -> None:
    assert contract_to_json(contract_from_json(STATED)) == STATED


def test_the_hash_is_pinned_and_knows_nothing_of_who_wrote_it_down() -> None:
    contract = contract_from_json(STATED)
    assert contract_hash(contract) == contract_hash(replace(contract, source="elsewhere", approved_by="bob"))
    assert contract_hash(contract) != contract_hash(replace(contract, credits=()))
    assert contract_hash(contract)[:16] == "8ca385fd55848af7"


def test_a_commitment_runs_to_the_end_of_its_last_day() -> None:
    (one,) = contract_from_json(STATED).commitments
    assert (one.since, one.until) == (datetime(2026, 1, 1, tzinfo=UTC), datetime(2027, 1, 1, tzinfo=UTC))


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (("rules", 0, "value"), 0.1, r"contract\.rules\[0\]\.value=0\.1: a decimal number as text"),
        (("rules", 0, "value"), "10", "rule all.value='10': a discount is a fraction above 0"),
        (("rules", 0, "value"), "-0.1", "rule all.value='-0.1'"),
        (("rules", 0, "kind"), "rebate", "rule all.kind='rebate'"),
        (("rules", 1, "value"), "0.0000000001", "more than 9 decimals"),
        (("rules", 1, "scope"), {"model": ["gpt-5"]}, r"rules\[1\]\.scope\.model=\['gpt-5'\]: no such field"),
        (("rules", 1, "scope"), {"models": []}, "scope.models=.*an empty set covers nothing"),
        (("rules", 1, "scope"), {"models": "gpt-5"}, "a list of names is expected"),
        (("rules", 1, "scope"), {"token_classes": ["input"]}, "scope.token_classes='input': no priced class"),
        (("rules", 1, "rule_id"), "all", "'all': this id stands more than once"),
        (("volume_tiers", 0, "steps"), [], "quantities from 0 on"),
        (("volume_tiers", 0, "steps", 0, "from_quantity"), "1", "a whole number is expected"),
        (("commitments", 0, "ends_on"), "2025-12-31", "before the first day 2026-01-01"),
        (("commitments", 0, "amount"), "0", "an amount above 0"),
        (("commitments", 0, "amount"), "1000000000000", r"amount='1000000000000': .* below 1000000000000"),
        (("rules", 1, "value"), "1000000", "value='1000000': a price below 1000000"),
        (("seller",), "a\x00", "seller='a.x00': holds the character"),
        (("rules", 1, "scope"), {"models": ["a\x00"]}, "scope.models='a.x00': holds the character"),
        (("credits", 0, "valid_from"), "2026-01-01T00:00:00", "an instant with its zone"),
        (("credits", 0, "valid_from"), None, "an instant with its zone"),
        (("effective_until",), "9999-12-31T23:59:59-12:00", "lies beyond the calendar"),
        (("effective_until",), "2026-01-01T00:00:00Z", "not after its start"),
        (("currency",), "usd", "three capitals"),
        (("discount",), "0.1", r"contract\.discount='0\.1': no such field"),
        (("tenant",), "", "a text is expected"),
    ],
)
def test_what_a_contract_can_not_say_is_refused_by_name(path: tuple[Any, ...], value: Any, message: str) -> None:
    changed = copy.deepcopy(STATED)
    place: Any = changed
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = value
    with pytest.raises(InvalidInput, match=message):
        contract_from_json(changed)
