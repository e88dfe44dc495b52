"""What does one attention layer cache for a token, and in which shapes? MHA, GQA, MQA and MLA as one specification."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

AttentionKind = Literal["mha", "gqa", "mqa", "mla"]


@dataclass(frozen=True)
class AttentionSpec:
    """One layer's attention.

    MLA is multi-query attention over one latent head: keys are the latent and the rotary part, values are the latent, so that
    nothing but the latent row is cached.

    Attributes:
        num_heads: query heads.
        num_kv_heads: heads in the cache (1 for MLA).
        key_dim: width of a cached key row; for MLA kv_lora_rank + qk_rope_head_dim.
        value_dim: width of a value row; for MLA kv_lora_rank, the first columns of the key row.
        shares_key: the values are a part of the keys and are not cached again (MLA).
        scale: factor of the scores.
        window: tokens seen, the token itself included; None sees all.
        has_sinks: a learned logit a head joins the softmax (gpt-oss).
    """

    num_heads: int
    num_kv_heads: int
    key_dim: int
    value_dim: int
    scale: float
    shares_key: bool = False
    window: int | None = None
    has_sinks: bool = False

    @property
    def kind(self) -> AttentionKind:
        if self.shares_key:
            return "mla"
        if self.num_kv_heads == self.num_heads:
            return "mha"
        return "mqa" if self.num_kv_heads == 1 else "gqa"

    @property
    def group_size(self) -> int:
        """Query heads for each cached head."""
        return self.num_heads // self.num_kv_heads

    @property
    def row_elements(self) -> int:
        """Numbers cached a token in one layer: 2 n_kv d (MHA, GQA, MQA) or d_latent + d_rope (MLA)."""
        return self.num_kv_heads * (self.key_dim + (0 if self.shares_key else self.value_dim))

    def bytes_per_token(self, dtype_bytes: int) -> int:
        return self.row_elements * dtype_bytes

    def tokens_held(self, num_tokens: int) -> int:
        """Tokens of a context that this layer must keep."""
        return num_tokens if self.window is None else min(num_tokens, self.window)

    def key_shape(self, num_blocks: int, block_size: int) -> tuple[int, int, int, int]:
        return (num_blocks, block_size, self.num_kv_heads, self.key_dim)

    def value_shape(self, num_blocks: int, block_size: int) -> tuple[int, int, int, int] | None:
        return None if self.shares_key else (num_blocks, block_size, self.num_kv_heads, self.value_dim)
