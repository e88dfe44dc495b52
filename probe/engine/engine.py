"""How does the engine serve? One step at a time: propose, schedule, run, advance, record."""

from __future__ import annotations

import time
from collections.abc import Callable

import torch
from torch import Tensor

from probe.engine.advance import Advancer
from probe.engine.errors import ProbeError, RequestRefused
from probe.engine.interfaces import (
    Proposer,
    RequestOutput,
    Sampler,
    SamplingParams,
    StepOutput,
    StepRecord,
    Work,
)
from probe.engine.kv.block_manager import BlockManager
from probe.engine.kv.capacity import allocate_caches, row_bytes
from probe.engine.kv.sequence import Sequence
from probe.engine.models.model import Model
from probe.engine.options import EngineConfig
from probe.engine.recorder import Started, StepRecorder
from probe.engine.runner import Forward, ModelRunner
from probe.engine.scheduler import Schedule, Scheduler
from probe.engine.spec.sampler import SpeculativeSampler


class Engine:
    """A model, its cache and its queue. Not thread-safe: one thread adds, aborts and steps.

    sampler: None: plain sampling, drafts verified; proposer: None: no speculation; ledger: called with every record;
    forward: None: the model's own. Raises ProbeError where config.scheduler.max_model_len exceeds the model's positions, or no cache fits.
    """

    def __init__(
        self,
        model: Model,
        config: EngineConfig,
        *,
        sampler: Sampler | None = None,
        proposer: Proposer | None = None,
        ledger: Callable[[StepRecord], None] | None = None,
        forward: Forward | None = None,
    ) -> None:
        limit, positions = config.scheduler.max_model_len, len(model.rope.cos)
        if limit > positions:
            raise ProbeError(
                f"max_model_len: {limit} exceeds the {positions} positions that the model's rope table has"
            )
        num_blocks, caches = allocate_caches(model, config)
        windows = [group.window for group in model.groups]
        self.manager = BlockManager(
            num_blocks, config.block_size, windows, enable_prefix_caching=config.enable_prefix_caching
        )
        self.scheduler = Scheduler(config.scheduler, self.manager)
        self.runner = ModelRunner(model, self.manager, caches, forward)
        self.proposer, self.ledger = proposer, ledger
        self.recorder = StepRecorder(self.runner, self.scheduler, row_bytes(model, config))
        sample = sampler or SpeculativeSampler(config.seed)
        self.advancer = Advancer(self.scheduler, sample, model.config.eos_token_ids, self._forget)
        self._requests: set[str] = set()

    @property
    def has_unfinished(self) -> bool:
        return self.scheduler.has_unfinished

    def add_request(self, prompt_token_ids: list[int], sampling_params: SamplingParams, request_id: str) -> None:
        """Queues a request. Raises RequestRefused naming the field; nothing is held then."""
        vocabulary = self.runner.model.config.vocab_size
        outside = [token for token in prompt_token_ids if not 0 <= token < vocabulary]
        if outside:
            raise RequestRefused(request_id, "prompt_token_ids", outside[0], f"not in 0..{vocabulary - 1}")
        if request_id in self._requests:
            raise RequestRefused(request_id, "request_id", request_id, "is in use")
        self.scheduler.add(Sequence(request_id, prompt_token_ids, sampling_params))
        self._requests.add(request_id)

    def abort_request(self, request_id: str) -> None:
        """Ends all outputs of a request; unknown ones are taken as ended."""
        for sequence in [*self.scheduler.running, *self.scheduler.waiting]:
            if sequence.request_id == request_id:
                sequence.finish_reason = "abort"
                self.scheduler.finish(sequence)
        self._forget(request_id)

    def step(self) -> StepOutput:
        """One pass of the model over what the scheduler chose; empty where nothing could be chosen."""
        started = Started.now()
        drafting = self._propose()
        plan = self.scheduler.schedule()
        logits, model_ns, failed = self._run(plan)
        outputs, progress = self.advancer.advance(plan, logits)
        record = self.recorder.record(started, model_ns, drafting, plan, progress)
        if record and self.ledger:
            self.ledger(record)
        return StepOutput((*failed, *outputs), record)

    def _propose(self) -> Work:
        """Gives the decoding sequences their drafts; the work that these took."""
        decoding = [sequence for sequence in self.scheduler.running if not sequence.in_prefill]
        if self.proposer is None or not decoding:
            return Work()
        for sequence, draft in zip(decoding, self.proposer.propose(decoding), strict=True):
            sequence.draft = draft if draft.token_ids else None
        return self.proposer.work

    def _run(self, plan: Schedule) -> tuple[Tensor, int, list[RequestOutput]]:
        """Logits and ns of the model, device synchronised. Out of memory ends the largest request; the others are tried again."""
        begun = time.perf_counter_ns()
        if not plan.scheduled:
            return torch.empty(0, 0), 0, []
        try:
            logits = self.runner.run(self.runner.prepare(plan.scheduled))
            self.runner.synchronise()
        except RuntimeError as error:
            if not _is_out_of_memory(error):
                raise
            largest = max(plan.scheduled, key=lambda part: part.num_new).sequence
            plan.scheduled.clear()
            return torch.empty(0, 0), 0, [self.advancer.fail(largest, f"out of memory: {error}")]
        return logits, time.perf_counter_ns() - begun, []

    def _forget(self, request_id: str) -> None:
        self._requests.discard(request_id)
        if self.proposer is not None:
            self.proposer.forget(request_id)


def _is_out_of_memory(error: RuntimeError) -> bool:
    """CUDA's own class; a CPU's allocator raises a plain RuntimeError that only its text tells apart."""
    return isinstance(error, torch.OutOfMemoryError) or "DefaultCPUAllocator: can't allocate" in str(error)


def drain(engine: Engine) -> dict[str, list[int]]:
    """Steps until nothing is left; output tokens of each request's first output, for scripts and tests."""
    tokens: dict[str, list[int]] = {}
    while engine.has_unfinished:
        for output in engine.step().outputs:
            if output.index == 0:
                tokens.setdefault(output.request_id, []).extend(output.new_token_ids)
    return tokens
