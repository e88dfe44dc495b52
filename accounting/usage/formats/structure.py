"""How are lists of objects, moments and modality splits read from a wire body whose types can't be trusted?"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import msgspec

from accounting.usage.formats.counts import value_at
from accounting.usage.formats.evidence import shown
from accounting.usage.formats.fields import seconds
from accounting.usage.wire import UsageContradiction


def mappings(value: object) -> list[Mapping[str, Any]]:
    """The objects of a list; of anything else none."""
    return [item for item in value if isinstance(item, Mapping)] if isinstance(value, list | tuple) else []


def mapping(value: object) -> Mapping[str, Any]:
    """The object itself; of anything else an empty one."""
    return value if isinstance(value, Mapping) else {}


def items(body: Mapping[str, Any], name: str, evidence: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The objects of the list of this name, none where it is absent or null. Raises UsageContradiction `not_a_list`, `not_an_object`."""
    found = body.get(name)
    if found is None:
        return []
    if not isinstance(found, list):
        raise UsageContradiction("not_a_list", f"{name} is {shown(found)}", evidence)
    for place, item in enumerate(found):
        if not isinstance(item, Mapping):
            raise UsageContradiction("not_an_object", f"{name}.{place} is {shown(item)}", evidence)
    return found


def json_object(value: object, kind: type = dict) -> Any:
    """An object, also where it is JSON inside a string, as databases and exports have it; anything else is an empty one."""
    if isinstance(value, str):
        try:
            value = msgspec.json.decode(value)
        except (msgspec.DecodeError, RecursionError):
            return kind()
    return value if isinstance(value, kind) else kind()


def moment(body: Mapping[str, Any], path: str) -> datetime | None:
    """The moment at a dotted path: seconds since the epoch, or ISO 8601, without a zone in UTC as collectors store it; else None."""
    value = value_at(body, path)
    if not isinstance(value, str):
        return seconds(body, path)
    try:
        read = datetime.fromisoformat(value)
    except ValueError:
        return None
    return (read if read.tzinfo else read.replace(tzinfo=UTC)).astimezone(UTC) if 2000 <= read.year < 2100 else None


def cached_split(whole: Mapping[str, int], cached: int, stated: Mapping[str, int]) -> tuple[dict[str, int], bool]:
    """How many cached tokens each modality has, and whether that is certain.

    Args:
        whole: tokens by modality, cache included; cached: of all modalities; stated: cached by modality as far as the body says.

    What is not stated goes to the modalities in the order of `whole`, its text first; certain where only one way remains.
    """
    split = {modality: min(stated.get(modality, 0), tokens) for modality, tokens in whole.items()}
    rest = cached - sum(stated.values())
    room = [modality for modality, tokens in whole.items() if tokens > split[modality]]
    certain = rest <= 0 or len(room) <= 1 or rest == sum(whole[modality] - split[modality] for modality in room)
    for modality in room:
        taken = min(max(rest, 0), whole[modality] - split[modality])
        split[modality] += taken
        rest -= taken
    return split, certain
