"""What can the engine refuse? Each error names the field and the value."""

from __future__ import annotations


class ProbeError(Exception):
    """Something the probe refuses or cannot do."""


class UnsupportedConfig(ProbeError):
    """A model configuration this engine does not run. Attributes: field: its name in config.json; value: what it held."""

    def __init__(self, field: str, value: object, why: str) -> None:
        self.field, self.value = field, value
        super().__init__(f"config.json {field} = {value!r}: {why}")


class RequestRefused(ProbeError):
    """A request that could never run here; refused at admission, nothing was allocated.

    Attributes: field: the request's; value: what it held; why: the limit it breaks.
    """

    def __init__(self, request_id: str, field: str, value: object, why: str) -> None:
        self.request_id, self.field, self.value, self.why = request_id, field, value, why
        super().__init__(f"request {request_id!r}: {field} = {value!r}: {why}")


class OutOfBlocks(ProbeError):
    """No KV block is free; the scheduler preempts, so it leaves the engine only as one request's error."""


class IntegrityError(ProbeError):
    """The KV cache's books don't balance."""
