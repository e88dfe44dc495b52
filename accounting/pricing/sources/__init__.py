"""Which sources of prices can be imported, and how is each read? Bytes in, a `Statement` out."""

from __future__ import annotations

from collections.abc import Sequence

from accounting.errors import InvalidInput
from accounting.pricing.sources import langfuse, litellm, price_file
from accounting.pricing.sources.statement import Statement
from accounting.pricing.tariff import Tariff

FILES = (price_file.CSV, price_file.YAML, litellm.SOURCE, langfuse.SOURCE)
"""Sources that are files; the first source of all, genai-prices, is a package (genai_prices_source.py)."""

TYPED = (price_file.CSV, price_file.YAML)
"""Those that a person types, so that their prices are compared with known ones."""


def read(source: str, content: bytes, source_version: str, siblings: Sequence[Tariff] = ()) -> Statement:
    """What a file of a source states; `siblings` are known rows, with which typed-in prices are compared. Raises InvalidInput."""
    if source == litellm.SOURCE:
        return litellm.read_table(content, source_version)
    if source == langfuse.SOURCE:
        return langfuse.read_table(content, source_version)
    if source in TYPED:
        return price_file.read_file(content, source, source_version, siblings)
    raise InvalidInput("source", source, f"must be one of {', '.join(FILES)}")
