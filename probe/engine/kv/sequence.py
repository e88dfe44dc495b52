"""Where does one request stand: its tokens, how many are computed, which blocks it holds?"""

from __future__ import annotations

from enum import Enum, auto

from probe.engine.interfaces import Draft, FinishReason, SamplingParams


class SequenceStatus(Enum):
    WAITING = auto()
    RUNNING = auto()
    FINISHED = auto()


class Sequence:
    """One output of one request; n outputs are n sequences that share blocks.

    There are no phases: a step computes `num_tokens - num_computed_tokens` tokens or a part of them, and a sequence gets its next
    token when none is left. Preemption sets `num_computed_tokens` to 0 and keeps the tokens.

    Attributes:
        token_ids: prompt, then output.
        num_computed_tokens: leading tokens whose keys and values are in the cache.
        block_tables: one list a KV group; NULL_BLOCK where a window has passed.
        num_cached_tokens: prompt tokens found in the cache at first admission; None before it.
        unrecorded_hit: tokens found in the cache at its latest admission, until a step's record has said so; then None.
        num_registered_blocks: leading blocks already offered to the prefix cache.
        max_computed_tokens: the most ever computed; what lies below and is computed again is rework.
    """

    def __init__(
        self, request_id: str, prompt_token_ids: list[int], params: SamplingParams | None = None, index: int = 0
    ) -> None:
        self.request_id, self.index = request_id, index
        self.params = params or SamplingParams()
        self.token_ids = list(prompt_token_ids)
        self.num_prompt_tokens = len(prompt_token_ids)
        self.num_computed_tokens = 0
        self.max_computed_tokens = 0
        self.num_cached_tokens: int | None = None
        self.unrecorded_hit: int | None = None
        self.block_tables: list[list[int]] = []
        self.block_hashes: list[bytes] = []
        self.num_registered_blocks = 0
        self.draft: Draft | None = None
        self.status = SequenceStatus.WAITING
        self.finish_reason: FinishReason | None = None
        self.error: str | None = None
        self.forked = False

    @property
    def key(self) -> tuple[str, int]:
        return (self.request_id, self.index)

    @property
    def num_tokens(self) -> int:
        return len(self.token_ids)

    @property
    def num_output_tokens(self) -> int:
        return len(self.token_ids) - self.num_prompt_tokens

    @property
    def num_uncomputed_tokens(self) -> int:
        """Tokens without keys and values yet; 1 for a sequence that decodes, more while its prompt is (re)computed."""
        return len(self.token_ids) - self.num_computed_tokens

    @property
    def in_prefill(self) -> bool:
        return self.num_computed_tokens < self.num_prompt_tokens or self.num_uncomputed_tokens > 1

    @property
    def max_tokens_total(self) -> int:
        """Prompt and output at most."""
        return self.num_prompt_tokens + self.params.max_tokens

    def __repr__(self) -> str:
        return (
            f"Sequence({self.request_id}/{self.index}, {self.num_computed_tokens}/{self.num_tokens} tokens computed, "
            f"{self.status.name})"
        )
