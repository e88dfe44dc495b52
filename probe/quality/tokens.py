"""On which tokens are two models compared? A fixed set: this package's own text, or sequences of ids from a file."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path

from probe.quality.errors import QualityRefused
from probe.server.text import Text

_PROSE = Path(__file__).with_name("prose.txt")


@dataclass(frozen=True)
class TokenSet:
    """Attributes: name: with a hash of the ids, so that two results are known to speak of the same tokens."""

    name: str
    sequences: list[list[int]]


def own_prose(tokenizer: Path) -> TokenSet:
    """Each paragraph of the package's text by a model's tokenizer."""
    text = Text(tokenizer)
    paragraphs = _PROSE.read_text(encoding="utf-8").split("\n\n")
    return _named("prose", [ids for ids in (text.encode(one.strip()) for one in paragraphs) if len(ids) > 1])


def from_file(path: Path) -> TokenSet:
    """A JSON list of lists of token ids. Raises QualityRefused naming what is none."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise QualityRefused("tokens", str(path), f"not JSON: {error}") from None
    if not isinstance(found, list) or not all(
        isinstance(one, list) and len(one) > 1 and all(isinstance(token, int) for token in one) for one in found
    ):
        raise QualityRefused("tokens", str(path), "a list of lists of at least two token ids is expected")
    return _named(path.stem, found)


def _named(stem: str, sequences: list[list[int]]) -> TokenSet:
    digest = hashlib.sha256(json.dumps(sequences).encode()).hexdigest()[:12]
    return TokenSet(f"{stem} {digest}", sequences)
