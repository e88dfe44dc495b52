"""Which colours, dashes and patterns do charts use, so that light, dark and colour-blind eyes tell them apart?"""

from __future__ import annotations

from typing import Any

SERIES = ("#0072B2", "#D55E00", "#009E73", "#C0669B", "#A87700", "#7A7AE0", "#7F7F7F", "#B5525C")
"""Okabe and Ito's order and hues, the bright ones darkened: each has a contrast of 3 or more to white and to the dark background."""
GAIN, LOSS, NEUTRAL = "#0072B2", "#D55E00", "#7F7F7F"
"""Blue and vermilion instead of green and red; the sign of each figure is written beside it."""
DASHES = ("solid", "dash", "dot", "dashdot", "longdash", "longdashdot")
SYMBOLS = ("circle", "square", "diamond", "triangle-up", "x", "cross", "star", "pentagon")
PATTERNS = ("", "/", "x", ".", "\\", "-", "+", "|")
SCALE = "Cividis"
"""Even in lightness, and the same for eyes without red or green."""


def series(number: int) -> str:
    """The colour of the n-th series."""
    return SERIES[number % len(SERIES)]


def dash(number: int) -> str:
    """The dash of the n-th line."""
    return DASHES[number % len(DASHES)]


def symbol(number: int) -> str:
    """The marker of the n-th series."""
    return SYMBOLS[number % len(SYMBOLS)]


def pattern(number: int) -> str:
    """The filling of the n-th bar; moved on by one where colours begin anew, so that two bars are alike only after all pairs."""
    return PATTERNS[(number + number // len(SERIES)) % len(PATTERNS)]


def filling(shape: str) -> dict[str, Any]:
    """A pattern in white over the bar's own colour."""
    return {"shape": shape, "fillmode": "overlay", "fgcolor": "rgba(255,255,255,0.6)", "solidity": 0.2, "size": 7}
