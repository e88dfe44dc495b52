"""What do rows of the Azure LLM inference traces say?

Layout of Azure/AzurePublicDataset (2023 and 2024 files): TIMESTAMP, ContextTokens, GeneratedTokens. The 2023 times have seven
fractional digits and no zone; UTC is assumed. There is no model, user or cache column.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO

from accounting.traces.fields import clock_time, count
from accounting.traces.table import Table
from accounting.traces.trace import NONE, UNKNOWN, Clock, Options, Row, Source, converted, event, stated_cache_read
from accounting.usage.native import NativeEvent, NativeUsage


def _read(file: BinaryIO, options: Options) -> Iterator[Row]:
    table = Table(file, AZURE.name, ("TIMESTAMP", "ContextTokens", "GeneratedTokens"))
    clock = Clock(options.start)
    cache_read = stated_cache_read(options)

    def convert(number: int, row: list[str]) -> NativeEvent:
        named = table.pick(row)
        usage = NativeUsage(
            input_tokens=count(named["ContextTokens"], "ContextTokens"),
            cache_read_tokens=cache_read,
            output_tokens=count(named["GeneratedTokens"], "GeneratedTokens"),
        )
        return event(AZURE.name, options, number, clock.at(clock_time(named["TIMESTAMP"], "TIMESTAMP")), usage)

    return converted(table.rows, convert)


AZURE = Source("azure", "Azure LLM inference trace: times and tokens", False, (UNKNOWN, NONE), _read)
