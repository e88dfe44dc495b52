"""On what were the seconds of a pool's shares spent, in all?"""

from __future__ import annotations

from dataclasses import dataclass

from accounting.selfhosted.lines import Lines


@dataclass(frozen=True)
class Spent:
    """Sums over shares; replica seconds.

    Attributes:
        share: all of it. prefill: what precedes first tokens.
        own_prefill, own_decode, shared, experts: the share's parts (`lines.Lines`).
        request_steps: steps, each counted once for every request in it. step_shares: steps.
        found: tokens that the prompts among them found in the cache; None: not told.
    """

    share: float
    prefill: float
    own_prefill: float
    own_decode: float
    shared: float
    experts: float
    request_steps: float
    step_shares: float
    found: float | None = None

    @property
    def mean_batch(self) -> float | None:
        """Requests in a step; None without steps."""
        return self.request_steps / self.step_shares if self.step_shares else None

    @staticmethod
    def of(lines: Lines) -> Spent:
        """Of attribution's lines."""
        columns = (
            lines.seconds,
            lines.prefill_seconds,
            lines.own_prefill,
            lines.own_decode,
            lines.shared,
            lines.experts,
            lines.request_steps,
            lines.step_shares,
        )
        return Spent(*(float(column.sum()) for column in columns))
