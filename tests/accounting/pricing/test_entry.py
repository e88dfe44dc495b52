"""Is a typed-in price refused where it can't be right, with field, value and reason, and taken as it stands where it can?"""

from __future__ import annotations

from datetime import UTC, date, datetime, time
from typing import Any

import pytest

from accounting.errors import InvalidInput
from accounting.pricing.entry import tariff_from_entry
from accounting.pricing.tariff import Tariff
from tests.accounting.pricing.rating import list_book

ENTRY = {"seller": "openai", "model": "gpt-5", "uncached_input": "1.25", "output": "10", "web_search": "10"}
SIBLINGS = [
    Tariff(
        seller="openai", model="gpt-5", prices={"uncached_input": 1_250_000_000, "output": 10_000_000_000}, source="a"
    ),
    Tariff(seller="openai", model="nano", prices={"uncached_input": 50_000_000}, source="a"),
    Tariff(seller="openai", model="pro", prices={"uncached_input": 150_000_000_000}, source="a"),
    Tariff(seller="azure", model="GPT-6", prices={"uncached_input": 2_000_000_000}, source="b"),
]


def test_every_field_of_a_row_can_be_typed_in() -> None:
    row = tariff_from_entry(
        ENTRY
        | {
            "surface": "responses",
            "region": "eu",
            "service_tier": "flex",
            "above_input_tokens": "200_000",
            "operator": ">=",
            "decided_by": "output",
            "window_start": "16:30",
            "window_end": "00:30",
            "effective_from": "2026-03-13",
            "effective_until": "2026-04-01T00:00:00+02:00",
            "currency": "EUR",
            "source": "invoice",
            "source_version": "7",
            "checked_on": "2026-03-14",
            "created_by": "ann",
            "cache_read": "",
        },
        tenant="acme",
    )
    assert dict(row.prices) == {
        "output": 10_000_000_000,
        "uncached_input": 1_250_000_000,
        "web_search": 10_000_000_000_000,
    }
    assert dict(row.price_texts) == {"output": "10", "uncached_input": "1.25", "web_search": "10"}
    assert row.fallbacks["cache_read"] == "uncached_input"
    assert (row.tenant, row.surface, row.region, row.service_tier) == ("acme", "responses", "eu", "flex")
    assert (row.above_input_tokens, row.operator, row.decided_by) == (200_000, ">=", "output")
    assert (row.window_start, row.window_end) == (time(16, 30), time(0, 30))
    assert (row.effective_from, row.effective_until) == (
        datetime(2026, 3, 13, tzinfo=UTC),
        datetime(2026, 3, 31, 22, tzinfo=UTC),
    )
    assert (row.currency, row.source, row.source_version, row.created_by) == ("EUR", "invoice", "7", "ann")
    assert row.checked_on == date(2026, 3, 14)


def test_float_noise_is_taken_off_and_the_text_is_kept() -> None:
    row = tariff_from_entry(ENTRY | {"uncached_input": "0.18000000000000002"})
    assert (row.prices["uncached_input"], row.price_texts["uncached_input"]) == (180_000_000, "0.18000000000000002")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"uncached_input": "-636.385"}, "uncached_input='-636.385': a unit price can't be negative"),
        ({"uncached_input": "nan"}, "uncached_input='nan': a plain decimal"),
        ({"uncached_input": "inf"}, "uncached_input='inf': a plain decimal"),
        ({"uncached_input": "1e-6"}, "uncached_input='1e-6': a plain decimal"),
        ({"uncached_input": "1,25"}, "uncached_input='1,25': a plain decimal"),
        ({"uncached_input": "0.0000000001"}, "uncached_input='0.0000000001': more than 9 decimals"),
        ({"uncached_input": "0.08333333333333"}, "uncached_input='0.08333333333333': more than 9 decimals"),
        ({"uncached_input": 1.25}, r"uncached_input=1\.25: float is not text"),
        ({"input": "1.25"}, "input='1.25': no field of a price row"),
        ({"vendor": "openai"}, "vendor='openai': no field of a price row"),
        ({"seller": None}, "seller=None: a price row names its seller"),
        ({"seller": "bedrock"}, "seller='bedrock': price rows call it 'aws'"),
        ({"seller": "OpenAI"}, "seller='OpenAI': price rows call it 'openai'"),
        ({"service_tier": "standard"}, "service_tier='standard': price rows call it 'default'"),
        ({"service_tier": "Flex"}, "service_tier='Flex': price rows call it 'flex'"),
        ({"currency": "$"}, r"currency='\$': no such currency"),
        ({"currency": "ZZZ"}, "currency='ZZZ': no such currency"),
        ({"model": "gpt\x005"}, r"model='gpt.x005': holds a character"),
        ({"surface": "\ud800"}, r"surface='.ud800': holds a character"),
        ({"above_input_tokens": "9223372036854775808"}, "above_input_tokens='9223372036854775808': .* 12 digits"),
        ({"above_input_tokens": "200k"}, "above_input_tokens='200k': a whole number"),
        ({"operator": "<"}, "row='openai/gpt-5': .*is no condition"),
        ({"decided_by": "output"}, "decided_by 'output' is no condition of a row above 0 tokens"),
        ({"window_start": "16:30"}, "a window needs a start and an end"),
        ({"window_start": "4pm"}, "window_start='4pm': a UTC time of day"),
        ({"effective_from": "2026-02-30"}, "effective_from='2026-02-30': a day"),
        ({"effective_from": "2026-03-13T00:00:00"}, "an instant with its zone"),
        ({"effective_from": "0001-01-01T00:00:00+14:00"}, "lies beyond the calendar"),
        ({"checked_on": "March"}, "checked_on='March': a day"),
        ({"uncached_input": None, "output": None, "web_search": None}, "prices=None: no price at all"),
    ],
)
def test_what_can_not_be_a_price_row_is_refused_by_name(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        tariff_from_entry(ENTRY | changes)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"uncached_input": "0.00000125"}, "'0.00000125': 1,000 times or more below 1.25 of openai/gpt-5"),
        ({"uncached_input": "0.00125"}, "'0.00125': 1,000 times or more below 1.25"),
        ({"output": "10000"}, "output='10000': 1,000 times or more above 10 of openai/gpt-5"),
        ({"model": "gpt-6", "uncached_input": "0.002"}, "below 2 of azure/GPT-6"),
        ({"model": "new", "uncached_input": "0.00005"}, "below 0.05 of openai/nano"),
        ({"model": "new", "uncached_input": "150000"}, "above 150 of openai/pro"),
        # Of a seller and a model that nobody knows: the middle of all prices decides.
        ({"seller": "elsewhere", "model": "other", "uncached_input": "0.000002"}, "1,000 times or more below"),
    ],
)
def test_a_price_for_another_number_of_tokens_is_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        tariff_from_entry(ENTRY | changes, SIBLINGS)


@pytest.mark.parametrize(
    "changes",
    [
        {"uncached_input": "0.001250001"},
        {"uncached_input": "0"},
        {"output": "9999.99"},
        {"model": "new", "uncached_input": "0.0001"},
        {"currency": "KRW", "uncached_input": "1740", "output": "13900"},
        {"seller": "elsewhere", "model": "other", "uncached_input": "0.003"},
    ],
)
def test_a_price_within_three_orders_of_its_siblings_stands(changes: dict[str, Any]) -> None:
    assert tariff_from_entry(ENTRY | changes, SIBLINGS).seller in ("openai", "elsewhere")


def test_no_list_price_of_today_would_be_refused_beside_the_others() -> None:
    """The rule must not fire on what sellers really charge: every row of the list is typed in beside all others."""
    rows = list_book().rows
    by_seller: dict[str, list[Tariff]] = {}
    for row in rows:
        by_seller.setdefault(row.seller, []).append(row)
    refused = []
    for row in rows:
        entry = {"seller": row.seller, "model": row.model, **row.price_texts}
        try:
            others = [one for one in by_seller[row.seller] if one is not row]
            tariff_from_entry(entry, others or [one for one in rows if one is not row])
        except InvalidInput as error:
            refused.append(str(error))
    assert refused == []


def test_a_seller_that_nobody_knows_is_measured_by_the_middle_of_all_prices() -> None:
    """0.001, 1 and 1,000 are listed: 2 is twice the middle one, 1,000 is a thousand times it."""
    listed = [
        Tariff(seller=f"s{price}", model="x", prices={"uncached_input": price * 1_000_000}, source="a")
        for price in (1, 1_000, 1_000_000)
    ]
    entry = {"seller": "new", "model": "y", "uncached_input": "2"}
    assert tariff_from_entry(entry, listed).prices == {"uncached_input": 2_000_000_000}
    with pytest.raises(InvalidInput, match="1,000 times or more above 1 of s1000/x"):
        tariff_from_entry(entry | {"uncached_input": "1000"}, listed)
