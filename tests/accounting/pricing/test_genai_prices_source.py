"""Are genai-prices' conditional prices taken over as dated rows, and is nothing dropped in silence?"""

from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any

import pytest
from genai_prices.types import (
    ClauseEquals,
    ConditionalPrice,
    ModelInfo,
    ModelPrice,
    PriceVariant,
    StartDateConstraint,
    Tier,
    TieredPrices,
    TimeOfDateConstraint,
)

from accounting.errors import PriceBookError
from accounting.pricing.data_files import overlay_prices, reviewed_aliases
from accounting.pricing.genai_prices_keys import Findings, class_prices
from accounting.pricing.genai_prices_rows import Cell, cells
from accounting.pricing.genai_prices_source import load_list_tariffs

JUNE = StartDateConstraint(date(2026, 6, 1))
JULY = StartDateConstraint(date(2026, 7, 1))


def usd(**prices: Any) -> ModelPrice:
    return ModelPrice(**{key: Decimal(price) if isinstance(price, str) else price for key, price in prices.items()})


def model(*prices: ConditionalPrice, variants: list[PriceVariant] | None = None) -> ModelInfo:
    return ModelInfo(id="m", match=ClauseEquals("m"), prices=list(prices), price_variants=variants)


def laid_out(info: ModelInfo, findings: Findings | None = None) -> list[tuple[Any, ...]]:
    """Tier, first day, last day, window and input price of each cell."""
    return [shown(cell) for cell in cells("s", info, findings or Findings())]


def shown(cell: Cell) -> tuple[Any, ...]:
    days = [moment and moment.date().isoformat() for moment in (cell.start, cell.end)]
    window = cell.window and tuple(at.isoformat("minutes") for at in cell.window)
    return (cell.service_tier, *days, window, str(cell.prices["input_mtok"]))


def test_a_price_without_start_is_open_at_the_start_and_ends_where_the_next_begins() -> None:
    info = model(ConditionalPrice(prices=usd(input_mtok="10")), ConditionalPrice(JUNE, prices=usd(input_mtok="2")))
    assert laid_out(info) == [
        ("default", None, "2026-06-01", None, "10"),
        ("default", "2026-06-01", None, None, "2"),
    ]


def test_a_first_price_with_a_start_date_does_not_hold_before_it() -> None:
    assert laid_out(model(ConditionalPrice(JUNE, prices=usd(input_mtok="2")))) == [
        ("default", "2026-06-01", None, None, "2")
    ]


def test_the_last_active_price_wins_whatever_its_date() -> None:
    info = model(
        ConditionalPrice(prices=usd(input_mtok="1")),
        ConditionalPrice(JULY, prices=usd(input_mtok="3")),
        ConditionalPrice(JUNE, prices=usd(input_mtok="2")),
    )
    assert laid_out(info) == [
        ("default", None, "2026-06-01", None, "1"),
        ("default", "2026-06-01", None, None, "2"),
    ]


def test_equal_prices_on_both_sides_of_a_date_are_one_row() -> None:
    info = model(ConditionalPrice(prices=usd(input_mtok="2")), ConditionalPrice(JUNE, prices=usd(input_mtok="2.0")))
    assert laid_out(info) == [("default", None, None, None, "2")]


def test_windows_cover_the_whole_day_and_may_wrap_midnight() -> None:
    peak = TimeOfDateConstraint(time(1, tzinfo=UTC), time(4, tzinfo=UTC))
    info = model(ConditionalPrice(prices=usd(input_mtok="1")), ConditionalPrice(peak, prices=usd(input_mtok="2")))
    assert laid_out(info) == [
        ("default", None, None, ("01:00", "04:00"), "2"),
        ("default", None, None, ("04:00", "01:00"), "1"),
    ]


def test_an_override_completes_the_standard_prices_of_its_moment() -> None:
    batch = PriceVariant({"processing": "batch"}, usd(input_mtok="0.5"), JULY)
    info = model(
        ConditionalPrice(prices=usd(input_mtok="10", output_mtok="40")),
        ConditionalPrice(JUNE, prices=usd(input_mtok="2", output_mtok="8")),
        variants=[batch],
    )
    found = [cell for cell in cells("s", info, Findings()) if cell.service_tier == "batch"]
    assert [shown(cell) for cell in found] == [("batch", "2026-07-01", None, None, "0.5")]
    assert found[0].prices["output_mtok"] == Decimal(8)


def test_of_two_active_overrides_the_first_wins() -> None:
    variants = [
        PriceVariant({"speed": "fast"}, usd(input_mtok="7"), JULY),
        PriceVariant({"speed": "fast"}, usd(input_mtok="6")),
    ]
    info = model(ConditionalPrice(prices=usd(input_mtok="2")), variants=variants)
    assert laid_out(info)[1:] == [
        ("fast", None, "2026-07-01", None, "6"),
        ("fast", "2026-07-01", None, None, "7"),
    ]


def test_a_condition_that_no_event_carries_is_listed_and_left_out() -> None:
    findings = Findings()
    info = model(
        ConditionalPrice(prices=usd(input_mtok="2")), variants=[PriceVariant({"route": "eu"}, usd(input_mtok="3"))]
    )
    assert laid_out(info, findings) == [("default", None, None, None, "2")]
    assert findings.skipped_variants == {("s", "m", "route=eu")}


def test_a_default_tier_with_prices_of_its_own_is_refused() -> None:
    info = model(
        ConditionalPrice(prices=usd(input_mtok="2")),
        variants=[PriceVariant({"service_tier": "default"}, usd(input_mtok="3"))],
    )
    with pytest.raises(PriceBookError, match="default tier"):
        laid_out(info)


def test_keys_with_different_thresholds_are_priced_each_at_its_own() -> None:
    prices = {
        "input_mtok": TieredPrices(Decimal(1), [Tier(100, Decimal(2)), Tier(500, Decimal(3))]),
        "output_mtok": TieredPrices(Decimal(10), [Tier(200, Decimal(20))]),
    }
    found = [class_prices("s", "m", prices, threshold, (), Findings()).texts for threshold in (0, 100, 200, 500)]
    assert [(row["uncached_input"], row["output"]) for row in found] == [
        ("1", "10"),
        ("2", "10"),
        ("2", "20"),
        ("3", "20"),
    ]


def test_an_unknown_price_key_withholds_everything() -> None:
    findings = Findings()
    prices = {"input_mtok": Decimal(1), "input_smell_mtok": Decimal(2)}
    assert class_prices("s", "m", prices, 0, (), findings).prices == {}
    assert findings.withheld == {("s", "m", "*", "input_smell_mtok")}


def test_the_overlay_fills_only_what_the_source_leaves_out() -> None:
    found = class_prices("openrouter", "x:free", {"input_mtok": Decimal(1)}, 0, overlay_prices(), Findings())
    assert found.prices == {"uncached_input": 1_000_000_000, "output": 0}


def test_what_the_package_could_not_give_us_is_all_named() -> None:
    rows, names, summary = load_list_tariffs()
    findings = summary.findings
    assert (summary.source, summary.source_version) == ("genai-prices", "0.2.3")
    assert (summary.rows, summary.aliases) == (len(rows), len(names))
    assert summary.rows > 3_000
    assert findings.unsupported_keys.keys() == {
        "audio_hours",
        "cache_image_read_mtok",
        "input_annotated_document_kpages",
        "input_audio_hours",
        "input_document_kpages",
        "input_mchars",
        "input_text_messages_kcount",
        "output_citation_mtok",
        "output_video_mtok",
        "storage_searches_kcount",
    }
    assert {(seller, key, text) for seller, _, key, text in findings.normalised} == {
        ("huggingface_together", "input_mtok", "0.18000000000000002"),
        ("huggingface_together", "input_mtok", "0.13999999999999999"),
        ("huggingface_together", "output_mtok", "0.27999999999999997"),
        ("huggingface_together", "input_mtok", "1.0399999999999998"),
        ("huggingface_together", "output_mtok", "1.0399999999999998"),
    }
    assert {condition for _, _, condition in findings.skipped_variants} == {
        "route=mistral/eu",
        "search_type=fast",
        "search_type=web",
    }
    assert ("openai", "whisper-1") in findings.unpriced_models
    twelfths = {model for seller, model, token_class, why in findings.withheld if "9 decimals" in why}
    assert "google/gemini-2.5-flash" in twelfths
    assert all(model.startswith(("google/", "~google/")) for model in twelfths)


def test_a_price_with_float_noise_keeps_the_text_of_the_source() -> None:
    rows = [row for row in load_list_tariffs()[0] if row.model == "Qwen/Qwen3-VL-8B-Instruct"]
    noisy = next(row for row in rows if row.seller == "huggingface_together")
    assert noisy.prices["uncached_input"] == 180_000_000
    assert noisy.price_texts["uncached_input"] == "0.18000000000000002"


def test_every_row_says_where_it_comes_from() -> None:
    rows, names, _ = load_list_tariffs()
    assert {row.source_version for row in rows} == {"0.2.3"}
    assert all(row.source.startswith("genai-prices") for row in rows)
    assert all(name.source for name in names)


def test_rows_of_one_model_follow_each_other_without_a_gap() -> None:
    rows = [row for row in load_list_tariffs()[0] if (row.seller, row.model) == ("deepseek", "deepseek-v4-flash")]
    spans = sorted({(row.effective_from or datetime.min.replace(tzinfo=UTC), row.effective_until) for row in rows})
    assert [end for _, end in spans[:-1]] == [start for start, _ in spans[1:]]
    assert spans[-1][1] is None


def test_borrowed_models_have_rows_of_their_own_at_the_standard_tier() -> None:
    rows = [row for row in load_list_tariffs()[0] if (row.seller, row.model) == ("azure", "gpt-5")]
    assert {row.service_tier for row in rows} == {"default"}
    assert {row.source for row in rows} == {"genai-prices: price of openai"}


def test_reviewed_names_are_names_of_models_that_exist() -> None:
    rows, _, _ = load_list_tariffs()
    models = {(row.seller, row.model) for row in rows}
    assert [alias for alias in reviewed_aliases() if (alias.seller, alias.model) not in models] == []


def test_the_import_is_the_same_every_time() -> None:
    first, second = load_list_tariffs(), load_list_tariffs()
    assert [row.sku_price_id for row in first[0]] == [row.sku_price_id for row in second[0]]
    assert first[1] == second[1]
