"""Do rows of a file keep their line numbers, whatever the file is packed in?"""

from __future__ import annotations

import gzip
import io
import json
import zlib
from pathlib import Path

import pytest
import zstandard

from accounting.cli.lines import Batch, batches, opened
from accounting.errors import InvalidInput

THREE = b'\n{"a":1}\n\n{"a":2}\r\n  \n{"a":3}'


def read(data: bytes, *, arrays: bool = True, size: int = 2) -> list[Batch]:
    return list(batches(io.BytesIO(data), "file", arrays=arrays, size=size))


def test_empty_lines_are_left_out_and_still_counted() -> None:
    assert [(batch.rows, batch.lines) for batch in read(THREE)] == [
        ([b'{"a":1}', b'{"a":2}'], [2, 4]),
        ([b'{"a":3}'], [6]),
    ]


def test_lines_are_sent_as_lines() -> None:
    assert read(THREE)[0].body == b'{"a":1}\n{"a":2}'


def test_an_array_is_cut_into_arrays_with_places_from_1() -> None:
    found = read(b' [{"a":\n1},{"a":2}, {"a":3}]')
    assert [(batch.body, batch.lines) for batch in found] == [(b'[{"a":\n1},{"a":2}]', [1, 2]), (b'[{"a":3}]', [3])]


def test_an_array_is_refused_where_lines_are_expected() -> None:
    with pytest.raises(InvalidInput, match="is a JSON array; one event a line is expected"):
        read(b"[]", arrays=False)


def test_a_broken_array_is_refused_whole() -> None:
    with pytest.raises(InvalidInput, match="is no JSON array"):
        read(b'[{"a":1}')


def test_an_empty_file_has_no_batches() -> None:
    assert read(b"") == []


@pytest.mark.parametrize("name", ["e.jsonl", "e.jsonl.gz", "e.jsonl.zst"])
def test_the_name_says_how_a_file_is_packed(tmp_path: Path, name: str) -> None:
    pack = {"jsonl": bytes, "gz": gzip.compress, "zst": zstandard.ZstdCompressor().compress}
    path = tmp_path / name
    path.write_bytes(pack[name.rsplit(".", 1)[1]](THREE))
    with opened(str(path)) as (reader, _):
        assert [batch.lines for batch in batches(reader, name, arrays=False)] == [[2, 4, 6]]


def test_a_zst_file_of_several_frames_is_read_to_its_end(tmp_path: Path) -> None:
    path = tmp_path / "e.zst"
    path.write_bytes(b"".join(zstandard.ZstdCompressor().compress(line + b"\n") for line in (b"1", b"2", b"3")))
    with opened(str(path)) as (reader, _):
        assert [batch.rows for batch in batches(reader, "e", arrays=False)] == [[b"1", b"2", b"3"]]


@pytest.mark.parametrize("name", ["e.gz", "e.zst"])
def test_a_file_that_is_not_what_its_name_says_is_refused(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_bytes(b'{"a":1}\n')
    with pytest.raises(InvalidInput, match="can't be decompressed"), opened(str(path)) as (reader, _):
        list(batches(reader, name, arrays=False))


def test_a_damaged_gz_file_is_refused_and_no_traceback(tmp_path: Path) -> None:
    """Its head is whole: what zlib finds in the middle is an error of another kind than gzip's."""
    path = tmp_path / "e.gz"
    whole = gzip.compress(b"".join(json.dumps({"a": at * 7919}).encode() + b"\n" for at in range(5_000)))
    path.write_bytes(whole[:2_000] + b"\xff" * 200 + whole[2_200:])
    with pytest.raises(InvalidInput, match="can't be decompressed") as refused, opened(str(path)) as (reader, _):
        list(batches(reader, "e.gz", arrays=False))
    assert isinstance(refused.value.__cause__, zlib.error)
