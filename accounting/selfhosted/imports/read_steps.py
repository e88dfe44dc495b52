"""Which steps does a file of an engine's step ledger state? The Arrow stream that the probe's engine writes, one row a step.

Of its columns `start_ns`, `duration_ns`, `kv_blocked` and `requests` (a list of `request_id`, `kind`, `num_new_tokens`,
`num_past_tokens`, `blocks_held`) are read, and where it is there `requests.prefix_blocks`: in the step that admits a request, names of its
prompt's full blocks, of `block_size` tokens as the metadata says. Others may be there. Whoever has another engine writes these.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from accounting.errors import InvalidInput
from accounting.money import exact_sum
from accounting.selfhosted.arrays import Bools
from accounting.selfhosted.step_ledger import StepLedger

VERSION = 1
LONGEST_ID = 256
_METADATA = b"tokencogs.ledger"
_SINCE, _UNTIL = 946_684_800 * 10**9, 4_102_444_800 * 10**9
"""2000 and 2100, nanoseconds."""
_DAY = 86_400 * 10**9
_MOST_TOKENS = 2**24
"""Of a request; what it takes then still fits into whole picoseconds."""
_STEP_TYPES = {"start_ns": pa.int64(), "duration_ns": pa.int64(), "kv_blocked": pa.bool_()}
_PART_TYPES = {
    "request_id": pa.string(),
    "kind": pa.string(),
    "num_new_tokens": pa.int64(),
    "num_past_tokens": pa.int64(),
    "blocks_held": pa.float64(),
}
SUMS_ONLY = (
    "lines of ForwardPassMetrics name neither the requests of a step nor the moment it began, so that no hour and no request can be "
    "told; a curve can be made of them (tokencogs curve import), a settlement needs the engine's step ledger"
)


def read_steps(data: bytes) -> StepLedger:
    """The ledger of one replica. Raises InvalidInput naming the field, with the step or row it stands in, and the value."""
    table = _table(data)
    steps = {name: _column(table, name, kind) for name, kind in _STEP_TYPES.items()}
    lists = _requests(table)
    step = np.repeat(np.arange(len(table)), pc.list_value_length(lists).to_numpy(zero_copy_only=False))
    flat = pc.list_flatten(lists)
    blocks = _blocks(flat, table.schema.metadata or {})
    parts = {name: _field(flat, name, kind) for name, kind in _PART_TYPES.items()}
    found = StepLedger(
        **{name: column.to_numpy(zero_copy_only=False) for name, column in steps.items()},
        step=step.astype(np.int64),
        **_ids(parts["request_id"]),
        new_tokens=parts["num_new_tokens"].to_numpy(zero_copy_only=False),
        past_tokens=parts["num_past_tokens"].to_numpy(zero_copy_only=False),
        prompt=_prompts(parts["kind"]),
        held=parts["blocks_held"].to_numpy(zero_copy_only=False),
        **blocks,
    )
    _check(found)
    return found


def _table(data: bytes) -> Any:
    if data.lstrip()[:1] == b"{":
        raise InvalidInput(
            "ledger", _beginning(data), SUMS_ONLY if b"scheduled_requests" in data else "no Arrow stream"
        )
    try:
        with pa.ipc.open_stream(data) as reader:
            _check_version(reader.schema.metadata or {})
            table = reader.read_all()
            table.validate(full=True)
    # What Arrow can't read it tells by several classes, truncation as an operating system's error.
    except (pa.ArrowException, OSError, ValueError) as error:
        raise InvalidInput("ledger", _beginning(data), f"is no whole Arrow stream: {error}") from error
    if not len(table):
        raise InvalidInput("ledger", 0, "no step is in it")
    return table.combine_chunks()


def _check_version(metadata: dict[bytes, bytes]) -> None:
    stated = metadata.get(_METADATA)
    if stated is None:
        return
    try:
        version = json.loads(stated).get("version")
    except (ValueError, AttributeError, RecursionError) as error:
        raise InvalidInput("tokencogs.ledger", _beginning(stated), "JSON with a version is expected") from error
    if version != VERSION:
        raise InvalidInput("version", version, f"this reads version {VERSION}")


def _column(table: Any, name: str, kind: Any) -> Any:
    at = table.schema.get_field_index(name)
    if at < 0:
        raise InvalidInput(name, None, "this column is missing, or there are several of that name")
    column = table.column(at)
    return _typed(column.chunk(0), name, kind)


def _requests(table: Any) -> Any:
    at = table.schema.get_field_index("requests")
    kind = table.schema.field(at).type if at >= 0 else None
    if kind is None or not pa.types.is_list(kind) or not pa.types.is_struct(kind.value_type):
        raise InvalidInput("requests", None if kind is None else str(kind), "a list of structs is expected")
    column = table.column(at).chunk(0)
    if column.null_count:
        raise InvalidInput("requests", None, f"is null in row {_first(pc.is_null(column))}")
    return column


def _field(flat: Any, name: str, kind: Any) -> Any:
    at = flat.type.get_field_index(name)
    if at < 0:
        raise InvalidInput(f"requests.{name}", None, "this field is missing, or there are several of that name")
    return _typed(pc.struct_field(flat, [at]), f"requests.{name}", kind)


def _typed(column: Any, name: str, kind: Any) -> Any:
    if column.type != kind:
        raise InvalidInput(name, str(column.type), f"{kind} is expected")
    if column.null_count:
        raise InvalidInput(name, None, f"is null in row {_first(pc.is_null(column))}")
    return column


def _ids(column: Any) -> dict[str, Any]:
    """Names sorted, and each part's index among them."""
    encoded = column.dictionary_encode()
    names: list[str] = encoded.dictionary.to_pylist()
    for name in names:
        if not name or len(name) > LONGEST_ID or "\0" in name:
            raise InvalidInput(
                "requests.request_id", name[:40], f"1 to {LONGEST_ID} characters are expected, none of them zero"
            )
    order = sorted(range(len(names)), key=names.__getitem__)
    place = np.empty(len(names), np.int64)
    place[order] = np.arange(len(names))
    return {
        "request": place[encoded.indices.to_numpy(zero_copy_only=False)],
        "request_ids": tuple(names[at] for at in order),
    }


def _blocks(flat: Any, metadata: dict[bytes, bytes]) -> dict[str, Any]:
    """Names of prompts' blocks; nothing where the ledger has none."""
    at = flat.type.get_field_index("prefix_blocks")
    if at < 0:
        return {}
    column = pc.struct_field(flat, [at])
    if not pa.types.is_list(column.type) or not pa.types.is_binary(column.type.value_type):
        raise InvalidInput("requests.prefix_blocks", str(column.type), "a list of binary names is expected")
    names = pc.list_flatten(column)
    if not len(names):
        return {}
    if names.null_count:
        raise InvalidInput("requests.prefix_blocks", None, "a block without a name is in it")
    size = json.loads(metadata.get(_METADATA, b"{}")).get("block_size")
    if not isinstance(size, int) or not 1 <= size <= _MOST_TOKENS:
        raise InvalidInput("block_size", size, "the metadata says how many tokens a named block has")
    lengths = pc.list_value_length(column).fill_null(0).to_numpy(zero_copy_only=False).astype(np.int64)
    part = np.repeat(np.arange(len(column)), lengths)
    start = np.repeat(np.cumsum(lengths) - lengths, lengths)
    encoded = names.dictionary_encode()
    return {
        "block_part": part,
        "block_index": np.arange(len(part)) - start,
        "block": encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64),
        "block_names": tuple(encoded.dictionary.to_pylist()),
        "block_size": size,
    }


def _prompts(column: Any) -> Bools:
    known = pc.is_in(column, pa.array(["prefill", "decode"]))
    if not pc.all(known).as_py() and len(column):
        at = _first(pc.invert(known))
        raise InvalidInput("requests.kind", column[at].as_py(), "prefill or decode is expected")
    prompts: Bools = pc.equal(column, "prefill").to_numpy(zero_copy_only=False)
    return prompts


def _check(one: StepLedger) -> None:
    start, duration = one.start_ns, one.duration_ns
    times: tuple[tuple[str, Bools, Any, str], ...] = (
        ("start_ns", (start < _SINCE) | (start >= _UNTIL), start, "nanoseconds since 1970 are expected"),
        ("duration_ns", (duration < 0) | (duration > _DAY), duration, "a measured time from 0 to a day is expected"),
        (
            "start_ns",
            np.concatenate([[False], start[1:] < start[:-1]]),
            start,
            "is before the step in the row before it",
        ),
    )
    for name, wrong, values, reason in times:
        if wrong.any():
            at = int(np.argmax(wrong))
            raise InvalidInput(f"{name} of row {at}", int(values[at]), reason)
    least: tuple[tuple[str, Bools, Any, str], ...] = (
        ("num_new_tokens", (one.new_tokens < 1) | (one.new_tokens > _MOST_TOKENS), one.new_tokens, _tokens(1)),
        ("num_past_tokens", (one.past_tokens < 0) | (one.past_tokens > _MOST_TOKENS), one.past_tokens, _tokens(0)),
        ("blocks_held", ~np.isfinite(one.held) | (one.held < 0), one.held, "at least 0 is expected"),
    )
    for name, wrong, values, reason in least:
        if wrong.any():
            at = int(np.argmax(wrong))
            raise InvalidInput(f"requests.{name} of row {int(one.step[at])}", values[at].item(), reason)
    passed = one.end_ns - int(start[0])
    measured = exact_sum(duration)
    # Two clocks, one for moments and one for durations, differ by some parts in a thousand at most.
    if measured > passed + passed // 100 + 1_000_000:
        raise InvalidInput(
            "duration_ns", measured, f"steps of one replica follow each other, and only {passed} ns passed"
        )


def _tokens(least: int) -> str:
    return f"{least} to {_MOST_TOKENS} tokens are expected"


def _first(flags: Any) -> int:
    return int(np.argmax(flags.to_numpy(zero_copy_only=False)))


def _beginning(data: bytes) -> str:
    return data[:24].decode("utf-8", "replace")
