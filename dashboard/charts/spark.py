"""How did a figure run over the days, at the size of a word? An image inside the page, in a colour seen on light and dark."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Sequence
from html import escape

from dashboard.charts.colours import GAIN

WIDTH, HEIGHT, EDGE = 96, 20, 2


def spark(values: Sequence[str | None], said: str) -> str:
    """HTML of an image: `drawing`, or nothing without any value. `said` describes it to those who hear pages."""
    picture = drawing(values)
    data = b64encode(picture.encode()).decode()
    return (
        f'<img alt="{escape(said, quote=True)}" width="{WIDTH}" height="{HEIGHT}" src="data:image/svg+xml;base64,{data}">'
        if picture
        else ""
    )


def drawing(values: Sequence[str | None]) -> str:
    """SVG of a line from the first value to the last, from 0 to the largest; a hole where a value is None; empty without any value."""
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
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" viewBox="0 0 {WIDTH} {HEIGHT}" '
        f'fill="none" stroke="{GAIN}" stroke-width="1.5">{drawn}</svg>'
    )
