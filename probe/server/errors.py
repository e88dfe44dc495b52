"""How does the server say what was wrong? In OpenAI's error body, with the field's name."""

from __future__ import annotations

from typing import Any


class ServerError(Exception):
    """A request that isn't answered. Attributes: status: of HTTP; param: the field; kind: OpenAI's error type."""

    def __init__(self, message: str, param: str | None = None, status: int = 400) -> None:
        super().__init__(message)
        self.message, self.param, self.status = message, param, status
        self.kind = {404: "not_found_error", 503: "service_unavailable"}.get(status) or (
            "invalid_request_error" if status < 500 else "server_error"
        )

    def body(self) -> dict[str, Any]:
        return {"error": {"message": self.message, "type": self.kind, "param": self.param, "code": self.status}}


class Unsupported(ServerError):
    """A field whose value would change the answer in a way that this engine can't."""

    def __init__(self, field: str, value: object) -> None:
        super().__init__(f"{field}: {value!r} is not supported", field)
