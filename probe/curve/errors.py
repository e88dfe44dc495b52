"""What do curves, fits and imports refuse? Each error names the field and the value."""

from __future__ import annotations

import re
from typing import Any

from probe.engine.errors import ProbeError


class CurveRefused(ProbeError):
    """A file, a point or an option that can't be used. Attributes: field, value, why."""

    def __init__(self, field: str, value: object, why: str) -> None:
        self.field, self.value, self.why = field, value, why
        super().__init__(f"{field}={value!r}: {why}")


def value_at(document: Any, path: str) -> Any:
    """What stands at a path like .points[0].seconds; the beginning of what is large."""
    for key, index in re.findall(r"\.([^.\[`]+)|\[([^\]]*)\]", path):
        if index == "...":  # msgspec does not say which of a mapping's values it is
            break
        document = document[int(index)] if index else document.get(key)
    return document if isinstance(document, int | float | None) else str(document)[:60]
