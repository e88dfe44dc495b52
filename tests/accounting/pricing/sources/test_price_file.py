"""Does a file of our own become rows as a person wrote them, and is a mistake told by line, field and value?"""

from __future__ import annotations

from datetime import UTC, date, datetime

import pytest

from accounting.errors import InvalidInput
from accounting.pricing.sources.price_file import read_file, template

CSV = """seller,model,effective_from,service_tier,above_input_tokens,uncached_input,output,web_search,also_known_as
acme,chat-2,2026-01-01T00:00:00+01:00,,,2.50,10,7,chat2 Chat-Two
acme,chat-2,2026-01-01T00:00:00+01:00,,200000,5,15,7,
acme,chat-2,,batch,,1.25,5,,
"""


def test_a_line_is_a_row_with_its_conditions() -> None:
    statement = read_file(CSV.encode(), "csv", "ours")
    base, above, batch = statement.rows
    assert base.prices == {"output": 10_000_000_000, "uncached_input": 2_500_000_000, "web_search": 7_000_000_000_000}
    assert base.price_texts["uncached_input"] == "2.50"
    assert base.effective_from == datetime(2025, 12, 31, 23, tzinfo=UTC)
    assert (above.above_input_tokens, above.operator) == (200_000, ">")
    assert (batch.service_tier, batch.effective_from, batch.source, batch.source_version) == (
        "batch",
        None,
        "csv",
        "ours",
    )
    assert not statement.whole


def test_further_names_are_exact_names_of_the_model() -> None:
    names = {one.alias: one.model for one in read_file(CSV.encode(), "csv", "ours").aliases}
    assert names == {"chat-2": "chat-2", "chat2": "chat-2", "chat-two": "chat-2"}


@pytest.mark.parametrize(
    "text",
    [
        "- {seller: acme, model: m, uncached_input: 0.1, output: 3, effective_from: 2026-01-01}",
        '[{"seller": "acme", "model": "m", "uncached_input": 0.1, "output": 3, "effective_from": "2026-01-01"}]',
        "prices:\n- seller: acme\n  model: m\n  uncached_input: 0.1\n  output: 3\n  effective_from: 2026-01-01\n",
    ],
)
def test_yaml_and_json_are_read_as_they_are_written(text: str) -> None:
    (row,) = read_file(text.encode(), "yaml", "v").rows
    assert row.prices == {"output": 3_000_000_000, "uncached_input": 100_000_000}
    assert (row.price_texts["uncached_input"], row.effective_from) == ("0.1", datetime(2026, 1, 1, tzinfo=UTC))


@pytest.mark.parametrize("kind", ["csv", "yaml"])
def test_the_template_is_a_file_that_can_be_read(kind: str) -> None:
    (row,) = read_file(template(kind).encode(), kind, "template").rows
    assert (row.seller, row.model, row.checked_on) == ("acme", "acme-chat-2", date(2026, 1, 5))
    assert row.prices == {"cache_read": 200_000_000, "output": 6_000_000_000, "uncached_input": 2_000_000_000}


@pytest.mark.parametrize(
    ("line", "field", "value"),
    [
        ("acme,m,-1", "line 2: output", "-1"),
        ("acme,m,NaN", "line 2: output", "NaN"),
        ("acme,m,1e-6", "line 2: output", "1e-6"),
        ("acme,m,0.00000000012", "line 2: output", "0.00000000012"),
        (",m,1", "line 2: seller", None),
        ("acme,m,1,2", "line 2", ["2"]),
    ],
)
def test_a_bad_line_is_refused_by_line_field_and_value(line: str, field: str, value: object) -> None:
    with pytest.raises(InvalidInput) as refused:
        read_file(f"seller,model,output\n{line}\n".encode(), "csv", "v")
    assert (refused.value.field, refused.value.value) == (field, value)


def test_an_unknown_field_is_refused() -> None:
    with pytest.raises(InvalidInput, match="line 2: ouput='3'"):
        read_file(b"seller,model,ouput\nacme,m,3\n", "csv", "v")


@pytest.mark.parametrize("content", [b"\xff\xfe\x00", b"{a: [", b"text"])
def test_what_is_no_price_file_is_refused(content: bytes) -> None:
    with pytest.raises(InvalidInput):
        read_file(content, "yaml", "v")
