"""How far did an import get before it was stopped? One small file an import, gone when it is done."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import msgspec
from sqlalchemy import Engine

from accounting.errors import ConfigurationError, NotFound
from accounting.ledger.read import charge_of
from accounting.tenant import TenantContext
from accounting.traces.trace import Options


class Tally(msgspec.Struct):
    """What became of the rows so far: accepted + duplicates + conflicts + rejected = rows.

    Attributes:
        rows: rows of the file dealt with, from its beginning.
        left_out_bytes: how much of the file of rows left out belongs to them.
        event_id: one of their events that the ledger holds; None where it holds none.
    """

    rows: int = 0
    accepted: int = 0
    duplicates: int = 0
    conflicts: int = 0
    rejected: int = 0
    left_out_bytes: int = 0
    event_id: str | None = None


class Checkpoint:
    """The file that says how far one import into one ledger got.

    It is written after the commit it speaks of, so it may lag behind the ledger and never runs ahead: what is sent again is a
    duplicate there.
    """

    def __init__(self, engine: Engine, settings: TenantContext, source: str, options: Options, folder: Path) -> None:
        """What distinguishes an import: the ledger, the tenant, the source, the content and every option."""
        identity = [
            engine.url.render_as_string(hide_password=True),
            settings.tenant,
            source,
            msgspec.to_builtins(options),
        ]
        name = hashlib.blake2b(msgspec.json.encode(identity), digest_size=16).hexdigest()
        self.path = folder / f"{source}-{name}.json"
        self._engine = engine
        self._settings = settings

    def load(self) -> Tally:
        """How far it got; nothing where there is no file, or where the ledger (made anew since) does not hold what it says."""
        try:
            tally = msgspec.json.decode(self.path.read_bytes(), type=Tally)
        except FileNotFoundError:
            return Tally()
        except (OSError, msgspec.DecodeError) as error:
            raise ConfigurationError(f"checkpoint {str(self.path)!r} can't be read: {error}; remove it") from error
        return tally if self._holds(tally.event_id) else Tally()

    def save(self, tally: Tally) -> None:
        """Replaces the file at once, so that it is whole at any moment."""
        try:
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            written = self.path.with_suffix(f".{os.getpid()}")
            written.write_bytes(msgspec.json.encode(tally))
            written.replace(self.path)
        except OSError as error:
            raise ConfigurationError(f"checkpoint {str(self.path)!r} can't be written: {error.strerror}") from error

    def remove(self) -> None:
        self.path.unlink(missing_ok=True)

    def _holds(self, event_id: str | None) -> bool:
        if event_id is None:
            return False
        try:
            charge_of(self._engine, self._settings, event_id)
        except NotFound:
            return False
        return True


def state_folder() -> Path:
    """Where checkpoints lie: `imports` in TOKENCOGS_DATA, else in the user's state folder (XDG)."""
    chosen = os.environ.get("TOKENCOGS_DATA")
    if chosen:
        return Path(chosen) / "imports"
    return Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state") / "tokencogs" / "imports"
