"""What does a step change? Tokens are drawn, sequences move on, fork, end; their blocks are named or given back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from torch import Tensor

from probe.engine.interfaces import Draft, FinishReason, RequestOutput, Sampler
from probe.engine.kv.sequence import Sequence, SequenceStatus
from probe.engine.recorder import Progress
from probe.engine.scheduler import Schedule, Scheduled, Scheduler


class Advancer:
    """Attributes: eos_token_ids: the model's own end tokens; forget: told of requests that have ended."""

    def __init__(
        self, scheduler: Scheduler, sampler: Sampler, eos_token_ids: tuple[int, ...], forget: Callable[[str], None]
    ) -> None:
        self.scheduler, self.sampler, self.eos_token_ids, self.forget = scheduler, sampler, eos_token_ids, forget

    def advance(self, plan: Schedule, logits: Tensor) -> tuple[list[RequestOutput], list[Progress]]:
        """Outputs and progress of each scheduled sequence; logits [rows, V], one row a token whose successor is wanted."""
        outputs = [self.fail(sequence, sequence.error or "failed") for sequence in plan.failed]
        greedy = _likeliest(logits) if len(logits) else []
        # Shares are taken before anything is freed: in this step, all of its sequences held what they held.
        shares = [self.scheduler.manager.share(part.sequence) for part in plan.scheduled]
        progress, row = [], 0
        for part, share in zip(plan.scheduled, shares, strict=True):
            drawn: list[int] = []
            forked: list[RequestOutput] = []
            if part.samples:
                rows = slice(row, row + 1 + part.num_draft)
                row = rows.stop
                forked = self._fork(part, logits[rows])
                drawn = self._draw(part.sequence, logits[rows], greedy[rows.start], _drafted(part))
            kept = self._keep(part.sequence, drawn)
            accepted = min(len(drawn) - 1, len(kept)) if drawn else 0
            recomputed = max(0, min(part.num_past + part.num_new, part.sequence.max_computed_tokens) - part.num_past)
            self._computed(part, accepted)
            given = len(kept) + sum(len(one.new_token_ids) for one in forked)
            progress.append(Progress(part, given, accepted, recomputed, share))
            outputs += [*forked, self._output(part.sequence, kept)] if kept else []
        return outputs, progress

    def _draw(self, sequence: Sequence, logits: Tensor, greedy: int, draft: Draft | None) -> list[int]:
        if draft is None and sequence.params.temperature == 0.0:
            return [greedy]  # drawn for all rows at once: one wait for the device, not one a sequence
        return self.sampler(logits, sequence, draft)

    def _keep(self, sequence: Sequence, drawn: list[int]) -> list[int]:
        """Appends what was drawn up to the first end, and says why the sequence ended."""
        for count, token in enumerate(drawn, start=1):
            sequence.token_ids.append(token)
            sequence.finish_reason = self._reason(sequence, token)
            if sequence.finish_reason:
                return drawn[:count]
        return drawn

    def _reason(self, sequence: Sequence, token: int) -> FinishReason | None:
        params = sequence.params
        if token in params.stop_token_ids or (token in self.eos_token_ids and not params.ignore_eos):
            return "stop"
        return "length" if sequence.num_output_tokens >= params.max_tokens else None

    def _computed(self, part: Scheduled, accepted: int) -> None:
        """Keys and values are those of the context and the accepted drafts; what rejected ones left is overwritten."""
        sequence, manager = part.sequence, self.scheduler.manager
        sequence.draft = None
        sequence.num_computed_tokens = min(
            part.num_past + part.num_new - part.num_draft + accepted, sequence.num_tokens
        )
        sequence.max_computed_tokens = max(sequence.max_computed_tokens, sequence.num_computed_tokens)
        manager.commit(sequence)
        if sequence.finish_reason:
            self.scheduler.finish(sequence)
            self._forget_if_ended(sequence)
        elif part.num_draft:
            manager.trim(sequence)

    def _fork(self, part: Scheduled, logits: Tensor) -> list[RequestOutput]:
        """The first time a prompt of n outputs is done, n - 1 sequences go on from its blocks, each with a draw of its own."""
        parent = part.sequence
        if parent.params.n == 1 or parent.index or parent.forked:
            return []
        parent.forked = True
        outputs = []
        for index in range(1, parent.params.n):
            child = Sequence(parent.request_id, parent.token_ids[: parent.num_prompt_tokens], parent.params, index)
            parent.num_computed_tokens = part.num_past + part.num_new
            self.scheduler.manager.fork(parent, child)
            child.status = SequenceStatus.RUNNING
            self.scheduler.running.append(child)
            kept = self._keep(child, self._draw(child, logits, int(logits[0].argmax()), None))
            if child.finish_reason:
                self.scheduler.finish(child)
            outputs.append(self._output(child, kept))
        return outputs

    def fail(self, sequence: Sequence, error: str) -> RequestOutput:
        """Ends one sequence with an error; the others go on."""
        sequence.finish_reason, sequence.error = "error", error
        self.scheduler.finish(sequence)
        self._forget_if_ended(sequence)
        return self._output(sequence, [])

    def _forget_if_ended(self, sequence: Sequence) -> None:
        others = (*self.scheduler.running, *self.scheduler.waiting)
        if not any(one.request_id == sequence.request_id for one in others):
            self.forget(sequence.request_id)

    def _output(self, sequence: Sequence, tokens: list[int]) -> RequestOutput:
        return RequestOutput(
            request_id=sequence.request_id,
            new_token_ids=tuple(tokens),
            finish_reason=sequence.finish_reason,
            num_prompt_tokens=sequence.num_prompt_tokens,
            num_cached_tokens=sequence.num_cached_tokens or 0,
            num_output_tokens=sequence.num_output_tokens,
            index=sequence.index,
            error=sequence.error,
        )


def _drafted(part: Scheduled) -> Draft | None:
    """The draft, cut to what the budget let in."""
    draft = part.sequence.draft
    if draft is None or not part.num_draft:
        return None
    probs = None if draft.probs is None else draft.probs[: part.num_draft]
    return replace(draft, token_ids=draft.token_ids[: part.num_draft], probs=probs)


def _likeliest(logits: Tensor) -> list[int]:
    """The first of the largest of each row [rows, V]."""
    if logits.device.type == "cpu":  # numpy takes a sixth of torch's time
        found: list[int] = logits.numpy().argmax(axis=-1).tolist()
        return found
    return logits.argmax(dim=-1).tolist()
