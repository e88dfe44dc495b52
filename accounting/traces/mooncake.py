"""What do rows of a Mooncake trace say, and which of their input tokens does a prefix cache hit?

Layout of kvcache-ai/Mooncake: timestamp in milliseconds from an unstated start, input_length, output_length and hash_ids, one id
for each 512 tokens begun; equal ids are equal prefixes. Cache reads are computed; nothing in the trace reports them.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Annotated, BinaryIO

import msgspec

from accounting.errors import InvalidInput
from accounting.traces.fields import after
from accounting.traces.prefix_cache import BLOCK_TOKENS, PrefixCache, cached_tokens
from accounting.traces.trace import Options, Row, Source, converted, event
from accounting.usage.native import NativeEvent, NativeUsage

_Natural = Annotated[int, msgspec.Meta(ge=0)]
_Count = Annotated[int, msgspec.Meta(ge=0, le=2_147_483_647)]
_MILLISECOND = timedelta(milliseconds=1)


class Request(msgspec.Struct):
    """One line. timestamp: milliseconds; lengths: tokens; hash_ids: the blocks of the input, in order."""

    timestamp: _Natural
    input_length: Annotated[int, msgspec.Meta(ge=1, le=2_147_483_647)]
    output_length: _Count
    hash_ids: list[_Natural]


_LINE = msgspec.json.Decoder(Request)


def _read(file: BinaryIO, options: Options) -> Iterator[Row]:
    start = options.start
    assert start is not None
    lifetime = None if options.block_lifetime is None else options.block_lifetime // _MILLISECOND
    cache = PrefixCache(lifetime, options.capacity_blocks)
    latest = 0

    def convert(number: int, line: bytes) -> NativeEvent:
        nonlocal latest
        request = decode(line)
        if request.timestamp < latest:
            raise InvalidInput("timestamp", request.timestamp, f"is before that of an earlier row, {latest}")
        occurred_at = after(start, request.timestamp * 1_000, "timestamp")
        latest = request.timestamp
        hits = cache.serve(request.timestamp, request.hash_ids)
        usage = NativeUsage(
            input_tokens=request.input_length,
            cache_read_tokens=cached_tokens(hits, request.input_length),
            output_tokens=request.output_length,
        )
        return event(MOONCAKE.name, options, number, occurred_at, usage)

    return converted((line for line in file if not line.isspace()), convert)


def decode(line: bytes) -> Request:
    """A line's request. Raises InvalidInput where it is none, or has not one id for each block begun."""
    try:
        request = _LINE.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise InvalidInput("row", None, str(error)) from error
    blocks = -(-request.input_length // BLOCK_TOKENS)
    if len(request.hash_ids) != blocks:
        raise InvalidInput(
            "hash_ids",
            f"{len(request.hash_ids)} ids",
            f"{blocks} expected: input_length {request.input_length} / {BLOCK_TOKENS}, rounded up",
        )
    return request


MOONCAKE = Source("mooncake", "Mooncake trace: times, tokens and hashes of prefix blocks", True, (), _read)
