"""What is one KV block?"""

from __future__ import annotations

from dataclasses import dataclass

from probe.engine.kv.prefix import ROOT

NULL_BLOCK = -1  # in a table: the window has passed, there is no block


@dataclass(slots=True)
class Block:
    """Attributes: hash, parent, token_ids: of its contents once they are full and computed; else None, ROOT and ()."""

    block_id: int
    ref_count: int = 0
    group: int = 0
    hash: bytes | None = None
    parent: bytes = ROOT
    token_ids: tuple[int, ...] = ()
