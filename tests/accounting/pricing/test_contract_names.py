"""Is a contract refused that calls things otherwise than price rows do, and so would change nothing?"""

from __future__ import annotations

from typing import Any

import pytest

from accounting.errors import InvalidInput
from accounting.pricing.contract_json import contract_from_json
from accounting.pricing.contract_names import check_names

PLAIN = {
    "contract_id": "c",
    "tenant": "acme",
    "seller": "aws",
    "currency": "USD",
    "effective_from": "2026-11-01T00:00:00Z",
}


def half(*tiers: str) -> dict[str, Any]:
    return {"rules": [{"rule_id": "r", "kind": "discount", "value": "0.5", "scope": {"service_tiers": list(tiers)}}]}


@pytest.mark.parametrize(
    ("stated", "said"),
    [
        ({"seller": "Google"}, "seller='Google': price rows call it 'google'"),
        ({"seller": "OpenAI"}, "seller='OpenAI': price rows call it 'openai'"),
        ({"seller": "bedrock"}, "seller='bedrock': price rows call it 'aws'"),
        (half("standard"), "service_tiers='standard': price rows call it 'default'"),
        (half("batch", "Flex"), "service_tiers='Flex': price rows call it 'flex'"),
    ],
)
def test_a_name_of_logs_is_refused_with_the_price_rows_name(stated: dict[str, Any], said: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        check_names(contract_from_json(PLAIN | stated))
    assert said in str(refused.value)


@pytest.mark.parametrize("stated", [{}, {"seller": "acme-own"}, half("default", "batch"), half("reserved")])
def test_price_rows_own_names_and_a_tenant_s_are_taken(stated: dict[str, Any]) -> None:
    check_names(contract_from_json(PLAIN | stated))
