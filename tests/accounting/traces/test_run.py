"""Does an import that is stopped anywhere end with the ledger of one that was not?"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from functools import cache
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text

from accounting.errors import ConfigurationError
from accounting.ledger.check import check, differences
from accounting.pricing.book import PriceBook
from accounting.pricing.genai_prices_source import load_list_tariffs
from accounting.storage.engine import transaction
from accounting.storage.tenants import context, create_tenant
from accounting.traces import SOURCES
from accounting.traces.checkpoint import Checkpoint, Tally
from accounting.traces.run import Ledger, content_hash, run
from accounting.traces.trace import Options
from tests.accounting.traces.rows import START, servegen
from tests.conftest import Database

pytestmark = [pytest.mark.storage, pytest.mark.one_server]
ROWS = 13_000


@cache
def _book() -> PriceBook:
    """The list prices, read once for all tests."""
    tariffs, aliases, _ = load_list_tariffs()
    return PriceBook(tariffs, aliases)


class Stopped(Exception):
    """Raised by a test in the middle of an import."""


class Import:
    """One source's file, imported as one tenant."""

    def __init__(
        self, database: Database, tenant: str, folder: Path, content: str, source: str = "servegen", **stated: Any
    ) -> None:
        self.content = content.encode()
        self.source = SOURCES[source]
        self.options = Options(content_hash(BytesIO(self.content)), "deepseek", "deepseek-chat", start=START, **stated)
        engine = database.app
        self.ledger = Ledger(engine, context(engine, tenant), _book())
        self.checkpoint = Checkpoint(engine, self.ledger.settings, source, self.options, folder / "imports")
        self.rejected = folder / f"{tenant}.rejected.jsonl"
        self.batches = 0

    def run(self, batches: int | None = None) -> Tally:
        """Imports; after so many batches of this run it raises Stopped."""
        self.batches = 0

        def watch(_: Tally) -> None:
            self.batches += 1
            if self.batches == batches:
                raise Stopped

        return run(
            self.ledger, self.source.rows(BytesIO(self.content), self.options), self.checkpoint, self.rejected, watch
        )

    def booked(self) -> list[tuple[Any, ...]]:
        """Every event as booked, in order."""
        columns = "event_id, occurred_at, user_id, uncached_input_tokens, cache_read_tokens, output_tokens, charge_status, list_cost_e15"
        with transaction(self.ledger.engine, self.ledger.settings.tenant) as connection:
            return [
                tuple(row) for row in connection.execute(text(f"SELECT {columns} FROM usage_events ORDER BY event_id"))
            ]

    def assert_exact(self) -> None:
        assert differences(check(self.ledger.engine, self.ledger.settings)) == []


MakeImport = Callable[..., Import]


@pytest.fixture
def tenants(database: Database) -> Iterator[str]:
    """Names of new tenants."""

    def names() -> Iterator[str]:
        while True:
            name = f"t{os.urandom(6).hex()}"
            create_tenant(database.owner, name, name)
            yield name

    return names()


@pytest.fixture
def make(database: Database, tenants: Iterator[str], tmp_path: Path) -> MakeImport:
    return lambda content, **stated: Import(database, next(tenants), tmp_path, content, **stated)


def counts(tally: Tally) -> tuple[int, int, int, int, int]:
    return tally.rows, tally.accepted, tally.duplicates, tally.conflicts, tally.rejected


def test_an_import_books_every_row_and_a_second_one_finds_duplicates_only(make: MakeImport) -> None:
    one = make(servegen(6_000))
    assert counts(one.run()) == (6_000, 6_000, 0, 0, 0)
    assert not one.checkpoint.path.exists()
    assert counts(one.run()) == (6_000, 0, 6_000, 0, 0)
    assert len(one.booked()) == 6_000
    one.assert_exact()


def test_a_stopped_import_goes_on_where_it_was(make: MakeImport) -> None:
    whole, stopped = make(servegen(ROWS)), make(servegen(ROWS))
    assert counts(whole.run()) == (ROWS, ROWS, 0, 0, 0)
    with pytest.raises(Stopped):
        stopped.run(batches=2)
    assert len(stopped.booked()) == 10_000
    assert counts(stopped.run()) == (ROWS, ROWS, 0, 0, 0)
    assert stopped.batches == 1
    assert stopped.booked() == whole.booked()
    stopped.assert_exact()


def test_a_batch_that_the_checkpoint_does_not_know_of_is_a_duplicate(make: MakeImport) -> None:
    one = make(servegen(12_000))
    with pytest.raises(Stopped):
        one.run(batches=1)
    before = one.checkpoint.path.read_bytes()
    with pytest.raises(Stopped):
        one.run(batches=1)
    one.checkpoint.path.write_bytes(before)
    assert counts(one.run()) == (12_000, 7_000, 5_000, 0, 0)
    assert len(one.booked()) == 12_000


def test_a_cache_simulation_goes_on_as_if_it_had_not_been_stopped(make: MakeImport) -> None:
    lines = [
        {"timestamp": at, "input_length": 1_500, "output_length": 3, "hash_ids": [0, at // 7, 100_000 + at]}
        for at in range(7_000)
    ]
    content = "".join(json.dumps(line) + "\n" for line in lines)
    whole = make(content, source="mooncake", block_lifetime=timedelta(seconds=1))
    stopped = make(content, source="mooncake", block_lifetime=timedelta(seconds=1))
    whole.run()
    with pytest.raises(Stopped):
        stopped.run(batches=1)
    stopped.run()
    assert stopped.booked() == whole.booked()
    # The first of each seven hits the shared block alone; the very first hits nothing.
    assert sum(row[4] for row in whole.booked()) == 512 * (999 + 6_000 * 2)


def test_the_checkpoint_of_a_ledger_made_anew_is_not_believed(make: MakeImport) -> None:
    one = make(servegen(6_000))
    with pytest.raises(Stopped):
        one.run(batches=1)
    anew = make(servegen(6_000))
    anew.checkpoint.path.parent.mkdir(exist_ok=True)
    anew.checkpoint.path.write_bytes(one.checkpoint.path.read_bytes())
    assert counts(anew.run()) == (6_000, 6_000, 0, 0, 0)


def test_another_option_tenant_or_content_is_another_import(make: MakeImport) -> None:
    kinds = [make(servegen(3)), make(servegen(3)), make(servegen(4)), make(servegen(3), cache_read="none")]
    assert len({one.checkpoint.path for one in kinds}) == 4


def test_other_options_for_the_same_rows_are_conflicts_and_the_first_stay(
    make: MakeImport, database: Database, tmp_path: Path
) -> None:
    one = make(servegen(3))
    one.run()
    other = Import(database, one.ledger.settings.tenant, tmp_path, servegen(3), cache_read="none")
    assert counts(other.run()) == (3, 0, 0, 3, 0)
    [first, *_] = [json.loads(line) for line in other.rejected.read_text().splitlines()]
    assert first == {
        "row": 1,
        "event_id": f"trace:servegen:{other.options.content_hash[:12]}:1",
        "field": None,
        "value": None,
        "reason": "event_id is known with a different body; the first one stays",
    }


def test_rows_left_out_are_written_once_with_row_and_reason_also_when_stopped(make: MakeImport) -> None:
    lines = servegen(12_000).splitlines(keepends=True)
    lines[7] = "6.25,1,many,10,4\n"
    lines[8] = "7.25,1,100,10,11\n"
    lines[11_001] = "11000.25,1,9999999999,10,4\n"
    one = make("".join(lines))
    with pytest.raises(Stopped):
        one.run(batches=1)
    first = one.rejected.read_text()
    one.rejected.write_text(first + '{"row":0,"reason":"of a batch that was not committed"}\n')
    assert counts(one.run()) == (12_000, 11_997, 0, 0, 3)
    found = [json.loads(line) for line in one.rejected.read_text().splitlines()]
    assert [(row["row"], row["field"], row["value"], row["reason"]) for row in found] == [
        (7, "input_tokens", "many", "is not a count"),
        (8, "usage.output_tokens", "10", "is less than the sum of its parts: reasoning_tokens 11 = 11"),
        (11_001, "usage.input_tokens", "9999999999", "Expected `int` <= 2147483647"),
    ]
    one.assert_exact()


def test_a_file_of_bad_rows_alone_ends(make: MakeImport) -> None:
    bad = "t_s,client_id,input_tokens,output_tokens,reasoning_tokens\n" + "x,1,1,1,1\n" * 5_001
    assert counts(make(bad).run()) == (5_001, 0, 0, 0, 5_001)


def test_a_damaged_checkpoint_is_named(make: MakeImport) -> None:
    one = make(servegen(3))
    one.checkpoint.path.parent.mkdir(exist_ok=True)
    one.checkpoint.path.write_text("{")
    with pytest.raises(ConfigurationError, match="remove it"):
        one.run()


def test_an_import_killed_by_the_system_ends_with_the_same_ledger(
    make: MakeImport, database: Database, tmp_path: Path
) -> None:
    whole, killed = make(servegen(20_000)), make(servegen(20_000))
    whole.run()
    path = tmp_path / "requests.csv"
    path.write_bytes(killed.content)
    words = ["servegen", str(path), "--start", START.isoformat(), "--provider", "deepseek", "--model", "deepseek-chat"]
    command = [
        sys.executable,
        "-m",
        "accounting.cli",
        "trace",
        "import",
        *words,
        "--tenant",
        killed.ledger.settings.tenant,
    ]
    state = tmp_path / "state"
    env = {**os.environ, **database.env, "TOKENCOGS_DATA": str(state)}
    with subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        deadline = time.monotonic() + 60
        while not list(state.rglob("servegen-*.json")) and process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.005)
        process.send_signal(signal.SIGKILL)
    assert process.returncode == -signal.SIGKILL
    some = len(killed.booked())
    assert 5_000 <= some < 20_000
    again = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    assert again.returncode == 0, again.stderr
    accepted, duplicates = (int(part.split()[1]) for part in again.stdout.split(",")[:2])
    assert (accepted + duplicates, duplicates in (0, 5_000)) == (20_000, True)
    assert killed.booked() == whole.booked()
    killed.assert_exact()
