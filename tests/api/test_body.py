"""Decompression within bounds: what is whole is taken, whatever its frames; what is not is refused."""

from __future__ import annotations

import gzip
import os
import zlib

import pytest
import zstandard

from accounting.errors import InvalidInput, TooLarge
from api.body import inflate

PLAIN = b"0123456789" * 1000
LIMIT = 10_000


def _zstd(data: bytes, **options: int) -> bytes:
    return zstandard.ZstdCompressor(**options).compress(data)


@pytest.mark.parametrize(
    ("name", "sent"),
    [
        ("identity", PLAIN),
        ("gzip", gzip.compress(PLAIN)),
        ("gzip", gzip.compress(PLAIN[:10]) + gzip.compress(PLAIN[10:])),
        ("gzip", gzip.compress(PLAIN) + b"\0" * 100),
        ("deflate", zlib.compress(PLAIN)),
        ("zstd", _zstd(PLAIN)),
        ("zstd", _zstd(PLAIN[:10]) + _zstd(PLAIN[10:])),
        ("zstd", _zstd(b"") + _zstd(PLAIN)),
    ],
    ids=["plain", "gzip", "gzip-members", "gzip-padded", "deflate", "zstd", "zstd-frames", "zstd-empty-frame"],
)
def test_whole_data_come_out_as_they_were(name: str, sent: bytes) -> None:
    assert inflate(sent, name, LIMIT) == PLAIN


def test_many_members_are_too_much() -> None:
    """After each of them the rest is copied: half a million in 10 MB would be looked at for minutes."""
    with pytest.raises(TooLarge, match="1000 members of gzip"):
        inflate(gzip.compress(b"") * 1_001, "gzip", LIMIT)
    assert inflate(gzip.compress(b"") * 999 + gzip.compress(PLAIN), "gzip", LIMIT) == PLAIN


@pytest.mark.parametrize("name", ["gzip", "zstd"])
def test_one_byte_over_the_limit_is_too_much(name: str) -> None:
    sent = gzip.compress(PLAIN) if name == "gzip" else _zstd(PLAIN)
    with pytest.raises(TooLarge, match="9999"):
        inflate(sent, name, LIMIT - 1)


@pytest.mark.parametrize("name", ["gzip", "zstd"])
@pytest.mark.parametrize("kept", [0, 1, 5, 20, -1])
def test_data_cut_anywhere_are_refused(name: str, kept: int) -> None:
    whole = gzip.compress(os.urandom(1000)) if name == "gzip" else _zstd(os.urandom(1000))
    with pytest.raises(InvalidInput, match=name):
        inflate(whole[:kept], name, LIMIT)


@pytest.mark.parametrize("name", ["gzip", "zstd"])
def test_what_follows_whole_data_must_be_data(name: str) -> None:
    sent = gzip.compress(PLAIN) if name == "gzip" else _zstd(PLAIN)
    with pytest.raises(InvalidInput, match=name):
        inflate(sent + b"more", name, LIMIT)


def test_a_frame_that_asks_for_a_large_window_is_refused_before_memory_is_taken() -> None:
    parameters = zstandard.ZstdCompressionParameters(window_log=27, enable_ldm=True)
    compressor = zstandard.ZstdCompressor(compression_params=parameters)
    writer = compressor.compressobj()
    sent = writer.compress(PLAIN) + writer.flush()
    with pytest.raises(InvalidInput, match="zstd"):
        inflate(sent, "zstd", LIMIT)
