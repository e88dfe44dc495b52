"""How is a revision's SQL run? The file of the same name beside it, as it stands."""

from __future__ import annotations

from pathlib import Path

from alembic import op


def run_sql(revision_file: str) -> None:
    """Runs `NAME.sql` of a revision `NAME.py` (its `__file__`), straight on the driver.

    Without parameters the driver takes several statements and leaves '%' alone.
    """
    raw = op.get_bind().connection.driver_connection
    assert raw is not None
    raw.execute(Path(revision_file).with_suffix(".sql").read_text(encoding="utf-8"))
