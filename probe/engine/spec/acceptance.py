"""How many drafted tokens were kept, and what does that make of a step?"""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass
class AcceptanceStats:
    """Counts of speculation so far; vLLM's names.

    Attributes:
        num_drafts: verify steps that had at least one drafted token.
        num_draft_tokens, num_accepted_tokens: drafted and kept.
        drafted_per_pos, accepted_per_pos: the same by position in the draft.
    """

    num_drafts: int = 0
    num_draft_tokens: int = 0
    num_accepted_tokens: int = 0
    drafted_per_pos: list[int] = field(default_factory=list)
    accepted_per_pos: list[int] = field(default_factory=list)

    def observe(self, num_draft_tokens: int, num_accepted_tokens: int) -> None:
        if not 0 <= num_accepted_tokens <= num_draft_tokens:
            raise ValueError(f"num_accepted_tokens: {num_accepted_tokens} of {num_draft_tokens} drafted")
        if num_draft_tokens == 0:
            return
        self.num_drafts += 1
        self.num_draft_tokens += num_draft_tokens
        self.num_accepted_tokens += num_accepted_tokens
        missing = num_draft_tokens - len(self.drafted_per_pos)
        self.drafted_per_pos += [0] * missing
        self.accepted_per_pos += [0] * missing
        for position in range(num_draft_tokens):
            self.drafted_per_pos[position] += 1
            self.accepted_per_pos[position] += position < num_accepted_tokens

    @property
    def acceptance_rate(self) -> float | None:
        """Kept of drafted; None before the first draft."""
        return self.num_accepted_tokens / self.num_draft_tokens if self.num_draft_tokens else None

    @property
    def mean_acceptance_length(self) -> float | None:
        """Tokens a verify step emits, its own one included; None before the first draft."""
        return 1 + self.num_accepted_tokens / self.num_drafts if self.num_drafts else None


def expected_tokens_per_step(alpha: float, k: int) -> float:
    """(1 - alpha^(k + 1)) / (1 - alpha): tokens a step emits if each draft is kept with probability alpha (Leviathan, eq. 1)."""
    if not 0.0 <= alpha <= 1.0:
        raise ValueError(f"alpha: {alpha} is not in [0, 1]")
    if k < 0:
        raise ValueError(f"k: {k} is negative")
    return k + 1.0 if alpha == 1.0 else (1 - alpha ** (k + 1)) / (1 - alpha)
