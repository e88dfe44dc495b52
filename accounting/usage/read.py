"""How are wire bodies read? By the module of their format, call by call; what contradicts itself is kept, nothing is dropped."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import count
from types import ModuleType

from accounting.errors import InvalidInput
from accounting.usage.calls import Booked, WireRead, evidence, keep
from accounting.usage.formats.registry import FORMATS, choose
from accounting.usage.items import Pair, contexts
from accounting.usage.parse import Rejection, shown
from accounting.usage.wire import Body, Call, Context, UsageContradiction

__all__ = ["Booked", "WireRead", "contexts", "evidence", "read"]


def read(wire_format: str, pairs: Iterable[Pair], indexes: Iterable[int] | None = None) -> WireRead:
    """Reads (body, context) pairs of one format, `indexes` being their positions in what was sent; else they are counted.

    A body without any model call is rejected, so that what was sent and what became of it can be held against each other. Raises
    InvalidInput for a format that no module has.
    """
    if wire_format not in FORMATS:
        raise InvalidInput("format", wire_format, f"is none of {', '.join(sorted(FORMATS))}")
    result = WireRead(wire_format)
    for index, (body, context) in zip(count() if indexes is None else indexes, pairs, strict=False):
        if isinstance(context, Rejection):
            result.rejected.append(context)
            continue
        before = result.calls
        try:
            _read(result, index, choose(wire_format, context), body, context)
        except RecursionError:
            result.rejected.append(Rejection(index, context.event_id, "response", None, "is nested too deeply"))
        if result.calls == before:
            result.rejected.append(Rejection(index, context.event_id, "response", None, "holds no model call"))
    return result


def _read(result: WireRead, index: int, module: ModuleType, body: Body | list[Body], context: Context) -> None:
    """Reads one body, piece by piece where its format may hold many calls: what is wrong with one costs no other."""
    pieces = module.split(body) if hasattr(module, "split") else [body]
    if len(pieces) > 1 and context.event_id is not None:
        reason = f"is the id of one call, the body holds {len(pieces)}"
        result.rejected.append(Rejection(index, context.event_id, "context.event_id", context.event_id, reason))
        return
    for piece in pieces:
        try:
            calls: list[Call | UsageContradiction] = list(module.read(piece, context))
        except UsageContradiction as contradiction:
            calls = [contradiction]
        except InvalidInput as error:
            result.rejected.append(Rejection(index, context.event_id, error.field, shown(error.value), error.reason))
            continue
        keep(result, index, calls, context, module.NAME)
