"""Which text can the database not hold? PostgreSQL takes every character but U+0000."""

from __future__ import annotations

import msgspec

REASON = "holds the character U+0000"
_ENCODER = msgspec.json.Encoder()


def unstorable(record: msgspec.Struct) -> str | None:
    """Name of the first field whose text, or a key or value of whose mapping, holds U+0000; None where all can be stored."""
    if b"\\u0000" not in _ENCODER.encode(record):
        return None
    # The JSON of a text that spells out the six characters of the escape looks the same.
    for name in record.__struct_fields__:
        value = getattr(record, name)
        texts = [*value, *value.values()] if isinstance(value, dict) else [value]
        if any(isinstance(text, str) and "\x00" in text for text in texts):
            return name
    return None


def readable(text: str) -> str:
    """The same text as an answer may repeat it."""
    return text.replace("\x00", "\\u0000")
