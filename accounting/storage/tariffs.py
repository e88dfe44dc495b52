"""Which price book holds for a tenant, now or as known at a moment? List and contract as two compiled books."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from functools import lru_cache
from typing import NamedTuple

from sqlalchemy import Connection, Engine, text

from accounting.pricing.book import PriceBook
from accounting.pricing.contracted import contracted_rows
from accounting.pricing.genai_prices_source import SOURCE, load_list_tariffs
from accounting.pricing.layering import (
    STATED,
    WITHDRAWN,
    HeldName,
    HeldRow,
    Listed,
    in_force,
    known_names,
    meaning,
    rank,
)
from accounting.pricing.tariff import Alias, Tariff
from accounting.storage import audit, contracts
from accounting.storage.engine import NO_TENANT, reaching, read_only, transaction
from accounting.storage.price_records import Said, believed, name_models, refuse_unknown_past, say, spoken
from accounting.storage.price_rows import write_content

_DECIDED = text(
    "SELECT DISTINCT t.seller, t.model FROM tariff_records r JOIN tariffs t USING (sku_price_id) "
    "WHERE r.tenant IS NULL AND r.approved_by IS NOT NULL"
)


class Layers(NamedTuple):
    """The books of a tenant. contract_book: None where no contract and no row of its own changes the list."""

    list_book: PriceBook
    contract_book: PriceBook | None

    @property
    def book(self) -> PriceBook:
        """What the tenant pays by: the contract's book, else the list."""
        return self.contract_book or self.list_book


class Held(NamedTuple):
    """Everything that decides a tenant's prices, as believed at one moment."""

    rows: list[HeldRow]
    names: list[HeldName]


def seed_list_tariffs(owner_engine: Engine) -> int:
    """Writes the list tariffs and names of the installed price source; returns how many tariff rows were new.

    Idempotent. A row that a newer version of the source no longer states is withdrawn from that moment on and stays in the tables,
    as charges point at it.
    """
    tariffs, aliases, summary = load_list_tariffs()
    with reaching(), owner_engine.begin() as connection:
        return write_tariffs(connection, tariffs, aliases, version=summary.source_version)


def write_tariffs(
    connection: Connection,
    tariffs: Sequence[Tariff],
    aliases: Sequence[Alias],
    *,
    at: datetime | None = None,
    version: str = "",
) -> int:
    """Records list rows within the caller's transaction as all that their sources state, and the names of the first source.

    `aliases` is the whole list of names. Returns the number of rows that are new.
    """
    moment = audit.begin(connection, at)
    sources = sorted({_list_source(row) for row in tariffs})
    given = {(row.sku_price_id, _list_source(row)) for row in tariffs}
    before = believed(connection, sources=sources)
    gone = [
        Said(one.tariff, one.list_source, WITHDRAWN)
        for one in before
        if (one.tariff.sku_price_id, one.list_source) not in given
    ]
    made, records = say(connection, [*(Said(row, _list_source(row)) for row in tariffs), *gone], moment)
    names = name_models(connection, aliases, SOURCE, moment, whole=True)
    if records or names:
        after = {"version": version, "new": made, "withdrawn": len(gone), "records": records, "names": names}
        audit.note(connection, None, moment, "seed", "prices.seed", ", ".join(sources), after=after)
    return made


def load_book(engine: Engine, tenant: str, known_at: datetime | None = None) -> PriceBook:
    """What a tenant pays by, as known at a moment (None: now): its contract's book, else the list's."""
    return load_layers(engine, tenant, known_at).book


def load_layers(engine: Engine, tenant: str, known_at: datetime | None = None) -> Layers:
    """Both books of a tenant. Rows that rules or decisions make of others are written down, so that every charge finds its price.

    Asked again for now while nothing was changed, a process gets the books it read before. Raises InvalidInput for a moment before
    the first record, PriceBookError for rows that contradict each other.
    """
    return books_of(engine).get(tenant) if known_at is None else _read_layers(engine, tenant, known_at)


class Books:
    """The books of one database as they are now. A tenant's are read anew once its prices changed; the list is compiled once for all
    tenants that changed nothing of it."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._kept: dict[str, tuple[audit.Stamp, Layers]] = {}

    def get(self, tenant: str) -> Layers:
        """Two index look-ups where nothing changed. Raises PriceBookError."""
        found = audit.stamp(self._engine, tenant)
        kept = self._kept.get(tenant)
        if kept is None or kept[0] != found:
            kept = self._kept[tenant] = found, self._read(tenant, found)
        return kept[1]

    def _read(self, tenant: str, found: audit.Stamp) -> Layers:
        everyone, own = found
        if tenant == NO_TENANT:
            return _read_layers(self._engine, NO_TENANT)
        listed = self._kept.get(NO_TENANT)
        if listed is None or listed[0][0] != everyone:
            listed = self._kept[NO_TENANT] = (everyone, 0), _read_layers(self._engine, NO_TENANT)
        return _read_layers(self._engine, tenant, list_book=listed[1].list_book) if own else listed[1]


@lru_cache(maxsize=4)
def books_of(engine: Engine) -> Books:
    """The one cache of a process for a database."""
    return Books(engine)


def _read_layers(
    engine: Engine, tenant: str, known_at: datetime | None = None, list_book: PriceBook | None = None
) -> Layers:
    with read_only(engine, tenant) as connection:
        refuse_unknown_past(connection, known_at)
        held = Held(believed(connection, known_at), spoken(connection, known_at))
        signed = contracts.in_force(connection, known_at) if tenant else []
    own_rows = [one.tariff for one in held.rows if one.tariff.tenant is not None and one.state == STATED]
    own_names = [one.alias for one in held.names if one.alias.tenant is not None]
    own = bool(signed or own_rows or own_names)
    if list_book is not None and not own:
        return Layers(list_book, None)
    rows, names = in_force(held.rows, held.names)
    listed = list_book or PriceBook(rows, names)
    if not own:
        return Layers(listed, None)
    contracted, all_names = contracted_rows(rows, [*names, *own_names], signed, own_rows)
    _write_derived(engine, tenant, contracted)
    return Layers(listed, PriceBook(contracted, all_names))


def read_tariffs(engine: Engine, tenant: str, known_at: datetime | None = None) -> Listed:
    """The list rows and names in force, in the order of their ids. Raises PriceBookError for a price the scale can't hold."""
    with read_only(engine, tenant) as connection:
        refuse_unknown_past(connection, known_at)
        return in_force(believed(connection, known_at), spoken(connection, known_at))


def write_pieces(connection: Connection) -> int:
    """Writes down the list rows that are made of others: cut by a decision, or serving before the first source's first date.

    The owner's, after each change of the list. Only models are looked at of which there can be such rows.
    """
    first = believed(connection, sources=[SOURCE])
    names = spoken(connection)
    known = known_names(one.alias for one in names if rank(one.list_source) == 0 and one.alias.tenant is None)
    later = [one for one in names if rank(one.list_source) > 0 and one.alias.tenant is None]
    # Models that the first source names, but does not price, or not from ever.
    touched = {_model(one.alias) for one in names if rank(one.list_source) == 0} - {
        _model(one.tariff) for one in first if one.tariff.effective_from is None
    }
    heard: dict[tuple[str, str], list[str]] = {}
    sources: dict[tuple[str, str], set[str]] = {}
    for one in later:
        heard.setdefault(_model(one.alias), []).append(one.alias.alias)
        sources.setdefault((one.alias.seller, one.alias.alias), set()).add(one.list_source)
    decided = {(str(row.seller), str(row.model)) for row in connection.execute(_DECIDED)}
    meant = {
        (seller, model): (seller, meaning(known, seller, model, heard.get((seller, model), ())) or model)
        for seller, model in heard.keys() | decided
    }
    touched |= {meant[model] for model in decided}
    shared = {_model(one.alias) for one in later if len(sources[one.alias.seller, one.alias.alias]) > 1}
    models = {model for _, model in touched | shared} | {model for (_, model), it in meant.items() if it in touched}
    rows, _ = in_force(believed(connection, models=sorted(models)), names)
    return write_content(connection, rows)


def _write_derived(engine: Engine, tenant: str, rows: Sequence[Tariff]) -> None:
    derived = [row for row in rows if row.tenant is not None and row.derived_from is not None]
    if derived:
        with transaction(engine, tenant) as connection:
            write_content(connection, derived)


def _model(one: Tariff | Alias) -> tuple[str, str]:
    return one.seller, one.model


def _list_source(row: Tariff) -> str:
    return row.source.partition(":")[0]
