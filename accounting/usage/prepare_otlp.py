"""How do the spans of an OTLP export become the same checked columns as native events?"""

from __future__ import annotations

from datetime import datetime

from accounting.errors import InvalidInput
from accounting.usage.calls import WireRead, keep
from accounting.usage.columns import Prepared
from accounting.usage.formats.evidence import shown
from accounting.usage.formats.otlp_attributes import NAME
from accounting.usage.otlp.export import exported
from accounting.usage.otlp.spans import calls
from accounting.usage.parse import Rejection
from accounting.usage.prepare_wire import prepare_read
from accounting.usage.wire import Context


def prepare_otlp(body: bytes, now: datetime, *, protobuf: bool) -> Prepared:
    """Reads and checks one ExportTraceServiceRequest, protobuf or JSON; spans that are no model calls are left out.

    Raises InvalidInput where the request as a whole can't be read.
    """
    found = WireRead(NAME)
    nothing = Context()
    for index, span in enumerate(exported(body, protobuf=protobuf)):
        if isinstance(span, InvalidInput):
            found.rejected.append(Rejection(index, None, span.field, shown(span.value), span.reason))
        else:
            keep(found, index, calls((span,), nothing), nothing, NAME)
    return prepare_read(found, now)
