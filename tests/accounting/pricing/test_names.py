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


def test_a_tenants_name_does_not_enter_a_list_price_book() -> None:
    with pytest.raises(PriceBookError, match="acme"):
        Names([Alias("openai", "gpt-5", "gpt-5", "test", tenant="acme")], {}, {})
