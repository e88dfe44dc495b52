"""From which instant on may the charges of events have changed since the last settlement?

Who adds charges of events, forgets whose they are, or says anew what a pool was, notes the earliest in the same transaction. A
settlement takes the notes first and reads events after: what is committed in between is read, and its note stays for the next run,
which looks again and finds nothing.
"""

from __future__ import annotations

from datetime import UTC, datetime

from sqlalchemy import Connection, text

ALWAYS = datetime(1, 1, 1, tzinfo=UTC)
"""No event is earlier."""
FAR = datetime(9000, 1, 1, tzinfo=UTC)
"""No event is later."""

_INTO = "INSERT INTO ledger_changes (tenant, since) SELECT current_setting('tokencogs.tenant'), "
NOTE_STAGE = f"{_INTO} min(occurred_at) FROM stage HAVING count(*) > 0"
"""Notes the staged events."""
_NOTE_LINES = text(
    f"{_INTO} min(charge_period_start) FROM charges WHERE tenant = current_setting('tokencogs.tenant') "
    "AND subject_kind = 'event' AND charge_id = ANY(:charge_ids) HAVING count(*) > 0"
)
_NOTE_SINCE = text(f"{_INTO} :since")
_TAKE = text(
    "WITH taken AS (DELETE FROM ledger_changes WHERE tenant = current_setting('tokencogs.tenant') RETURNING since) "
    "SELECT min(since) FROM taken"
)
_TELL = text("SELECT set_config('tokencogs.changed_since', :since, true)")
_TAKEN = text(
    f"SELECT CASE WHEN said <> '' THEN least(said::timestamptz, timestamptz '{FAR.isoformat()}') END "
    "FROM current_setting('tokencogs.changed_since', true) said"
)


def note_lines(connection: Connection, charge_ids: list[str]) -> None:
    """Notes those of these lines of `charges` that are about events."""
    connection.execute(_NOTE_LINES, {"charge_ids": charge_ids})


def note_since(connection: Connection, since: datetime) -> None:
    """Notes that anything from an instant on may have changed."""
    connection.execute(_NOTE_SINCE, {"since": since})


def take(connection: Connection) -> datetime | None:
    """The earliest instant noted, None where nothing was; the notes are gone once the caller's transaction is committed."""
    since: datetime | None = connection.execute(_TAKE).scalar_one()
    connection.execute(_TELL, {"since": "infinity" if since is None else since.isoformat()})
    return since


def taken(connection: Connection) -> datetime | None:
    """What this transaction took, FAR for nothing; None where it took no notes, so that anything may have changed."""
    since: datetime | None = connection.execute(_TAKEN).scalar_one()
    return since
