"""How long did a step take, who shared it, what did each hold? Makes the step's ledger record."""

from __future__ import annotations

import time
from collections.abc import Sequence as Seq
from dataclasses import dataclass

from probe.engine.estimate import Part, StepEstimator
from probe.engine.fpm import queued_sums
from probe.engine.interfaces import RequestStep, StepKind, StepRecord, Work
from probe.engine.runner import ModelRunner
from probe.engine.scheduler import Schedule, Scheduled, Scheduler


@dataclass(frozen=True)
class Started:
    """Both clocks at a step's beginning: Unix time to place it, the monotonic one to measure it."""

    unix_ns: int
    monotonic_ns: int

    @classmethod
    def now(cls) -> Started:
        return cls(time.time_ns(), time.perf_counter_ns())


@dataclass(frozen=True)
class Progress:
    """What a step gave one sequence, and how many blocks it held in it.

    Attributes: num_output: tokens drawn and kept, by it and by the outputs that forked from it.
    """

    part: Scheduled
    num_output: int
    num_accepted: int
    num_recomputed: int
    blocks_held: float


class StepRecorder:
    """Attributes: preempted: requests that lost their blocks and stand in no record yet, as in a step that ran out of memory."""

    def __init__(self, runner: ModelRunner, scheduler: Scheduler, row_bytes: int) -> None:
        self.runner, self.scheduler = runner, scheduler
        self.estimator = StepEstimator(runner.model, row_bytes)
        self.num_steps = 0
        self.preempted: list[str] = []

    def record(
        self, started: Started, model_ns: int, drafting: Work, plan: Schedule, progress: Seq[Progress]
    ) -> StepRecord | None:
        """None where nothing ran. The device has been waited for: `model_ns` ends with a synchronise.

        drafting: what the step's drafts took, which is in its time too.
        """
        self.preempted += [sequence.request_id for sequence in plan.preempted]
        if not progress:
            return None
        requests = tuple(_request_step(one, self.scheduler.manager.block_size) for one in progress)
        touched = self.runner.model.experts_touched()
        work = drafting + self.estimator.work([_part(one) for one in requests], touched)
        manager = self.scheduler.manager
        self.num_steps += 1
        preempted, self.preempted = tuple(self.preempted), []
        return StepRecord(
            step_id=self.num_steps - 1,
            kind=_kind(requests),
            start_ns=started.unix_ns,
            duration_ns=time.perf_counter_ns() - started.monotonic_ns,
            model_ns=model_ns,
            requests=requests,
            queued=queued_sums(self.scheduler.waiting),
            num_waiting=len(self.scheduler.waiting),
            num_running=len(self.scheduler.running),
            preempted=preempted,
            kv_blocks_total=manager.num_blocks,
            kv_blocks_free=manager.num_free,
            kv_blocks_cached=manager.num_cached,
            kv_blocked=plan.kv_blocked,
            estimated_bytes=work.read_bytes + work.write_bytes,
            estimated_flops=work.flops,
            experts_touched=touched,
            estimated_write_bytes=work.write_bytes,
        )


def _request_step(one: Progress, block_size: int) -> RequestStep:
    part, sequence = one.part, one.part.sequence
    hit, sequence.unrecorded_hit = sequence.unrecorded_hit, None
    return RequestStep(
        request_id=sequence.request_id,
        kind="prefill" if part.in_prefill else "decode",
        num_new_tokens=part.num_new,
        num_past_tokens=part.num_past,
        num_output_tokens=one.num_output,
        num_draft_tokens=part.num_draft,
        num_accepted_tokens=one.num_accepted,
        num_cached_tokens=hit or 0,
        num_recomputed_tokens=one.num_recomputed,
        blocks_held=one.blocks_held,
        num_prompt_tokens=sequence.num_prompt_tokens,
        index=sequence.index,
        prefix_blocks=() if hit is None else _prefix_blocks(part, block_size),
    )


def _part(one: RequestStep) -> Part:
    return Part(one.num_new_tokens, one.num_past_tokens, 1 + one.num_draft_tokens if one.num_output_tokens else 0)


def _prefix_blocks(part: Scheduled, block_size: int) -> tuple[bytes, ...]:
    """Of a request whose admission this step records."""
    sequence = part.sequence
    if not part.in_prefill:
        return ()
    return tuple(sequence.block_hashes[: sequence.num_prompt_tokens // block_size])


def _kind(requests: tuple[RequestStep, ...]) -> StepKind:
    kinds = {one.kind for one in requests}
    return kinds.pop() if len(kinds) == 1 else "mixed"
