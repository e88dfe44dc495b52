"""Which spans does an export request hold, and which of them can't be read? One broken span costs no other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from accounting.errors import InvalidInput
from accounting.usage.otlp.decode import Span, from_json, from_protobuf, from_tree
from accounting.usage.otlp.vocabulary import wanted


def exported(body: bytes, *, protobuf: bool) -> list[Span | InvalidInput]:
    """Every span in its order, or what is wrong with it. Raises InvalidInput where the request as a whole can't be read, or is none."""
    if protobuf:
        return list(from_protobuf(body, wanted))
    try:
        spans = from_json(body, wanted)
    except InvalidInput as error:
        return list(_one_by_one(body, error))
    if not spans:
        _refuse_other(body)
    return list(spans)


def _refuse_other(body: bytes) -> None:
    """Raises InvalidInput for an object that has other things than spans; an empty one is an export without any."""
    names = msgspec.json.decode(body, type=dict[str, msgspec.Raw]).keys()
    if names and not {"resourceSpans", "resource_spans"} & names:
        raise InvalidInput("resourceSpans", None, f"an OTLP export has it; this has {', '.join(sorted(names)[:5])}")


def _one_by_one(body: bytes, whole: InvalidInput) -> Iterator[Span | InvalidInput]:
    """The slow way, for a request with something broken in it. Raises `whole` where the request is no JSON object."""
    try:
        request = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise whole from None
    if not isinstance(request, dict):
        raise whole
    for resource in _items(request, "resourceSpans", "resource_spans"):
        for scope in _items(resource, "scopeSpans", "scope_spans"):
            for span in _items(scope, "spans"):
                yield from _read(span, resource)


def _items(parent: object, *names: str) -> list[Any]:
    """The list under the first name stated; a parent or a value of another kind stands for one broken span."""
    if not isinstance(parent, Mapping):
        return [parent]
    found: Any = next((parent[name] for name in names if parent.get(name) is not None), [])
    return found if isinstance(found, list) else [found]


def _read(span: object, resource: object) -> Iterator[Span | InvalidInput]:
    about = resource.get("resource") if isinstance(resource, Mapping) else None
    alone = {"resourceSpans": [{"resource": about, "scopeSpans": [{"spans": [span]}]}]}
    try:
        yield from from_tree(alone, wanted)
    except InvalidInput as error:
        yield error
