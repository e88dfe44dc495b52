"""Which name does a block of tokens have, so that the same prefix gets the same name in every process?"""

from __future__ import annotations

import hashlib
from array import array
from collections.abc import Sequence

# Python's own hash() is salted a process and 64 bits wide; names made by it could be neither compared nor trusted.
ROOT = b"tokencogs-kv-1"
DIGEST_BYTES = 16


def block_hash(parent: bytes, token_ids: Sequence[int]) -> bytes:
    """16-byte blake2b of (parent's hash, tokens as little-endian int64); `parent` is ROOT for a first block."""
    return hashlib.blake2b(parent + _encode(token_ids), digest_size=DIGEST_BYTES).digest()


def extend_hashes(hashes: list[bytes], token_ids: Sequence[int], block_size: int) -> None:
    """Appends the names of the full blocks that have none yet, so that no token is hashed twice."""
    for index in range(len(hashes), len(token_ids) // block_size):
        parent = hashes[-1] if hashes else ROOT
        hashes.append(block_hash(parent, token_ids[index * block_size : (index + 1) * block_size]))


def _encode(token_ids: Sequence[int]) -> bytes:
    encoded = array("q", token_ids)
    if encoded.itemsize != 8 or array("H", [1]).tobytes() != b"\x01\x00":
        return b"".join(int(token).to_bytes(8, "little", signed=True) for token in token_ids)
    return encoded.tobytes()
