"""Is a step ledger read as its engine wrote it, and refused by field and value where it can't be one?"""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from accounting.errors import InvalidInput
from accounting.selfhosted.imports.read_steps import read_steps
from accounting.selfhosted.step_ledger import HOUR_NS, StepLedger
from tests.step_ledgers import Step, content, decode, ledger, prefill, start_ns

TEN = start_ns("10:00:00")
STEPS: list[Step] = [
    ("10:59:59.900", 31_000_000, False, [prefill("b", 1_000, 24, 2.5)]),
    ("10:59:59.990", 20_000_000, True, [decode("b", 1_024, 2.5), prefill("a", 7)]),
    ("12:00:00", 12_000_000, False, [decode("a", 7)]),
]


def test_steps_and_parts_are_read_in_the_engines_order(tmp_path: Path) -> None:
    found = ledger(tmp_path / "steps.arrow", STEPS)
    assert (found.start_ns - TEN).tolist() == [3_599_900_000_000, 3_599_990_000_000, 7_200_000_000_000]
    assert found.duration_ns.tolist() == [31_000_000, 20_000_000, 12_000_000]
    assert found.kv_blocked.tolist() == [False, True, False]
    assert (found.step.tolist(), found.request.tolist()) == ([0, 1, 1, 2], [1, 1, 0, 0])
    assert found.request_ids == ("a", "b")
    assert (found.new_tokens.tolist(), found.past_tokens.tolist()) == ([1_000, 1, 7, 1], [24, 1_024, 0, 7])
    assert (found.prompt.tolist(), found.held.tolist()) == ([True, False, True, False], [2.5, 2.5, 1.0, 1.0])
    assert found.end_ns == start_ns("12:00:00.012")


def test_every_hour_gets_the_steps_that_began_in_it_and_an_empty_one_none() -> None:
    parts = read_steps(content(STEPS)).hours()
    assert [(hour - TEN) // HOUR_NS for hour, _ in parts] == [0, 1, 2]
    assert [one.steps for _, one in parts] == [2, 0, 1]
    last = parts[2][1]
    assert (last.request_ids, last.step.tolist(), last.request.tolist(), last.past_tokens.tolist()) == (
        ("a",),
        [0],
        [0],
        [7],
    )


def test_a_packed_ledger_is_the_same_one() -> None:
    one = read_steps(content(STEPS))
    again = StepLedger.unpacked(*one.packed())
    assert again.hash() == one.hash()
    assert again.request_ids == one.request_ids
    empty = one.hours()[1][1]
    assert StepLedger.unpacked(*empty.packed()).hash() == empty.hash()


@pytest.mark.parametrize("change", [{"held": 2.0}, {"past_tokens": 8}, {"duration_ns": 1}, {"kv_blocked": True}])
def test_other_steps_have_another_hash(change: dict[str, Any]) -> None:
    one = read_steps(content(STEPS))
    [(name, value)] = change.items()
    before = one.hash()
    column = getattr(one, name).copy()
    column[-1] = value
    assert StepLedger(**{**vars(one), name: column}).hash() != before


def _rows(**changes: Any) -> list[dict[str, Any]]:
    part = {"request_id": "a", "kind": "prefill", "num_new_tokens": 10, "num_past_tokens": 0, "blocks_held": 1.0}
    row: dict[str, Any] = {"start_ns": TEN, "duration_ns": 10, "kv_blocked": False}
    part |= {name: value for name, value in changes.items() if name in part}
    row |= {name: value for name, value in changes.items() if name in row}
    return [row | {"requests": [part]}]


_PART = pa.struct(
    [("request_id", pa.string()), ("kind", pa.string()), ("num_new_tokens", pa.int64()), ("num_past_tokens", pa.int64()),
     ("blocks_held", pa.float64())]
)  # fmt: skip
_SCHEMA = pa.schema(
    [("start_ns", pa.int64()), ("duration_ns", pa.int64()), ("kv_blocked", pa.bool_()), ("requests", pa.list_(_PART))]
)


def _stream(rows: list[dict[str, Any]], schema: Any = _SCHEMA) -> bytes:
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, schema) as writer:
        writer.write_batch(pa.RecordBatch.from_pylist(rows, schema=schema))
    return sink.getvalue()


@pytest.mark.parametrize(
    ("changes", "field", "value"),
    [
        ({"start_ns": 5}, "start_ns of row 0", 5),
        ({"start_ns": 4_102_444_800 * 10**9}, "start_ns of row 0", 4_102_444_800 * 10**9),
        ({"start_ns": None}, "start_ns", None),
        ({"duration_ns": -1}, "duration_ns of row 0", -1),
        ({"duration_ns": 86_400_000_000_001}, "duration_ns of row 0", 86_400_000_000_001),
        ({"request_id": ""}, "requests.request_id", ""),
        ({"request_id": "a\0"}, "requests.request_id", "a\0"),
        ({"kind": "idle"}, "requests.kind", "idle"),
        ({"num_new_tokens": 0}, "requests.num_new_tokens of row 0", 0),
        ({"num_new_tokens": 2**24 + 1}, "requests.num_new_tokens of row 0", 2**24 + 1),
        ({"num_past_tokens": -1}, "requests.num_past_tokens of row 0", -1),
        ({"blocks_held": -0.5}, "requests.blocks_held of row 0", -0.5),
        ({"blocks_held": float("inf")}, "requests.blocks_held of row 0", float("inf")),
        ({"blocks_held": None}, "requests.blocks_held", None),
    ],
)
def test_a_value_that_no_step_has_is_named(changes: dict[str, Any], field: str, value: object) -> None:
    assert read_steps(_stream(_rows())).steps == 1
    with pytest.raises(InvalidInput) as refused:
        read_steps(_stream(_rows(**changes)))
    assert (refused.value.field, refused.value.value) == (field, value)


def test_falling_times_are_refused() -> None:
    with pytest.raises(InvalidInput, match=f"start_ns of row 1={TEN - 1}: is before the step in the row before it"):
        read_steps(_stream([*_rows(), *_rows(start_ns=TEN - 1)]))


def test_steps_that_took_longer_together_than_time_passed_are_not_of_one_replica() -> None:
    both = [*_rows(duration_ns=10_000_000), *_rows(duration_ns=10_000_000)]
    with pytest.raises(
        InvalidInput, match="duration_ns=20000000: steps of one replica follow each other, and only 10000000 ns"
    ):
        read_steps(_stream(both))


def _without(name: str) -> bytes:
    table = pa.ipc.open_stream(_stream(_rows())).read_all().drop_columns([name])
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue()


def _versioned(version: object) -> bytes:
    described = {b"tokencogs.ledger": json.dumps({"version": version}).encode()}
    return _stream(_rows(), _SCHEMA.with_metadata(described))


_FORWARD_PASS = json.dumps({"version": 1, "wall_time": 0.01, "scheduled_requests": {"num_decode_requests": 1}}).encode()


@pytest.mark.parametrize(
    ("data", "field", "reason"),
    [
        (b"", "ledger", "is no whole Arrow stream"),
        (b"PAR1 or anything", "ledger", "is no whole Arrow stream"),
        (content(STEPS)[:-300], "ledger", "is no whole Arrow stream"),
        (_FORWARD_PASS, "ledger", "name neither the requests of a step nor the moment it began"),
        (b'{"a": 1}', "ledger", "no Arrow stream"),
        (_stream([]), "ledger", "no step is in it"),
        (_without("kv_blocked"), "kv_blocked", "this column is missing"),
        (_without("requests"), "requests", "a list of structs is expected"),
        (_versioned(2), "version", "this reads version 1"),
        (_stream([{"start_ns": 1.5}], pa.schema([("start_ns", pa.float64())])), "start_ns", "int64 is expected"),
    ],
)
def test_another_form_is_refused(data: bytes, field: str, reason: str) -> None:
    with pytest.raises(InvalidInput, match=reason) as refused:
        read_steps(data)
    assert refused.value.field == field


def test_named_blocks_are_read_and_kept_with_the_step_that_admits() -> None:
    one = read_steps(content([
        ("10:59:59", 1_000, False, [prefill("b", 150, 0, 1.0, "xy")]),
        ("11:00:00", 1_000, False, [decode("b", 150), prefill("a", 100, 100, 1.0, "xz")]),
    ]))  # fmt: skip
    assert (one.block_size, one.block_part.tolist(), one.block_index.tolist()) == (100, [0, 0, 2, 2], [0, 1, 0, 1])
    assert [one.block_names[at] for at in one.block] == [b"x", b"y", b"x", b"z"]
    later = one.hours()[1][1]
    assert (later.block_part.tolist(), [later.block_names[at] for at in later.block]) == ([1, 1], [b"x", b"z"])
    again = StepLedger.unpacked(*one.packed())
    assert (again.hash(), again.block_names, again.block_size) == (one.hash(), (b"x", b"y", b"z"), 100)


def test_named_blocks_need_their_size() -> None:
    schema = pa.schema(
        [*_SCHEMA.remove(3), ("requests", pa.list_(pa.struct([*_PART, ("prefix_blocks", pa.list_(pa.binary()))])))]
    )
    rows = _rows()
    rows[0]["requests"][0]["prefix_blocks"] = [b"x"]
    with pytest.raises(InvalidInput, match="block_size=None"):
        read_steps(_stream(rows, schema))
    rows[0]["requests"][0]["prefix_blocks"] = None
    assert read_steps(_stream(rows, schema)).block_size == 0


def test_a_step_without_requests_is_a_step() -> None:
    rows = _rows()
    rows[0]["requests"] = []
    found = read_steps(_stream(rows))
    assert (found.steps, found.step.tolist(), found.request_ids) == (1, [], ())
    assert found.held.dtype == np.float64
