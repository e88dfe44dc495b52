"""How do exchange rates get into their table and out again? Published ones in, append-only; a table of rates out."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal

import psycopg
from sqlalchemy import Connection, Engine, text

from accounting.errors import InvalidInput
from accounting.money import format_plain
from accounting.pricing.currency import MOST_DAYS_BACK, Rate, RateTable, ReferenceRate
from accounting.pricing.currency_codes import currency_code
from accounting.storage.engine import NO_TENANT, reaching, read_only

_COLUMNS = "rate_date, currency, per_eur, source, source_version"
_NEW = "CREATE TEMP TABLE new_fx_rates (LIKE fx_rates INCLUDING DEFAULTS) ON COMMIT DROP"
# Of each day and currency the newest row is what was last stated; only what differs from it is news.
_APPEND = f"""
INSERT INTO fx_rates ({_COLUMNS})
SELECT {_COLUMNS} FROM new_fx_rates AS new
WHERE NOT EXISTS (
  SELECT FROM fx_rates AS old
  WHERE old.tenant IS NULL AND old.currency = new.currency AND old.rate_date = new.rate_date AND old.per_eur = new.per_eur
    AND NOT EXISTS (SELECT FROM fx_rates AS later WHERE later.tenant IS NULL AND later.currency = old.currency
                    AND later.rate_date = old.rate_date AND later.recorded_at > old.recorded_at))
RETURNING (SELECT true FROM fx_rates AS old WHERE old.tenant IS NULL AND old.currency = fx_rates.currency
           AND old.rate_date = fx_rates.rate_date LIMIT 1) IS NOT NULL AS restated
"""
_READ = text(
    f"""
    SELECT DISTINCT ON (currency, rate_date) {_COLUMNS} FROM fx_rates
    WHERE tenant IS NULL AND currency = ANY(:currencies) AND rate_date >= :since AND rate_date < :until
    ORDER BY currency, rate_date, recorded_at DESC
    """
)


@dataclass(frozen=True)
class Imported:
    """What an import did. Attributes: read: rates in the file; new: rows added; restated: those of them that change a rate known before."""

    read: int
    new: int
    restated: int
    first: date | None
    last: date | None


def import_rates(owner_engine: Engine, rates: Sequence[ReferenceRate]) -> Imported:
    """Appends the rates that are not known yet or are stated anew; again with the same rates it adds nothing."""
    with reaching(), owner_engine.begin() as connection:
        connection.execute(text(_NEW))
        _copy(connection, rates)
        restated = [row.restated for row in connection.execute(text(_APPEND))]
    days = [rate.rate_date for rate in rates]
    return Imported(len(rates), len(restated), sum(restated), min(days, default=None), max(days, default=None))


def read_rates(connection: Connection, currencies: Iterable[str], first: date, last: date) -> RateTable:
    """What a RateTable needs to convert among these currencies on the days from `first` to `last`, as known now."""
    asked = {
        "currencies": sorted(currencies),
        "since": first - timedelta(days=MOST_DAYS_BACK),
        "until": last + timedelta(days=1),
    }
    rows = connection.execute(_READ, asked)
    return RateTable(
        ReferenceRate(row.currency, row.rate_date, Decimal(row.per_eur), row.source, row.source_version) for row in rows
    )


def rate_on(engine: Engine, from_currency: str, to_currency: str, on: date) -> Rate:
    """The rate of a day by the stated rule. Raises InvalidInput for what is no currency or no day that could have one, MissingRate
    for a day without a rate."""
    pair = currency_code(from_currency, "from"), currency_code(to_currency, "to")
    if not 1970 <= on.year < 2200:
        raise InvalidInput("on", on.isoformat(), "a year from 1970 to before 2200 is expected")
    with read_only(engine, NO_TENANT) as connection:
        return read_rates(connection, pair, on, on).rate(*pair, on)


def _copy(connection: Connection, rates: Iterable[ReferenceRate]) -> None:
    raw = connection.connection.driver_connection
    assert isinstance(raw, psycopg.Connection)
    with raw.cursor() as cursor, cursor.copy(f"COPY new_fx_rates ({_COLUMNS}) FROM STDIN") as copy:
        for rate in rates:
            stated = format_plain(rate.per_eur)
            copy.write_row((rate.rate_date, rate.currency, stated, rate.source, rate.source_version))
