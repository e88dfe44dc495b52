"""What does a reading of a source change in the price list, and how is it recorded?

A price that sources state differently is only proposed: what was in force stays so until a person decides. Rows of a tenant's own are
that tenant's decision, and in force at once.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, time

from sqlalchemy import Connection, Engine, insert, select, text

from accounting.errors import InvalidInput
from accounting.pricing.disagreements import Disagreement, OtherSources
from accounting.pricing.layering import PROPOSED, STATED, WITHDRAWN, known_names, rank
from accounting.pricing.sources.statement import Statement, is_free
from accounting.pricing.succession import Succession, succeed
from accounting.pricing.tariff import Tariff
from accounting.storage import audit
from accounting.storage.engine import NO_TENANT, transaction
from accounting.storage.price_records import Said, believed, name_models, say, spoken
from accounting.storage.price_rows import copy_rows
from accounting.storage.price_show import unit_price_text
from accounting.storage.tables import price_imports
from accounting.storage.tariffs import write_pieces

_DISAGREEMENTS = (
    "tenant, import_id, sku_price_id, list_source, unit_price, other_sku_price_id, other_source, other_unit_price, token_class, "
    "holds_from, holds_until, recorded_at"
)


@dataclass(frozen=True)
class Plan:
    """What an import would record.

    Attributes:
        changes: rows that begin, end or were never right.
        states: id of a new row -> `stated` or `proposed`.
        disagreements: what other sources state otherwise.
        said: everything to be recorded of rows.
    """

    changes: Succession
    states: dict[int, str]
    disagreements: list[Disagreement]
    said: list[Said] = field(default_factory=list)

    @property
    def counts(self) -> dict[str, int]:
        """Numbers for a person to read."""
        proposed = sum(state == PROPOSED for state in self.states.values())
        return self.changes.counts | {"proposed": proposed, "disagreements": len(self.disagreements)}


@dataclass(frozen=True)
class Outcome:
    """What an import did. import_id: of the earlier import where the same file was imported as of the same day before."""

    import_id: int
    repeated: bool
    plan: Plan | None


def import_statement(
    engine: Engine,
    statement: Statement,
    file_hash: str,
    actor: str,
    *,
    as_of: date,
    tenant: str | None = None,
    at: datetime | None = None,
) -> Outcome:
    """Records one reading of a source as of a day, in one transaction; the same file as of the same day again changes nothing.

    Args:
        engine: the owner's for the list of all, the application's for a tenant's own rows.
        tenant: None: the list of all.
        at: when it was learned; None: now.

    Raises InvalidInput for a table older than one imported already, Conflict for rows that overlap.
    """
    with transaction(engine, tenant or NO_TENANT) as connection:
        moment = audit.begin(connection, at)
        known = _same_file(connection, statement.source, file_hash, as_of, tenant)
        if known is not None:
            return Outcome(known, True, None)
        if statement.whole:
            _refuse_older(connection, statement.source, as_of, tenant)
        plan = planned(connection, statement, as_of, tenant, actor)
        values = {
            "tenant": tenant,
            "list_source": statement.source,
            "source_version": statement.source_version,
            "as_of": as_of,
            "file_hash": file_hash,
            "counts": plan.counts,
            "findings": statement.findings.to_json(),
            "created_by": actor,
            "recorded_at": moment,
        }
        made = connection.execute(insert(price_imports).values(values).returning(price_imports.c.import_id))
        import_id: int = made.scalar_one()
        record(connection, statement, plan, moment, actor, tenant, import_id)
        subject = f"{statement.source} {statement.source_version} as of {as_of}"
        audit.note(connection, tenant, moment, actor, "prices.import", subject, after=plan.counts)
    return Outcome(import_id, False, plan)


def plan_import(engine: Engine, statement: Statement, as_of: date, tenant: str | None = None) -> Plan:
    """What `import_statement` would record; records nothing."""
    with transaction(engine, tenant or NO_TENANT) as connection:
        return planned(connection, statement, as_of, tenant, None)


def planned(
    connection: Connection,
    statement: Statement,
    as_of: date,
    tenant: str | None,
    actor: str | None,
    decided: bool = False,
) -> Plan:
    """Compares a reading with what is believed. `decided`: a person states it, so nothing of it is only proposed."""
    own = believed(connection, sources=[statement.source], open_only=statement.whole)
    own = [one for one in own if one.tariff.tenant == tenant]
    start = datetime.combine(as_of, time(0), UTC)
    rows = [_of_tenant(row, tenant, actor) for row in statement.rows]
    if decided:
        rows = [replace(row, created_by=actor, approved_by=actor) for row in rows]
    changes = succeed([one.tariff for one in own], rows, start, statement.whole)
    found: list[Disagreement] = []
    states: dict[int, str] = {}
    compare = _others(connection, statement) if tenant is None and changes.new else None
    for row in changes.new:
        against = compare.disagree(row, statement.source) if compare else []
        found += against
        doubtful = tenant is None and not decided and (bool(against) or is_free(row))
        states[row.sku_price_id] = PROPOSED if doubtful else STATED
    held = {one.tariff.sku_price_id: one.state for one in own}
    said = [Said(row, statement.source, states[row.sku_price_id]) for row in changes.new]
    said += [Said(row, statement.source, held[row.sku_price_id]) for row in changes.ended]
    said += [Said(row, statement.source, WITHDRAWN) for row in changes.withdrawn]
    return Plan(changes, states, found, said)


def record(
    connection: Connection,
    statement: Statement,
    plan: Plan,
    at: datetime,
    actor: str,
    tenant: str | None,
    import_id: int | None = None,
) -> None:
    """Writes a plan down, and the names and rows that follow from it."""
    say(connection, plan.said, at, import_id)
    if tenant is None:
        name_models(connection, statement.aliases, statement.source, at, created_by=actor)
        _keep(connection, plan.disagreements, statement.source, at, import_id)
        write_pieces(connection)


def _of_tenant(row: Tariff, tenant: str | None, actor: str | None) -> Tariff:
    return row if tenant is None else replace(row, tenant=tenant, created_by=actor, approved_by=actor)


def _others(connection: Connection, statement: Statement) -> OtherSources:
    held = [one for one in believed(connection, without=[statement.source]) if one.state in (STATED, PROPOSED)]
    heard = [one for one in spoken(connection) if one.alias.tenant is None]
    first = known_names(one.alias for one in heard if rank(one.list_source) == 0)
    names: dict[tuple[str, str], list[str]] = {}
    for alias in (*(one.alias for one in heard if rank(one.list_source)), *statement.aliases):
        names.setdefault((alias.seller, alias.model), []).append(alias.alias)
    return OtherSources((one for one in held if one.tariff.tenant is None), first, names)


def _same_file(connection: Connection, source: str, file_hash: str, as_of: date, tenant: str | None) -> int | None:
    table = price_imports.c
    query = select(table.import_id).where(
        table.list_source == source,
        table.file_hash == file_hash,
        table.as_of == as_of,
        table.tenant.is_not_distinct_from(tenant),
    )
    return connection.execute(query).scalars().first()


def _refuse_older(connection: Connection, source: str, as_of: date, tenant: str | None) -> None:
    query = text(
        "SELECT import_id, as_of FROM price_imports WHERE list_source = :source AND as_of > :as_of "
        "AND tenant IS NOT DISTINCT FROM CAST(:tenant AS text) ORDER BY as_of DESC LIMIT 1"
    )
    newer = connection.execute(query, {"source": source, "as_of": as_of, "tenant": tenant}).one_or_none()
    if newer is not None:
        raise InvalidInput(
            "as_of",
            as_of.isoformat(),
            f"import {newer.import_id} of {source} as of {newer.as_of} is recorded already; tables are imported in the order of "
            "their days",
        )


def _keep(
    connection: Connection, found: Iterable[Disagreement], source: str, at: datetime, import_id: int | None
) -> None:
    rows = [
        (
            None,
            import_id,
            one.row.sku_price_id,
            source,
            unit_price_text(one.token_class, one.price),
            one.other.sku_price_id,
            one.other_source,
            unit_price_text(one.token_class, one.other_price),
            one.token_class,
            one.holds_from,
            one.holds_until,
            at,
        )
        for one in found
    ]
    if rows:
        copy_rows(connection, "price_disagreements", _DISAGREEMENTS, rows)
        connection.execute(
            text(
                f"INSERT INTO price_disagreements ({_DISAGREEMENTS}) SELECT {_DISAGREEMENTS} FROM new_price_disagreements"
            )
        )
