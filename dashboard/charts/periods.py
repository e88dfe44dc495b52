"""How do days and months stand below an axis, so that they can be read on a phone too?"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from typing import Any

MOST_TICKS = 7


def ticks(values: Sequence[Any]) -> dict[str, Any]:
    """Settings of an axis of categories: at most MOST_TICKS names, evenly apart, and days without their year after the first."""
    every = -(-len(values) // MOST_TICKS) or 1
    chosen = [str(value) for value in values[::every]]
    names = [_name(value, number == 0) for number, value in enumerate(chosen)]
    return {"tickvals": chosen, "ticktext": names, "tickangle": 0}


def dated(values: Sequence[Any]) -> bool:
    """Whether they are periods, which keep their sense where some names are left out."""
    return bool(values) and all(_period(str(value)) for value in values)


def _period(text: str) -> bool:
    return len(text) >= len("2026-10") and text[:4].isdecimal() and text[4] == "-" and text[5:7].isdecimal()


def _name(text: str, first: bool) -> str:
    try:
        day = date.fromisoformat(text)
    except ValueError:
        return text.replace("T", "<br>")
    return f"{day.day} {day:%b}" + (f"<br>{day.year}" if first else "")
