"""What can't be compared? Each error names the field and the value."""

from __future__ import annotations

from probe.engine.errors import ProbeError


class QualityRefused(ProbeError):
    """A token set, a model or an option that can't be used. Attributes: field, value."""

    def __init__(self, field: str, value: object, why: str) -> None:
        self.field, self.value = field, value
        super().__init__(f"{field}={value!r}: {why}")
