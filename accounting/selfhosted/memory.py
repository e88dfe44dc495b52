"""How many sequences of a length fit into a replica's KV cache?"""

from __future__ import annotations

from dataclasses import dataclass

from accounting.errors import InvalidInput


@dataclass(frozen=True)
class LayerGroup:
    """Layers that cache alike.

    Attributes:
        layers: how many.
        bytes_per_token: of one layer and one token: 2 * n_kv * d_head * bytes (MHA, GQA, MQA), (d_latent + d_rope) * bytes (MLA).
        window: tokens a sliding-window layer holds; None holds all.
    """

    layers: int
    bytes_per_token: int
    window: int | None = None

    def __post_init__(self) -> None:
        for name, value in (
            ("layers", self.layers),
            ("bytes_per_token", self.bytes_per_token),
            ("window", self.window),
        ):
            if value is not None and value < 1:
                raise InvalidInput(f"memory.groups.{name}", value, "a whole number from 1 is expected")


@dataclass(frozen=True)
class Memory:
    """The KV cache of one replica.

    Attributes:
        kv_bytes: what weights, activations and a draft model leave, over all GPUs of the replica.
        block_size: tokens of a block.
        replication: times each token is held; tensor parallelism copies the cache where it exceeds the kv heads (see `replication`).
        groups: the layers.
    """

    kv_bytes: int
    block_size: int
    replication: int
    groups: tuple[LayerGroup, ...]

    def __post_init__(self) -> None:
        for name in ("kv_bytes", "block_size", "replication"):
            if getattr(self, name) < 1:
                raise InvalidInput(f"memory.{name}", getattr(self, name), "a whole number from 1 is expected")
        if not self.groups:
            raise InvalidInput("memory.groups", self.groups, "at least one group of layers is expected")

    def sequence_bytes(self, context_tokens: int) -> int:
        """Bytes that one sequence of `context_tokens` holds, whole blocks in every layer."""
        if context_tokens < 1:
            raise InvalidInput("context_tokens", context_tokens, "a whole number from 1 is expected")
        held = (
            group.layers
            * group.bytes_per_token
            * -(-min(context_tokens, group.window or context_tokens) // self.block_size)
            for group in self.groups
        )
        return self.replication * self.block_size * sum(held)

    def achievable_batch(self, context_tokens: int) -> int:
        """Sequences of that peak length that fit at once; 0 when not even one does."""
        return self.kv_bytes // self.sequence_bytes(context_tokens)

    def capacity_tokens(self) -> int | None:
        """Tokens that fit in all, rounded down to blocks; None where a window makes that depend on the lengths."""
        if any(group.window is not None for group in self.groups):
            return None
        block = self.replication * self.block_size * sum(group.layers * group.bytes_per_token for group in self.groups)
        return self.kv_bytes // block * self.block_size


def replication(tensor_parallel: int, kv_heads: int | None) -> int:
    """How often tensor parallelism holds each token: TP / n_kv above the kv heads, TP for MLA (`kv_heads` None), else once."""
    if tensor_parallel < 1:
        raise InvalidInput("tensor_parallel", tensor_parallel, "a whole number from 1 is expected")
    heads = 1 if kv_heads is None else kv_heads
    if tensor_parallel > heads and tensor_parallel % heads:
        raise InvalidInput(
            "tensor_parallel", tensor_parallel, f"a multiple of the {heads} kv heads is expected above them"
        )
    return max(1, tensor_parallel // heads)
