"""Does a logged name mean what the price list says it means, and nothing else?"""

import pytest

from accounting.errors import PriceBookError
from accounting.pricing.data_files import seller_names, tier_names
from accounting.pricing.names import Names
from accounting.pricing.tariff import Alias


def names(*pairs: tuple[str, str]) -> Names:
    return Names([Alias("openai", alias, model, "test") for alias, model in pairs], seller_names(), tier_names())


@pytest.mark.parametrize("provider", ["openai", "OpenAI"])
def test_a_sellers_own_name_means_itself_in_any_case(provider: str) -> None:
    assert names(("gpt-5", "gpt-5")).seller(provider) == "openai"


@pytest.mark.parametrize(
    ("provider", "seller"),
    [
        ("aws.bedrock", "aws"),
        ("gcp.vertex_ai", "google"),
        ("gemini", "google"),
        ("azure.ai.openai", "azure"),
        ("mistral_ai", "mistral"),
        ("x_ai", "x-ai"),
        ("moonshot", "moonshotai"),
        ("fireworks_ai", "fireworks"),
    ],
)
def test_names_of_opentelemetry_and_libraries_mean_the_price_lists_seller(provider: str, seller: str) -> None:
    assert names().seller(provider) == seller


@pytest.mark.parametrize("provider", [None, "", "openai2", "my-openai", " openai"])
def test_a_seller_is_never_guessed(provider: str | None) -> None:
    assert names(("gpt-5", "gpt-5")).seller(provider) is None


@pytest.mark.parametrize(
    "name", ["gpt-5", "GPT-5", "gpt-5-2025-08-07", "gpt-5-20250807", "gpt-5@20250807", "gpt-5@2025-08-07"]
)
def test_a_calendar_date_at_the_end_is_taken_off(name: str) -> None:
    assert names(("gpt-5", "gpt-5")).model("openai", name) == "gpt-5"


@pytest.mark.parametrize(
    "name",
    [
        None,
        "",
        "gpt-5-2025-13-07",
        "gpt-5-20250230",
        "gpt-5-19991231",
        "gpt-5-2025-0807",
        "gpt-5-mini",
        "gpt-5.1",
        "my-gpt-5",
        "gpt-5-0807",
        "gpt-5-2025-08-07-preview",
        "-2025-08-07",
    ],
)
def test_no_other_ending_is_taken_off(name: str | None) -> None:
    assert names(("gpt-5", "gpt-5")).model("openai", name) is None


def test_an_exact_name_wins_over_the_name_without_its_date() -> None:
    known = names(("gpt-4o", "gpt-4o"), ("gpt-4o-2024-05-13", "gpt-4o-2024-05-13"))
    assert known.model("openai", "gpt-4o-2024-05-13") == "gpt-4o-2024-05-13"
    assert known.model("openai", "gpt-4o-20240513") == "gpt-4o-2024-05-13"
    assert known.model("openai", "gpt-4o-2024-08-06") == "gpt-4o"


def test_a_model_of_another_seller_is_not_found() -> None:
    assert names(("gpt-5", "gpt-5")).model("azure", "gpt-5") is None


@pytest.mark.parametrize(
    ("service_tier", "batch", "tier"),
    [
        (None, False, "default"),
        ("", False, "default"),
        ("Default", False, "default"),
        ("standard", False, "default"),
        ("ON_DEMAND", False, "default"),
        ("flex", False, "flex"),
        ("ON_DEMAND_PRIORITY", False, "priority"),
        (None, True, "batch"),
        ("default", True, "batch"),
        ("batch", True, "batch"),
        ("batch", False, "batch"),
        ("flex", True, "batch+flex"),
        ("auto", False, "auto"),
        ("scale", False, "scale"),
    ],
)
def test_tiers_as_served(service_tier: str | None, batch: bool, tier: str) -> None:
    assert names().tier(service_tier, batch) == tier


def test_a_name_with_two_meanings_is_refused() -> None:
    with pytest.raises(PriceBookError, match="gpt-5"):
        names(("gpt-5", "gpt-5"), ("GPT-5", "gpt-5-mini"))


def test_a_tenants_name_comes_before_the_lists_even_where_only_a_date_is_taken_off() -> None:
    """Contract exact, contract without date, list exact, list without date."""
    found = Names(
        [
            Alias("openai", "gpt-5-2025-08-07", "dated", "test"),
            Alias("openai", "gpt-5", "own", "test", tenant="acme"),
            Alias("openai", "gpt-4", "gpt-4", "test"),
        ],
        {},
        {},
    )
    assert found.model("openai", "gpt-5-2025-08-07") == "own"
    assert found.models("openai", "gpt-5-2025-08-07") == (
        ("own", "without date", "gpt-5"),
        ("dated", "exact", "gpt-5-2025-08-07"),
    )
    assert found.models("openai", "GPT-4-20251399") == (None, None)
    assert found.models("openai", "gpt-4-20240613") == (None, ("gpt-4", "without date", "gpt-4"))


def test_the_beginning_of_a_name_is_a_region_only_where_data_says_so() -> None:
    found = Names(
        [Alias("aws", "anthropic.claude-x", "x", "test"), Alias("google", "claude-x", "x", "test")],
        {},
        {},
        prefixes={("aws", "eu"): "eu"},
    )
    assert found.models("aws", "eu.anthropic.claude-x") == (None, ("x", "exact, without region", "anthropic.claude-x"))
    assert found.models("aws", "eu.anthropic.claude-x-20260101")[1] == (
        "x",
        "without region and date",
        "anthropic.claude-x",
    )
    assert found.model("aws", "sa.anthropic.claude-x") is None
    assert found.model("google", "eu.claude-x") is None


def test_a_region_in_the_name_wins_over_the_one_logged() -> None:
    found = Names(
        [Alias("aws", "m", "m", "test")],
        {},
        {},
        regions={("azure", "east us"): "eastus"},
        prefixes={("aws", "us"): "us"},
    )
    assert found.region("aws", "us.m", "eu-west-2") == "us"
    assert found.region("aws", "m", "EU-West-2") == "eu-west-2"
    assert found.region("azure", "m", "East US") == "eastus"
    assert found.region("azure", "m", None) is None
