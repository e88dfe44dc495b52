"""Which cases are there, and how does a test say which of them it answers?"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from typing import Any, TypeVar

import pytest

from tests.shared_data import shared

Case = dict[str, Any]
Test = TypeVar("Test", bound=Callable[..., Any])


@cache
def rows() -> dict[str, Case]:
    """Case by id, in the order of the file."""
    lines = shared("cases/cases.jsonl").read_text(encoding="utf-8").splitlines()
    return {case["id"]: case for case in map(json.loads, lines)}


def row(case_id: str) -> Case:
    """One case of the file."""
    return rows()[case_id]


ANSWERED: set[str] = set()
"""Ids of all cases that a test of the imported modules answers."""


def cases(*ids: str) -> Callable[[Test], Test]:
    """Runs a test once for each case, which it takes as `case_id` and which names it: `test_days[L1]`."""
    ANSWERED.update(ids)
    return pytest.mark.parametrize("case_id", ids)
