"""What can't be measured, and what turned out not to be what was meant to be measured?"""

from __future__ import annotations

from probe.engine.errors import ProbeError


class MeasureRefused(ProbeError):
    """An option or a grid that can't be measured. Attributes: field, value."""

    def __init__(self, field: str, value: object, why: str) -> None:
        self.field, self.value = field, value
        super().__init__(f"{field}={value!r}: {why}")


class NotAsPlanned(ProbeError):
    """The engine ran another step than the shape says: nothing of it may count. Attributes: shape, field, value, wanted."""

    def __init__(self, shape: str, field: str, value: object, wanted: object) -> None:
        self.shape, self.field, self.value, self.wanted = shape, field, value, wanted
        super().__init__(f"{shape}: {field}={value!r}, {wanted!r} was planned")
