"""How long do tests of the demo wait?"""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest


@pytest.fixture
def wait_until() -> Callable[[Callable[[], bool]], None]:
    """Returns when the condition holds; fails after two minutes."""

    def wait(condition: Callable[[], bool]) -> None:
        deadline = time.monotonic() + 120
        while not condition():
            assert time.monotonic() < deadline, "it took more than two minutes"
            time.sleep(0.1)

    return wait
