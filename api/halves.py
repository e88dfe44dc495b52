"""Which text of a JSON body can no database and no answer hold? Halves of surrogate pairs: JSON may spell them, UTF-8 can't."""

from __future__ import annotations

import re

from accounting.errors import InvalidInput

_HALF = re.compile("[\ud800-\udfff]")


def refuse_halves(name: str, body: object) -> None:
    """Raises InvalidInput for the first key or text with half of a pair, named by its place from `name` on.

    For a body of any shape: the fields of a schema are refused by the schema.
    """
    left = [(name, body)]
    while left:
        place, value = left.pop()
        if isinstance(value, str) and _HALF.search(value):
            raise InvalidInput(place, value, "holds half of a surrogate pair")
        if isinstance(value, dict):
            for key in value:
                if _HALF.search(key):
                    raise InvalidInput(place, key, "has a key that holds half of a surrogate pair")
            left += [(f"{place}.{key}", one) for key, one in reversed(value.items())]
        elif isinstance(value, list):
            left += [(f"{place}[{at}]", one) for at, one in reversed(list(enumerate(value)))]
