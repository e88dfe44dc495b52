"""Which invoice lines are there? They are kept once by id, never changed, and read back with what they belong to."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Sequence
from dataclasses import asdict, dataclass, field, fields
from datetime import datetime
from typing import Any

import msgspec
from sqlalchemy import Connection, Engine, bindparam, func, select, text
from sqlalchemy.dialects.postgresql import ARRAY, TEXT, insert

from accounting.errors import InvalidInput
from accounting.money import format_plain, from_minor, to_minor
from accounting.revenue.recognition import Line
from accounting.revenue.stripe_credits import EARNED
from accounting.revenue.subscriptions import text_of
from accounting.storage.engine import read_only, transaction
from accounting.storage.tables import revenue_customers, revenue_lines
from accounting.tenant import TenantContext

_FIELDS = tuple(one.name for one in fields(Line))
_CHUNK = 2_000


@dataclass(frozen=True)
class Owner:
    """Whose revenue is asked for: one user's, and what names one of these accounts and no user."""

    user_id: str
    accounts: Sequence[str] = ()


@dataclass
class LineResult:
    """What became of the lines of one import.

    Attributes:
        accepted: new. duplicates: known with the same content.
        conflicts: ids of lines that are known, or came before in the import, with another content; what is known stays.
        rejected: {"line", "field", "value", "reason"} of each row or object that can't be used; line counts from 1.
        skipped: reason -> how many objects book nothing.
        unmatched: ids of new lines that name neither a user nor an account; they are kept.
    """

    accepted: int = 0
    duplicates: int = 0
    conflicts: list[str] = field(default_factory=list)
    rejected: list[dict[str, Any]] = field(default_factory=list)
    skipped: dict[str, int] = field(default_factory=dict)
    unmatched: list[str] = field(default_factory=list)

    def to_json(self) -> dict[str, Any]:
        """The counts and lists as JSON."""
        return asdict(self)

    def reject(self, place: int, error: InvalidInput) -> None:
        """Notes a row or an object that can't be used."""
        self.rejected.append({"line": place, "field": error.field, "value": error.value, "reason": error.reason})

    def skip(self, reason: str) -> None:
        """Counts an object that books nothing."""
        self.skipped[reason] = self.skipped.get(reason, 0) + 1


def write_lines(
    connection: Connection, context: TenantContext, source: str, lines: Sequence[Line], result: LineResult
) -> None:
    """Adds lines in the caller's transaction and notes in `result` what became of each; a known id never changes.

    A line whose user was erased since is known by its id alone.
    """
    rows: dict[str, dict[str, Any]] = {}
    for line in lines:
        row = _row(context, source, line)
        if rows.setdefault(line.line_id, row)["line_hash"] == row["line_hash"]:
            result.duplicates += rows[line.line_id] is not row
        else:
            result.conflicts.append(line.line_id)
    keys = sorted(rows)
    for first in range(0, len(keys), _CHUNK):
        some = keys[first : first + _CHUNK]
        statement = insert(revenue_lines).on_conflict_do_nothing().returning(revenue_lines.c.line_id)
        added = set(connection.execute(statement, [rows[key] for key in some]).scalars())
        result.accepted += len(added)
        _note_known(connection, context, {key: rows[key]["line_hash"] for key in some if key not in added}, result)
        owners = known_customers(connection, context)
        result.unmatched += [key for key in some if key in added and not _owned(rows[key], owners)]


def booked_lines(connection: Connection, context: TenantContext, column: str, values: Iterable[str]) -> list[Line]:
    """Lines as they were booked whose `column` (line_id, invoice_id, refers_to) is one of the values, by id."""
    table = revenue_lines.c
    query = select(*(table[name] for name in _FIELDS)).where(
        (table.tenant == context.tenant) & table[column].in_(sorted(set(values)))
    )
    return [_line(row) for row in connection.execute(query.order_by(table.line_id))]


def lines_of_grants(connection: Connection, context: TenantContext, grants: Collection[str]) -> list[Line]:
    """Lines as they were booked that earn what was paid for these credit grants; their ids name it."""
    table = revenue_lines.c
    query = select(*(table[name] for name in _FIELDS)).where(
        (table.tenant == context.tenant)
        & table.line_id.startswith(EARNED, autoescape=True)
        & func.split_part(table.line_id, ":", 2).in_(sorted(grants))
    )
    return [_line(row) for row in connection.execute(query)]


def read_lines(
    connection: Connection, context: TenantContext, since: datetime, until: datetime, owner: Owner | None = None
) -> list[Line]:
    """Lines that may earn something in [since, until), each with its owner as far as it is known; of one owner where one is named.

    A refund carries the service period, user, account, plan and subscription of the line it is of; what refers to a prepaid pack, a
    discount too, has the recognition of the pack. User and account come from the line,
    else from its customer, else from its subscription; the plan from the line, else from its subscription. Packs earned by use are read
    from their booking on.
    """
    asked: dict[str, Any] = {"tenant": context.tenant, "since": since, "until": until}
    if owner is None:
        return [_line(row) for row in connection.execute(_READ, asked)]
    asked |= {"user": owner.user_id, "accounts": list(owner.accounts)}
    return [_line(row) for row in connection.execute(_READ_OF_ONE, asked)]


def list_lines(engine: Engine, context: TenantContext, limit: int) -> list[dict[str, Any]]:
    """Lines as they were booked, the newest first, as JSON; at most `limit`."""
    table = revenue_lines.c
    query = (
        select(*(table[name] for name in _FIELDS), table.source)
        .where(table.tenant == context.tenant)
        .order_by(table.booked_at.desc(), table.line_id)
        .limit(limit)
    )
    with read_only(engine, context.tenant) as connection:
        rows = [row._mapping for row in connection.execute(query)]
    return [to_json(_line_of(row)) | {"source": row["source"]} for row in rows]


def state_customer(
    engine: Engine, context: TenantContext, customer_id: str, user_id: str | None, account_id: str | None
) -> dict[str, Any]:
    """Matches a payment system's customer to a user, an account or both. Raises InvalidInput where neither is named."""
    if user_id is None and account_id is None:
        raise InvalidInput("user_id", None, "a user_id, an account_id or both are expected")
    values = {"customer_id": customer_id, "user_id": user_id, "account_id": account_id}
    for name, value in values.items():
        if value is not None:
            text_of(name, value)
    with transaction(engine, context.tenant) as connection:
        put_customer(connection, context, customer_id, user_id, account_id)
    return values


def known_customers(connection: Connection, context: TenantContext) -> set[str]:
    """Customers that are matched to a user or an account."""
    query = select(revenue_customers.c.customer_id).where(revenue_customers.c.tenant == context.tenant)
    return set(connection.execute(query).scalars())


def customer_users(connection: Connection, context: TenantContext) -> dict[str, str]:
    """Customer -> user, of those that are matched to a user."""
    table = revenue_customers.c
    query = select(table.customer_id, table.user_id).where(
        (table.tenant == context.tenant) & table.user_id.is_not(None)
    )
    return {row.customer_id: row.user_id for row in connection.execute(query)}


def put_customer(
    connection: Connection, context: TenantContext, customer_id: str, user_id: str | None, account_id: str | None
) -> None:
    """States which user or account a payment system's customer is; lines already here follow."""
    values = {"tenant": context.tenant, "customer_id": customer_id, "user_id": user_id, "account_id": account_id}
    key = ["tenant", "customer_id"]
    owner = {"user_id": user_id, "account_id": account_id}
    connection.execute(insert(revenue_customers).values(values).on_conflict_do_update(index_elements=key, set_=owner))


def to_json(line: Line) -> dict[str, Any]:
    """A line as JSON: the amount as decimal text of currency units, moments as RFC 3339."""
    row = {name: getattr(line, name) for name in _FIELDS}
    return {name: value.isoformat() if isinstance(value, datetime) else value for name, value in row.items()} | {
        "amount": format_plain(from_minor(line.amount))
    }


OWNED_LINES = """
    SELECT l.line_id, l.kind, l.amount, l.billing_currency, l.booked_at, coalesce(k.recognition, l.recognition) AS recognition,
           l.units, coalesce(l.unit, k.unit) AS unit, l.invoice_id, l.refers_to,
           l.customer_id, coalesce(l.starts_at, o.starts_at) AS starts_at, coalesce(l.ends_at, o.ends_at) AS ends_at,
           coalesce(own.subscription_id, o.subscription_id) AS subscription_id,
           coalesce(own.user_id, o.user_id, c.user_id, s.user_id) AS user_id,
           coalesce(own.account_id, o.account_id, c.account_id, s.account_id) AS account_id,
           coalesce(own.plan, o.plan, s.plan) AS plan
    FROM revenue_lines l
    LEFT JOIN revenue_lines k
      ON l.kind IN ('refund', 'discount') AND k.tenant = l.tenant AND k.line_id = l.refers_to
        AND k.recognition IN ('use', 'use_and_breakage')
    LEFT JOIN LATERAL (
      SELECT l.customer_id, l.subscription_id, l.user_id, l.account_id, l.plan WHERE k.line_id IS NULL
    ) own ON true
    LEFT JOIN revenue_lines o
      ON (l.kind = 'refund' OR k.line_id IS NOT NULL) AND o.tenant = l.tenant AND o.line_id = l.refers_to
    LEFT JOIN revenue_customers c ON c.tenant = l.tenant AND c.customer_id = coalesce(own.customer_id, o.customer_id)
    LEFT JOIN subscriptions s
      ON s.tenant = l.tenant AND s.subscription_id = coalesce(own.subscription_id, o.subscription_id)
    WHERE l.tenant = :tenant
"""
"""SQL: a tenant's lines `l`, each with its owner as far as it is known; parameter tenant, a condition on `l` may follow.

What is given back or off a prepaid pack is earned as the pack is, and has the pack's owner.
"""
_LINES = f"""{OWNED_LINES}
    AND (
      coalesce(k.recognition, l.recognition) IN ('use', 'use_and_breakage') AND l.booked_at < :until
      OR l.recognition IN ('day', 'second') AND least(l.booked_at, coalesce(l.starts_at, o.starts_at)) < :until
        AND greatest(l.booked_at, coalesce(l.ends_at, o.ends_at) + interval '2 days') >= :since)
"""
_READ = text(f"{_LINES} ORDER BY l.line_id")
_READ_OF_ONE = text(
    f"SELECT * FROM ({_LINES}) of WHERE user_id = :user OR user_id IS NULL AND account_id = ANY(:accounts) ORDER BY line_id"
).bindparams(bindparam("accounts", type_=ARRAY(TEXT)))


def _note_known(connection: Connection, context: TenantContext, hashes: dict[str, str], result: LineResult) -> None:
    if not hashes:
        return
    table = revenue_lines.c
    query = select(table.line_id, table.line_hash).where(
        (table.tenant == context.tenant) & table.line_id.in_(list(hashes))
    )
    for row in connection.execute(query):
        if row.line_hash in (hashes[row.line_id], ""):
            result.duplicates += 1
        else:
            result.conflicts.append(row.line_id)


def _owned(row: dict[str, Any], customers: set[str]) -> bool:
    return any(row[name] for name in ("user_id", "account_id", "subscription_id", "refers_to")) or (
        row["customer_id"] in customers
    )


def _row(context: TenantContext, source: str, line: Line) -> dict[str, Any]:
    values = {name: getattr(line, name) for name in _FIELDS}
    digest = hashlib.sha256(msgspec.json.encode(to_json(line), order="sorted")).hexdigest()
    return {
        "tenant": context.tenant,
        "source": source,
        **values,
        "amount": from_minor(line.amount),
        "line_hash": digest,
    }


def _line(row: Any) -> Line:
    return _line_of(row._mapping)


def _line_of(row: Any) -> Line:
    return Line(**{**{name: row[name] for name in _FIELDS}, "amount": to_minor(row["amount"], "amount")})
