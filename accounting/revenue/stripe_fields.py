"""How are the fields of one of Stripe's objects read: ids, references, moments, objects within objects?"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from accounting.errors import InvalidInput

Object = Mapping[str, Any]


class Skipped(Exception):
    """An object that books nothing, with the reason in words."""


def map_of(holder: Object, name: str) -> Object:
    """The object within an object; an empty one where there is none."""
    value = holder.get(name)
    return value if isinstance(value, Mapping) else {}


def id_of(thing: Object) -> str:
    """The object's own id. Raises InvalidInput where it has none."""
    value = thing.get("id")
    if not isinstance(value, str) or not value:
        raise InvalidInput("id", value, "an object without an id can't be told from another")
    return value


def reference(value: object) -> str | None:
    """The id of another object, given as one or expanded."""
    if isinstance(value, Mapping):
        return id_of(value)
    return value if isinstance(value, str) and value else None


def moment(field: str, value: object) -> datetime:
    """A moment in whole seconds since 1970, UTC. Raises InvalidInput for anything else."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise InvalidInput(field, value, "a moment in whole seconds since 1970 is expected")
    return datetime.fromtimestamp(value, UTC)
