"""How do the spans of an OTLP export become the same checked columns as native events?"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from accounting.errors import InvalidInput
from accounting.usage.calls import WireRead, keep
from accounting.usage.columns import Prepared
from accounting.usage.formats.evidence import shown
from accounting.usage.formats.otlp_attributes import NAME
from accounting.usage.otlp.decode import Span
from accounting.usage.otlp.export import exported
from accounting.usage.otlp.plain import read_plain
from accounting.usage.otlp.spans import calls
from accounting.usage.parse import Rejection
from accounting.usage.prepare_wire import prepare_read
from accounting.usage.wire import Context


def prepare_otlp(body: bytes, now: datetime, *, protobuf: bool) -> Prepared:
    """Reads and checks one ExportTraceServiceRequest, protobuf or JSON; spans that are no model calls are left out.

    Spans that look alike are read together, whatever is unusual span by span. Raises InvalidInput where the request as a whole
    can't be read.
    """
    found, spans = WireRead(NAME), []
    for index, span in enumerate(exported(body, protobuf=protobuf)):
        if isinstance(span, InvalidInput):
            found.rejected.append(Rejection(index, None, span.field, shown(span.value), span.reason))
        else:
            spans.append((index, span))
    found.booked, rest = read_plain(spans)
    read_each(found, rest)
    found.booked.sort(key=lambda booked: booked.index)
    return prepare_read(found, now)


def read_each(found: WireRead, spans: Iterable[tuple[int, Span]]) -> None:
    """The general way: adds what every single span says."""
    nothing = Context()
    for index, span in spans:
        keep(found, index, calls((span,), nothing), nothing, NAME)
