"""Does what the engine itself wrote down of a small run become a bill that adds up, every request charged by its steps?"""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="the engine's tests need the extra `probe`")
pytest.importorskip("transformers", reason="the small models come with the extra `probe-test`")

from accounting.selfhosted.imports.read_steps import read_steps  # noqa: E402
from accounting.storage.pool_steps import record_steps  # noqa: E402
from probe.engine.interfaces import StepRecord  # noqa: E402
from probe.engine.ledger import LedgerWriter  # noqa: E402
from tests.accounting.ledger.pool_world import POOL, PoolWorld, request  # noqa: E402
from tests.conftest import Database  # noqa: E402
from tests.probe.engine.serving import GREEDY, engine, prompt, steps  # noqa: E402
from tests.step_ledgers import start_ns  # noqa: E402

pytestmark = [pytest.mark.storage, pytest.mark.one_server, pytest.mark.slow]
TEN = "01T10"


def test_a_run_of_the_engine_is_charged_by_its_own_ledger(database: Database, tmp_path: Path) -> None:
    """Two requests share 16 tokens. On a bill of 3.60 a picosecond costs 10^-15: direct shares and variance are the measured time."""
    one = engine(max_num_batched_tokens=18)
    for name, last in (("a", [1, 2]), ("b", [3, 4])):
        one.add_request([*prompt(1, 16), *last], GREEDY, name)
    records = steps(one)[1]
    with LedgerWriter(tmp_path / "steps.arrow", {"block_size": 4}) as written:
        for record in records:
            written(record)
    ledger = read_steps((tmp_path / "steps.arrow").read_bytes())
    shift = start_ns("10:00:01") - int(ledger.start_ns[0])
    world = PoolWorld.make(database, prefix_policy="amortised")
    world.send(*(_event(name, records, shift) for name in ("a", "b")))
    world.bill("3.60", TEN)
    record_steps(
        database.app, world.tenant, POOL, "r0", replace(ledger, start_ns=ledger.start_ns + shift), "steps", "test"
    )
    world.settle()
    assert world.totals(TEN) == {Decimal("3.60")}
    lines = world.query(
        "SELECT subject_id, quality, details ->> 'prefix_policy' FROM charges WHERE quality <> '' ORDER BY 1"
    )
    assert lines == [("a", "exact", "amortised"), ("b", "exact", "amortised")]
    [(direct, variance, unlogged)] = world.query("SELECT direct, variance, unlogged FROM settled_pool_hours")
    measured = sum(record.duration_ns for record in records) * Decimal("1e-12")
    assert direct + variance == pytest.approx(measured, abs=Decimal("1e-13"))
    assert unlogged == 0


def _event(name: str, records: list[StepRecord], shift: int) -> dict[str, Any]:
    """What a gateway would log of a request."""
    mine = [(record, part) for record in records for part in record.requests if part.request_id == name]
    ends = [record.start_ns + record.duration_ns for record, part in mine if part.num_output_tokens]
    times = (_moment(ns + shift) for ns in (mine[0][0].start_ns, ends[0], ends[-1]))
    counts = {
        "input_tokens": mine[0][1].num_prompt_tokens,
        "cache_read_tokens": mine[0][1].num_cached_tokens,
        "output_tokens": sum(part.num_output_tokens for _, part in mine),
    }
    return request(name, *times, usage=counts)


def _moment(ns: int) -> str:
    return (datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=ns // 1_000)).isoformat()
