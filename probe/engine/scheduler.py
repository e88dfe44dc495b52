"""Which sequences compute how many tokens in the next step? One token budget, no tensors."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import Literal

from probe.engine.errors import RequestRefused
from probe.engine.kv.block_manager import BlockManager
from probe.engine.kv.sequence import Sequence, SequenceStatus

Policy = Literal["decode_first", "prefill_first"]


@dataclass(frozen=True)
class SchedulerConfig:
    """vLLM's names.

    Attributes:
        max_num_batched_tokens: tokens computed a step at most, drafted ones included.
        max_num_seqs: sequences running at once at most.
        max_model_len: prompt and output of a request at most.
        policy: who takes the budget first: sequences that decode, or prompts (running, then waiting).
        exact_batch: for sweeps: admit exactly so many at once, prefill all of them, then decode all of them; None serves normally.
    """

    max_num_batched_tokens: int = 2048
    max_num_seqs: int = 256
    max_model_len: int = 8192
    policy: Policy = "decode_first"
    exact_batch: int | None = None

    def __post_init__(self) -> None:
        for name in ("max_num_batched_tokens", "max_num_seqs", "max_model_len"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name}: {getattr(self, name)} is out of range")
        if self.policy not in ("decode_first", "prefill_first"):
            raise ValueError(f"policy: {self.policy!r} is neither 'decode_first' nor 'prefill_first'")
        if self.exact_batch is not None and not 1 <= self.exact_batch <= self.max_num_seqs:
            raise ValueError(f"exact_batch: {self.exact_batch} is not in 1..max_num_seqs ({self.max_num_seqs})")
        if self.exact_batch is not None and self.exact_batch > self.max_num_batched_tokens:
            limit = f"max_num_batched_tokens ({self.max_num_batched_tokens}), of which each takes one when all decode"
            raise ValueError(f"exact_batch: {self.exact_batch} exceeds {limit}")


@dataclass(frozen=True)
class Scheduled:
    """One sequence's part of a step: `num_new` tokens behind `num_past`, of which the last `num_draft` are only proposed."""

    sequence: Sequence
    num_new: int
    num_past: int
    num_draft: int
    in_prefill: bool

    @property
    def samples(self) -> bool:
        """Whether the step reaches the sequence's last token, so that a next one can be drawn."""
        return self.num_past + self.num_new - self.num_draft == self.sequence.num_tokens


@dataclass
class Schedule:
    """A step's plan. Attributes: kv_blocked: a waiting request did not fit into the KV cache."""

    scheduled: list[Scheduled] = field(default_factory=list)
    preempted: list[Sequence] = field(default_factory=list)
    failed: list[Sequence] = field(default_factory=list)
    kv_blocked: bool = False


class Scheduler:
    """Continuous batching: sequences join and leave between steps; first come, first served."""

    def __init__(self, config: SchedulerConfig, manager: BlockManager) -> None:
        self.config, self.manager = config, manager
        self.waiting: deque[Sequence] = deque()
        self.running: list[Sequence] = []

    @property
    def has_unfinished(self) -> bool:
        return bool(self.waiting or self.running)

    def add(self, sequence: Sequence) -> None:
        """Refuses what could never run; nothing is held for it then."""
        if sequence.num_prompt_tokens < 1:
            raise RequestRefused(sequence.request_id, "prompt_token_ids", [], "the prompt is empty")
        if sequence.params.n > (1 if self.config.exact_batch else self.config.max_num_seqs):
            raise RequestRefused(sequence.request_id, "n", sequence.params.n, "more outputs than may run at once")
        self._refuse_unless_it_fits(sequence)
        self.waiting.append(sequence)

    def _refuse_unless_it_fits(self, sequence: Sequence) -> None:
        name, asked = sequence.request_id, sequence.params.max_tokens
        both = f"{sequence.num_prompt_tokens} prompt tokens and so many more"
        if sequence.max_tokens_total > self.config.max_model_len:
            raise RequestRefused(
                name, "max_tokens", asked, f"{both} exceed max_model_len ({self.config.max_model_len})"
            )
        read = sequence.max_tokens_total - 1  # the last token is never read
        needed = self.manager.blocks_needed(read, self.config.max_num_batched_tokens)
        if needed > self.manager.num_blocks:
            why = f"{both} need {needed} KV blocks, the cache has {self.manager.num_blocks}"
            raise RequestRefused(name, "max_tokens", asked, why)

    def schedule(self) -> Schedule:
        """The next step; empty where nothing can run."""
        plan = Schedule()
        if self.config.exact_batch is not None:
            self._schedule_exact(plan, self.config.exact_batch)
            return plan
        budget = self.config.max_num_batched_tokens
        if self.config.policy == "decode_first":
            budget = self._continue([s for s in self.running if not s.in_prefill], budget, plan)
            budget = self._continue([s for s in self.running if s.in_prefill], budget, plan)
            self._admit(budget, plan)
        else:
            budget = self._continue([s for s in self.running if s.in_prefill], budget, plan)
            decoding = [s for s in self.running if not s.in_prefill]
            budget = self._admit(budget, plan)
            self._continue(decoding, budget, plan)
        return plan

    def _continue(self, sequences: list[Sequence], budget: int, plan: Schedule) -> int:
        for sequence in sequences:
            if budget < 1:
                break
            if sequence.status is not SequenceStatus.RUNNING:
                continue  # preempted by an earlier one in this step
            draft = self._draft_length(sequence, budget)
            num_new = min(sequence.num_uncomputed_tokens + draft, budget)
            if self._make_room(sequence, num_new, plan):
                plan.scheduled.append(_part(sequence, num_new, draft))
                budget -= num_new
        return budget

    @staticmethod
    def _draft_length(sequence: Sequence, budget: int) -> int:
        if sequence.draft is None or sequence.in_prefill:
            return 0
        return min(
            len(sequence.draft.token_ids), budget - 1, sequence.params.max_tokens - sequence.num_output_tokens - 1
        )

    def _make_room(self, sequence: Sequence, num_new: int, plan: Schedule) -> bool:
        """Preempts until the tokens fit, the last admitted first, of those that the step has not scheduled yet. False: the sequence itself
        was the last of them, or stands alone. Under prefill_first prompts are scheduled before, so one that decodes can give way to a
        later prompt.
        """
        while not self.manager.allocate(sequence, num_new):
            victim = self._victim(plan)
            if victim is None or victim is sequence:
                self._preempt(sequence, plan)
                return False
            self._preempt(victim, plan)
        return True

    def _victim(self, plan: Schedule) -> Sequence | None:
        taken = {id(part.sequence) for part in plan.scheduled}
        return next((s for s in reversed(self.running) if id(s) not in taken), None)

    def _preempt(self, sequence: Sequence, plan: Schedule) -> None:
        """Recompute: the blocks go, the tokens stay, and it is the next to be admitted. Alone in the cache it can't ever go on."""
        alone = len(self.running) == 1
        self.running.remove(sequence)
        self.manager.free(sequence)
        sequence.num_computed_tokens = 0
        sequence.draft = None
        if alone:
            sequence.error = f"out of KV blocks: {self.manager.num_blocks} do not hold {sequence.num_tokens} tokens"
            sequence.status = SequenceStatus.FINISHED
            plan.failed.append(sequence)
            return
        sequence.status = SequenceStatus.WAITING
        self.waiting.appendleft(sequence)
        plan.preempted.append(sequence)

    def _admit(self, budget: int, plan: Schedule) -> int:
        while self.waiting and budget > 0 and not plan.preempted:
            sequence = self.waiting[0]
            if self._slots_taken() + _slots_of(sequence) > self.config.max_num_seqs:
                break
            if not self.manager.allocate(sequence, budget):
                plan.kv_blocked = True
                break
            budget -= self._start(sequence, budget, plan)
        if self.waiting and plan.preempted:
            plan.kv_blocked = True  # what was just pushed out waits for blocks
        return budget

    def _slots_taken(self) -> int:
        return sum(_slots_of(sequence) for sequence in self.running)

    def _start(self, sequence: Sequence, budget: int, plan: Schedule) -> int:
        self.waiting.popleft()
        sequence.status = SequenceStatus.RUNNING
        self.running.append(sequence)
        num_new = min(sequence.num_uncomputed_tokens, budget)
        plan.scheduled.append(_part(sequence, num_new, 0))
        return num_new

    def _schedule_exact(self, plan: Schedule, batch: int) -> None:
        """All of a batch are prefilled, in steps of prompts only; then all that have not ended decode, and none joins before all have.

        A batch that doesn't fit fails, each of its sequences with the error.
        """
        if not self.running and len(self.waiting) >= batch:
            self._start_batch(plan, batch)
        prefilling = [sequence for sequence in self.running if sequence.in_prefill]
        self._continue(prefilling or list(self.running), self.config.max_num_batched_tokens, plan)

    def _start_batch(self, plan: Schedule, batch: int) -> None:
        chunk = self.config.max_num_batched_tokens
        sequences = [self.waiting.popleft() for _ in range(batch)]
        needed = sum(self.manager.blocks_needed(sequence.max_tokens_total - 1, chunk) for sequence in sequences)
        if needed > self.manager.num_blocks:
            for sequence in sequences:
                sequence.error = (
                    f"exact_batch: {batch} need {needed} KV blocks, the cache has {self.manager.num_blocks}"
                )
                sequence.status = SequenceStatus.FINISHED
            plan.failed += sequences
            return
        for sequence in sequences:
            if not self.manager.allocate(sequence, chunk):
                raise AssertionError("a batch that fits was not allocated")
            sequence.status = SequenceStatus.RUNNING
        self.running += sequences

    def finish(self, sequence: Sequence) -> None:
        """The sequence has ended, or is abandoned; its blocks go."""
        if sequence.status is SequenceStatus.RUNNING:
            self.running.remove(sequence)
        elif sequence in self.waiting:
            self.waiting.remove(sequence)
        self.manager.free(sequence)
        sequence.status = SequenceStatus.FINISHED


def _slots_of(sequence: Sequence) -> int:
    """Places among the running: a prompt of n outputs will take n once it forks."""
    return 1 if sequence.forked or sequence.index else sequence.params.n


def _part(sequence: Sequence, num_new: int, draft: int) -> Scheduled:
    num_draft = max(0, num_new - sequence.num_uncomputed_tokens) if draft else 0
    return Scheduled(sequence, num_new, sequence.num_computed_tokens, num_draft, sequence.in_prefill)
