"""How are the fields of one of Stripe's objects read: ids, references, moments, flags, objects within objects?

What is not there is None or empty; what is there in another shape than Stripe's is refused with the field and the value.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from accounting.errors import InvalidInput
from accounting.revenue.subscriptions import text_of

Object = Mapping[str, Any]
LATEST = int(datetime(2200, 1, 1, tzinfo=UTC).timestamp())


class Skipped(Exception):
    """An object that books nothing, with the reason in words."""


def map_of(holder: Object, name: str) -> Object:
    """The object within an object; an empty one where there is none, or only its id."""
    value = holder.get(name)
    if isinstance(value, Mapping):
        return value
    if value is None or value == [] or isinstance(value, str):  # an empty object may be written as an empty list
        return {}
    raise InvalidInput(name, value, "an object is expected")


def list_of(holder: Object, name: str) -> list[Object]:
    """The objects of a list; none where there is no list."""
    value = holder.get(name)
    if value is None:
        return []
    if not isinstance(value, list) or not all(isinstance(one, Mapping) for one in value):
        raise InvalidInput(name, value, "a list of objects is expected")
    return value


def complete(holder: Object, name: str) -> list[Object]:
    """All entries of a list inside an object; a list that goes on elsewhere is refused, or amounts would be lost."""
    inner = map_of(holder, name)
    if not isinstance(inner.get("data"), list):
        raise InvalidInput(name, inner.get("data"), f"{id_of(holder)} has no list of them")
    if inner.get("has_more"):
        raise InvalidInput(f"{name}.has_more", True, f"{id_of(holder)} has more {name} than are here; fetch them all")
    return list_of(inner, "data")


def id_of(thing: Object) -> str:
    """The object's own id: an object without one can't be told from another."""
    return text_of("id", thing.get("id"))


def reference(holder: Object, name: str) -> str | None:
    """The id of another object, given as one or expanded; None where there is none."""
    value = holder.get(name)
    if isinstance(value, Mapping):
        return id_of(value)
    return None if value is None or value == "" else text_of(name, value)


def told(holder: Object, name: str) -> str | None:
    """A text of metadata; None where there is none."""
    value = map_of(holder, "metadata").get(name)
    return None if value is None or value == "" else text_of(f"metadata.{name}", value)


def flag(field: str, value: object) -> bool | None:
    """True, false or not stated."""
    if value is not None and not isinstance(value, bool):
        raise InvalidInput(field, value, "true or false is expected")
    return value


def moment(field: str, value: object) -> datetime:
    """A moment in whole seconds since 1970, UTC."""
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < LATEST:
        raise InvalidInput(field, value, "a moment in whole seconds since 1970, before 2200, is expected")
    return datetime.fromtimestamp(value, UTC)


def first_moment(*fields: tuple[Object, str]) -> datetime:
    """The first of these fields that is there."""
    holder, name = next((one for one in fields if one[0].get(one[1]) is not None), fields[-1])
    return moment(name, holder.get(name))
