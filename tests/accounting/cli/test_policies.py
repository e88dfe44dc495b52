"""Are dated rules stated and listed by command?"""

from __future__ import annotations

import pytest

from tests.accounting.cli.conftest import Run

pytestmark = pytest.mark.storage


def test_rules_are_stated_from_a_day_and_listed_with_the_defaults(tokencogs: Run, tenant: str) -> None:
    purpose = tokencogs("policy", "purpose", "free", "cost_of_revenue", "--from", "2026-07-01")
    rule = tokencogs("policy", "account-revenue", "use", "--from", "2026-07-01")
    assert (purpose.output, rule.output) == (
        "purpose free: cost_of_revenue from 2026-07-01\n",
        "account revenue: use from 2026-07-01\n",
    )
    lines = tokencogs("policy", "list").output.splitlines()
    assert [line for line in lines if "free" in line or line.startswith("account")] == [
        "purpose\tfree\tsales_and_marketing\t2000-01-01\tdefault",
        "purpose\tfree\tcost_of_revenue\t2026-07-01\town",
        "account revenue\t\tuse\t2026-07-01\town",
        "account revenue\t\taccount\t\tdefault",
    ]


def test_a_day_that_is_none_is_named(tokencogs: Run, tenant: str) -> None:
    result = tokencogs("policy", "purpose", "free", "internal", "--from", "yesterday")
    assert result.exit_code != 0
    assert "effective_from='yesterday'" in result.output
