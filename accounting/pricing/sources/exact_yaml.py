"""How is YAML read without a number ever becoming a float? Decimals and dates stay text; whole numbers, null and true are read."""

from __future__ import annotations

from typing import Any

import yaml

from accounting.errors import InvalidInput

_LEFT_AS_TEXT = ("tag:yaml.org,2002:float", "tag:yaml.org,2002:timestamp")


class _ExactLoader(yaml.SafeLoader):  # type: ignore[misc]
    """The safe loader, with fewer readings of plain scalars."""


_ExactLoader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag not in _LEFT_AS_TEXT]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


def load(content: bytes) -> Any:
    """What a YAML or JSON document says. Raises InvalidInput."""
    try:
        return yaml.load(content.decode("utf-8-sig"), Loader=_ExactLoader)
    except (yaml.YAMLError, UnicodeDecodeError, RecursionError) as error:
        raise InvalidInput("file", " ".join(str(error).split()), "is neither YAML nor JSON") from error
