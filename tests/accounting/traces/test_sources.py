"""What holds for every source: its layout, its options, one row of answer for each row of file?"""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterator
from datetime import datetime, timedelta
from io import BytesIO, RawIOBase
from typing import Any, cast

import pytest

from accounting.errors import InvalidInput
from accounting.traces import SOURCES
from tests.accounting.traces.rows import START, bad, event, options, read, servegen

STARTED = {name: {"start": START} for name in ("mooncake", "servegen")}


@pytest.mark.parametrize("name", ["azure", "inferencex", "servegen"])
def test_a_file_of_another_layout_is_refused_with_the_missing_columns(name: str) -> None:
    with pytest.raises(InvalidInput, match=f"has not the columns of a {name} trace: .* missing"):
        read(SOURCES[name], "a,b\n1,2\n", **STARTED.get(name, {}))


@pytest.mark.parametrize("name", ["azure", "inferencex", "servegen"])
def test_an_empty_file_is_refused(name: str) -> None:
    with pytest.raises(InvalidInput, match="has not the columns"):
        read(SOURCES[name], b"", **STARTED.get(name, {}))


@pytest.mark.parametrize("name", ["mooncake", "servegen"])
def test_relative_times_need_a_start(name: str) -> None:
    with pytest.raises(InvalidInput, match="start=None: is needed"):
        read(SOURCES[name], servegen(1))


def test_a_start_needs_a_zone() -> None:
    with pytest.raises(InvalidInput, match="has no zone"):
        options(start=datetime(2026, 7, 1))


@pytest.mark.parametrize("stated", [{"block_lifetime": timedelta(minutes=5)}, {"capacity_blocks": 8}])
def test_cache_options_are_refused_where_there_are_no_prefix_hashes(stated: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput, match="no prefix hashes"):
        read(SOURCES["servegen"], servegen(1), start=START, **stated)


@pytest.mark.parametrize(
    ("name", "cache_read"), [("azure", "logged"), ("servegen", "logged"), ("mooncake", "none"), ("mooncake", "logged")]
)
def test_what_a_trace_can_not_say_of_its_cache_is_refused(name: str, cache_read: str) -> None:
    with pytest.raises(InvalidInput, match=f"cache_read='{cache_read}'"):
        read(SOURCES[name], servegen(1), start=START, cache_read=cache_read)


def test_a_bad_row_keeps_its_place_and_the_others_stay() -> None:
    header = "t_s,client_id,input_tokens,output_tokens,reasoning_tokens\n"
    rows = read(SOURCES["servegen"], header + "0.1,1,5,6,0\n\n0.2,1,5\n0.3,1,-5,6,0\n0.4,1,5,6,0", start=START)
    assert [event(rows[0]).event_id, event(rows[3]).event_id] == [
        "trace:servegen:000000000000:1",
        "trace:servegen:000000000000:4",
    ]
    assert (bad(rows[1]).row, bad(rows[1]).field, bad(rows[1]).reason) == (
        2,
        "row",
        "has 3 fields where the header has 5",
    )
    assert (bad(rows[2]).field, bad(rows[2]).value, bad(rows[2]).reason) == ("input_tokens", "-5", "is not a count")


@pytest.mark.parametrize("content", [b"\xff\xfe\x00", b"TIMESTAMP,ContextTokens,GeneratedTokens\n\xe9,1,1\n"])
def test_bytes_that_are_no_text_are_refused(content: bytes) -> None:
    with pytest.raises(InvalidInput, match="is no CSV text"):
        read(SOURCES["azure"], content)


def test_the_file_stays_open_for_its_owner() -> None:
    file = BytesIO(servegen(2).encode())
    assert len(list(SOURCES["servegen"].rows(file, options(start=START)))) == 2
    assert not file.closed


class Endless(RawIOBase):
    """A request log that is made while it is read."""

    def __init__(self, rows: int) -> None:
        self.lines = self._lines(rows)
        self.rest = b""

    @staticmethod
    def _lines(rows: int) -> Iterator[bytes]:
        yield b"t_s,client_id,input_tokens,output_tokens,reasoning_tokens\n"
        for number in range(rows):
            yield b"%d.5,%d,700,90,12\n" % (number, number % 70)

    def readable(self) -> bool:
        return True

    def read1(self, size: int = -1) -> bytes:
        while len(self.rest) < 8_192 and (line := next(self.lines, b"")):
            self.rest += line
        got, self.rest = self.rest[:8_192], self.rest[8_192:]
        return got

    read = read1


def peak(rows: int) -> int:
    """Most bytes held at once while a log of so many rows is read."""
    tracemalloc.start()
    read_rows = sum(1 for _ in SOURCES["servegen"].rows(cast(Any, Endless(rows)), options(start=START)))
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert read_rows == rows
    return most


def test_memory_does_not_grow_with_the_file() -> None:
    peak(1_000)  # what the first reading ever leaves behind is no part of the comparison
    assert peak(12_000) < peak(3_000) + 50_000
