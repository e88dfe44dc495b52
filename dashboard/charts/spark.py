"""How did a figure run over the days, at the size of a word? An inline drawing that takes the text's colour."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

WIDTH, HEIGHT, EDGE = 96, 20, 2


def spark(values: Sequence[str | None], said: str) -> str:
    """An SVG line from the first value to the last, from 0 to the largest; a hole where a value is None.

    `said` describes it to those who hear pages. Without any value it is empty.
    """
    heights = [None if value is None else float(value) for value in values]
    known = [height for height in heights if height is not None]
    if not known:
        return ""
    low, high = min(0.0, *known), max(0.0, *known)
    span, step = (high - low) or 1.0, (WIDTH - 2 * EDGE) / max(len(heights) - 1, 1)
    pieces: list[list[str]] = [[]]
    for number, height in enumerate(heights):
        if height is None:
            pieces.append([])
        else:
            up = HEIGHT - EDGE - (height - low) / span * (HEIGHT - 2 * EDGE)
            pieces[-1].append(f"{EDGE + number * step:.1f},{up:.1f}")
    drawn = "".join(f'<polyline points="{" ".join(piece)}"/>' for piece in pieces if piece)
    return (
        f'<svg role="img" aria-label="{escape(said, quote=True)}" width="{WIDTH}" height="{HEIGHT}" viewBox="0 0 {WIDTH} {HEIGHT}" '
        f'fill="none" stroke="currentColor" stroke-width="1.5">{drawn}</svg>'
    )
