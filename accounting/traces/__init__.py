"""Which public request traces can be read as if they were logs?"""

from __future__ import annotations

from accounting.traces.azure import AZURE
from accounting.traces.inferencex import INFERENCEX
from accounting.traces.mooncake import MOONCAKE
from accounting.traces.servegen import SERVEGEN
from accounting.traces.trace import Source

SOURCES: dict[str, Source] = {source.name: source for source in (AZURE, INFERENCEX, MOONCAKE, SERVEGEN)}

__all__ = ["SOURCES", "Source"]
