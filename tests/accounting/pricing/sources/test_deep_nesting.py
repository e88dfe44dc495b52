"""Is a file of prices whose brackets go too deep refused as what it is?"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from accounting.errors import InvalidInput
from accounting.pricing.sources import exact_yaml, langfuse, litellm, price_file

DEEP = b"[" * 100_000 + b"]" * 100_000
READERS: dict[str, Callable[[bytes], Any]] = {
    "yaml": lambda content: price_file.read_file(content, "yaml", "v"),
    "litellm": lambda content: litellm.read_table(content, "v"),
    "langfuse": lambda content: langfuse.read_table(content, "v"),
    "contract": exact_yaml.load,
}


@pytest.mark.parametrize("name", READERS)
def test_brackets_that_go_too_deep_are_refused(name: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        READERS[name](DEEP)
    assert refused.value.field == "file"
