"""What is believed of each price row and each name at a moment, and how is something new said about them?

A row's content never changes. Whether it is in force, until when, and who says so are records beside it, each with the moment at which
it was written down; of a row and a source the newest record of a moment is what was believed then.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import Connection, text

from accounting.errors import InvalidInput
from accounting.pricing.layering import STATED, WITHDRAWN, HeldName, HeldRow
from accounting.pricing.tariff import Alias, Tariff
from accounting.storage.price_rows import CONTENT, Price, copy_rows, read_prices, tariff_of, write_content

EVER = datetime(9999, 12, 31, tzinfo=UTC)
"""Known at no stated moment: everything recorded so far."""

_RECORD_COLUMNS = (
    "tenant, sku_price_id, list_source, state, effective_until, source, source_version, checked_on, created_by, approved_by, "
    "import_id, recorded_at"
)
_NEWEST = """
    SELECT DISTINCT ON (sku_price_id, list_source) * FROM tariff_records
    WHERE recorded_at <= :known_at ORDER BY sku_price_id, list_source, recorded_at DESC, record_id DESC
"""
_CONTENT = ", ".join(
    f"t.{name}" for name in CONTENT if name not in ("effective_until", "source", "source_version", "checked_on")
)
_BELIEVED = f"""
    SELECT {_CONTENT}, r.effective_until, r.source, r.source_version, r.checked_on, r.created_by, r.approved_by, r.list_source,
           r.state, r.record_id
    FROM ({_NEWEST}) r JOIN tariffs t USING (sku_price_id)
    WHERE r.state <> '{WITHDRAWN}' AND (CAST(:every AS boolean) OR r.list_source = ANY(:sources))
      AND NOT (r.list_source = ANY(:without))
      AND (CAST(:every_model AS boolean) OR t.model = ANY(:models)) AND (CAST(:every_state AS boolean) OR r.state = ANY(:states))
      AND (CAST(:seller AS text) IS NULL OR t.seller = :seller) AND (CAST(:every_id AS boolean) OR t.sku_price_id = ANY(:ids))
      AND (r.effective_until IS NULL OR NOT CAST(:open_only AS boolean))
    ORDER BY t.sku_price_id, r.list_source
"""
_NAMES = text(
    """
    SELECT tenant, seller, alias, model, source, checked_on, list_source FROM tariff_aliases
    WHERE recorded_at <= :known_at AND (recorded_until IS NULL OR recorded_until > :known_at)
    ORDER BY tenant, seller, alias
    """
)
# A statement that repeats the newest one word for word adds nothing.
_MERGE_RECORDS = f"""
INSERT INTO tariff_records ({_RECORD_COLUMNS})
SELECT {_RECORD_COLUMNS} FROM new_tariff_records AS new
WHERE NOT EXISTS (
  SELECT FROM ({_NEWEST}) old WHERE old.sku_price_id = new.sku_price_id AND old.list_source = new.list_source
    AND (old.state, old.effective_until, old.source, old.source_version, old.checked_on, old.approved_by)
      IS NOT DISTINCT FROM (new.state, new.effective_until, new.source, new.source_version, new.checked_on, new.approved_by))
"""
_ALIAS_COLUMNS = "tenant, seller, alias, model_seller, model, source, checked_on, list_source, created_by, recorded_at"
_SAME_NAME = (
    "new.seller = old.seller AND new.alias = old.alias AND new.list_source = old.list_source "
    "AND new.tenant IS NOT DISTINCT FROM old.tenant"
)
_CLOSE_OTHERS = text(
    f"""
    UPDATE tariff_aliases AS old SET recorded_until = :at
    WHERE recorded_until IS NULL AND list_source = :source AND tenant IS NOT DISTINCT FROM CAST(:tenant AS text)
      AND NOT EXISTS (SELECT FROM new_tariff_aliases new WHERE {_SAME_NAME})
    """
)
_CLOSE_CHANGED = text(
    f"""
    UPDATE tariff_aliases AS old SET recorded_until = :at FROM new_tariff_aliases AS new
    WHERE old.recorded_until IS NULL AND {_SAME_NAME}
      AND (old.model_seller, old.model, old.source, old.checked_on)
        IS DISTINCT FROM (new.model_seller, new.model, new.source, new.checked_on)
    """
)
_MERGE_ALIASES = text(
    f"""
    INSERT INTO tariff_aliases ({_ALIAS_COLUMNS}) SELECT {_ALIAS_COLUMNS} FROM new_tariff_aliases AS new
    WHERE NOT EXISTS (SELECT FROM tariff_aliases old WHERE old.recorded_until IS NULL AND {_SAME_NAME})
    """
)


@dataclass(frozen=True)
class Said:
    """One statement about a row, to be recorded.

    Attributes:
        row: with the end of validity, source, version and approval that the statement gives it.
        state: see layering.py.
    """

    row: Tariff
    list_source: str
    state: str = STATED


def believed(
    connection: Connection,
    known_at: datetime | None = None,
    sources: Sequence[str] | None = None,
    *,
    without: Sequence[str] = (),
    models: Sequence[str] | None = None,
    seller: str | None = None,
    states: Sequence[str] | None = None,
    ids: Sequence[int] | None = None,
    open_only: bool = False,
) -> list[HeldRow]:
    """Rows that are not withdrawn, as believed at a moment, in the order of their ids.

    Args:
        sources: only of these; None: of all but those in `without`.
        models, seller, states, ids: only of these, as the sources name them; None: of all.
        open_only: only rows without an end.
    """
    parameters = {
        "known_at": known_at or EVER,
        "every": sources is None,
        "sources": list(sources or ()),
        "without": list(without),
        "every_model": models is None,
        "models": list(models or ()),
        "seller": seller,
        "every_state": states is None,
        "states": list(states or ()),
        "every_id": ids is None,
        "ids": list(ids or ()),
        "open_only": open_only,
    }
    rows = connection.execute(text(_BELIEVED), parameters).all()
    whole = not open_only and all(one is None for one in (sources, models, seller, states, ids))
    prices = read_prices(connection, None if whole else [row.sku_price_id for row in rows])
    return [HeldRow(_tariff(row, prices), row.list_source, row.state, row.record_id) for row in rows]


def spoken(connection: Connection, known_at: datetime | None = None) -> list[HeldName]:
    """Names as believed at a moment, of all tenants that are visible and of the list."""
    rows = connection.execute(_NAMES, {"known_at": known_at or EVER})
    return [
        HeldName(Alias(row.seller, row.alias, row.model, row.source, row.checked_on, row.tenant), row.list_source)
        for row in rows
    ]


def refuse_unknown_past(connection: Connection, known_at: datetime | None) -> None:
    """Raises InvalidInput where nothing was recorded yet: an empty book would look as if nothing had a price."""
    if known_at is None:
        return
    first = connection.execute(text("SELECT min(recorded_at) FROM tariff_records")).scalar_one()
    if first is None or known_at < first:
        raise InvalidInput("known_at", known_at.isoformat(), f"no price was recorded before {first}")


def say(
    connection: Connection, statements: Iterable[Said], at: datetime, import_id: int | None = None
) -> tuple[int, int]:
    """Adds rows that are new and records what is said of each; returns the numbers of new rows and records.

    Repetitions are left out.
    """
    every = list(statements)
    if not every:
        return 0, 0
    made = write_content(connection, (one.row for one in every))
    copy_rows(
        connection,
        "tariff_records",
        _RECORD_COLUMNS,
        (
            (
                one.row.tenant,
                one.row.sku_price_id,
                one.list_source,
                one.state,
                one.row.effective_until,
                one.row.source,
                one.row.source_version,
                one.row.checked_on,
                one.row.created_by,
                one.row.approved_by,
                import_id,
                at,
            )
            for one in every
        ),
    )
    return made, connection.execute(text(_MERGE_RECORDS), {"known_at": EVER}).rowcount


def name_models(
    connection: Connection,
    aliases: Iterable[Alias],
    list_source: str,
    at: datetime,
    *,
    created_by: str | None = None,
    whole: bool = False,
) -> int:
    """Records names of one source; returns how many names changed, came or went.

    A name that means another model from now on ends as what it was; `whole`: so do names that are not given.
    """
    changed = 0
    every = list(aliases)
    copy_rows(
        connection,
        "tariff_aliases",
        _ALIAS_COLUMNS,
        (
            (a.tenant, a.seller, a.alias, a.seller, a.model, a.source, a.checked_on, list_source, created_by, at)
            for a in every
        ),
    )
    if whole:
        changed += connection.execute(_CLOSE_OTHERS, {"at": at, "source": list_source, "tenant": None}).rowcount
    changed += connection.execute(_CLOSE_CHANGED, {"at": at}).rowcount
    return changed + connection.execute(_MERGE_ALIASES).rowcount


def _tariff(row: Any, prices: dict[int, list[Price]]) -> Tariff:
    return tariff_of(
        row,
        prices.get(row.sku_price_id, []),
        effective_from=_utc(row.effective_from),
        effective_until=_utc(row.effective_until),
        created_by=row.created_by,
        approved_by=row.approved_by,
    )


def _utc(moment: datetime | None) -> datetime | None:
    return None if moment is None else moment.astimezone(UTC)
