"""Which text can the database not hold? PostgreSQL takes every character but U+0000."""

from __future__ import annotations

import msgspec


def unstorable(record: msgspec.Struct) -> str | None:
    """Name of the first field whose text, or a key or value of whose mapping, holds U+0000; None where all can be stored."""
    for name in record.__struct_fields__:
        value = getattr(record, name)
        texts = [*value, *value.values()] if isinstance(value, dict) else [value]
        if any(isinstance(text, str) and "\x00" in text for text in texts):
            return name
    return None


REASON = "holds the character U+0000"


def readable(text: str) -> str:
    """The same text as an answer may repeat it."""
    return text.replace("\x00", "\\u0000")
