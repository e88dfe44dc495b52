"""What do the engine's parts say to each other? Records and protocols only; nothing here needs torch at run time."""

from __future__ import annotations

from collections.abc import Sequence as Seq
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol

if TYPE_CHECKING:
    from torch import Tensor

    from probe.engine.attention.metadata import BatchMetadata, GroupMetadata
    from probe.engine.kv.cache import LayerCache
    from probe.engine.kv.sequence import Sequence
    from probe.engine.models.spec import AttentionSpec

StepKind = Literal["prefill", "decode", "mixed"]
FinishReason = Literal["stop", "length", "abort", "error"]


@dataclass(frozen=True)
class SamplingParams:
    """How one request's tokens are drawn; vLLM's names and meanings.

    Attributes:
        max_tokens: output tokens after which the request ends (>= 1).
        temperature: 0 is greedy; otherwise logits are divided by it.
        top_k: draw among the k likeliest; 0 takes all.
        top_p: draw among the likeliest that together reach this probability.
        seed: seed of this request's own generator; None uses the engine's.
        ignore_eos: the model's end tokens end nothing.
        stop_token_ids: tokens that end the request, besides the model's end tokens; also with ignore_eos.
        n: outputs of one prompt; they share its blocks.
    """

    max_tokens: int = 16
    temperature: float = 1.0
    top_k: int = 0
    top_p: float = 1.0
    seed: int | None = None
    ignore_eos: bool = False
    stop_token_ids: tuple[int, ...] = ()
    n: int = 1

    def __post_init__(self) -> None:
        for name, valid in (
            ("max_tokens", self.max_tokens >= 1),
            ("temperature", 0.0 <= self.temperature < float("inf")),
            ("top_k", self.top_k >= 0),
            ("top_p", 0.0 < self.top_p <= 1.0),
            ("n", self.n >= 1),
        ):
            if not valid:
                raise ValueError(f"{name}: {getattr(self, name)!r} is out of range")


class Linear(Protocol):
    """A weight and how it is multiplied."""

    def __call__(self, x: Tensor, /) -> Tensor:
        """x [tokens, in] to [tokens, out]."""
        ...

    def gated(self, x: Tensor, /) -> Tensor:
        """SwiGLU of a product whose first half of outputs are the gates: [tokens, out / 2]."""
        ...


class LinearFactory(Protocol):
    """Makes y = x W^T + b; weight [out, in] is in the compute dtype, `name` is the canonical one ("layers.0.self_attn.qkv_proj").

    What it returns maps [tokens, in] to [tokens, out]. The factory may keep another form (packed, quantised) and drop the weight.
    """

    def __call__(self, weight: Tensor, bias: Tensor | None, name: str) -> Linear: ...


class AttentionBackend(Protocol):
    """Writes new keys and values into the paged cache and attends to everything a sequence has.

    Shapes: T tokens of the step, H query heads, G kv heads, D key width, V value width.
    """

    def plan(self, batch: BatchMetadata) -> None:
        """Host work once a step, before the first layer (indices, masks, views)."""
        ...

    def write(self, key: Tensor, value: Tensor | None, cache: LayerCache, group: GroupMetadata) -> None:
        """key [T, G, D], value [T, G, V] (None: MLA, the value is a part of the key) to the slots of `group.slot_mapping`."""
        ...

    def attend(
        self, query: Tensor, cache: LayerCache, group: GroupMetadata, spec: AttentionSpec, sinks: Tensor | None
    ) -> Tensor:
        """query [T, H, D] to [T, H, V]; causal, within `spec.window`; sinks [H] join the softmax without a value."""
        ...


@dataclass(frozen=True)
class Draft:
    """Tokens proposed for one sequence. Attributes: probs: [k, vocabulary] of the draft's distribution; None: deterministic."""

    token_ids: tuple[int, ...]
    probs: Tensor | None = None


@dataclass(frozen=True)
class Work:
    """What forward passes must move and compute, by their model's shapes; bytes and floating point operations."""

    read_bytes: int = 0
    write_bytes: int = 0
    flops: int = 0

    def __add__(self, other: Work) -> Work:
        return Work(self.read_bytes + other.read_bytes, self.write_bytes + other.write_bytes, self.flops + other.flops)


class Proposer(Protocol):
    """Proposes what may follow each sequence; () proposes nothing. Asked before each step for the decoding sequences.

    Attributes: work: of its own forward passes in the last call; none where it has no model.
    """

    @property
    def work(self) -> Work: ...

    def propose(self, sequences: Seq[Sequence]) -> list[Draft]: ...

    def forget(self, request_id: str) -> None:
        """The request has ended."""
        ...


class Sampler(Protocol):
    """Draws what follows: logits [k + 1, vocabulary] at the last token and the k drafted ones; 1 to k + 1 tokens."""

    def __call__(self, logits: Tensor, sequence: Sequence, draft: Draft | None) -> list[int]: ...


@dataclass(frozen=True)
class RequestStep:
    """One request's part in one step.

    Attributes:
        num_new_tokens: tokens computed in this step, drafted ones included.
        num_past_tokens: tokens of its context that lay in the cache.
        num_output_tokens: output tokens this step gave: accepted drafts and one more, which is missing where one of the drafts ended the
            request; 0 while the prompt is unfinished. The step that ends a prompt of n outputs gives all their first tokens, and they
            stand with index 0.
        num_draft_tokens, num_accepted_tokens: of speculation; drafts behind the end of the request are not accepted.
        num_cached_tokens: tokens found in the prefix cache, stated in the first step it took after it was admitted (again, after
            preemption), else 0.
        num_recomputed_tokens: of the new ones, those computed before and lost by preemption.
        blocks_held: KV blocks held in the step; a block of n holders counts 1/n.
        num_prompt_tokens: of the whole request.
        index: which of a request's n outputs.
        prefix_blocks: in that step, names of its prompt's full blocks in order, the same where tokens and all that
            precedes them are; () in other steps and without prefix caching.
    """

    request_id: str
    kind: Literal["prefill", "decode"]
    num_new_tokens: int
    num_past_tokens: int
    num_output_tokens: int
    num_draft_tokens: int
    num_accepted_tokens: int
    num_cached_tokens: int
    num_recomputed_tokens: int
    blocks_held: float
    num_prompt_tokens: int
    index: int = 0
    prefix_blocks: tuple[bytes, ...] = ()


@dataclass(frozen=True)
class PhaseSums:
    """Sums over requests in ForwardPassMetrics v1's own names; lengths and variances in tokens (population variance)."""

    num_prefill_requests: int
    sum_prefill_tokens: int
    var_prefill_length: float
    sum_prefill_kv_tokens: int
    num_decode_requests: int
    sum_decode_kv_tokens: int
    var_decode_kv_tokens: float


@dataclass(frozen=True)
class StepRecord:
    """What one step did, for whom, how long: a line of the step ledger.

    Attributes:
        start_ns: Unix time in ns at which the step began; duration_ns: of the loop's whole step, device synchronised.
        model_ns: of duration_ns, the forward pass and its copies.
        num_waiting, num_running: requests after the step.
        preempted: requests that lost their blocks in the step, or before it in one that has no record (out of memory).
        kv_blocks_*: of the pool, after the step: total = free + cached (unreferenced, reusable) + held.
        kv_blocked: a waiting request did not fit into the KV cache in this step.
        estimated_bytes, estimated_flops: what the step had to move and compute, by the models' shapes, a draft model's passes included.
        estimated_write_bytes: of estimated_bytes, those written, the others are read; None in ledgers that don't tell them apart.
        experts_touched: distinct experts read, mean over the MoE layers; None for dense models.
    """

    step_id: int
    kind: StepKind
    start_ns: int
    duration_ns: int
    model_ns: int
    requests: tuple[RequestStep, ...]
    queued: PhaseSums
    num_waiting: int
    num_running: int
    preempted: tuple[str, ...]
    kv_blocks_total: int
    kv_blocks_free: int
    kv_blocks_cached: int
    kv_blocked: bool
    estimated_bytes: int
    estimated_flops: int
    experts_touched: float | None
    estimated_write_bytes: int | None = None


@dataclass(frozen=True)
class RequestOutput:
    """What a request got in one step. Attributes: new_token_ids: in order; finish_reason: None while it goes on; error: why it ended so."""

    request_id: str
    new_token_ids: tuple[int, ...]
    finish_reason: FinishReason | None
    num_prompt_tokens: int
    num_cached_tokens: int
    num_output_tokens: int
    index: int = 0
    error: str | None = None


@dataclass(frozen=True)
class StepOutput:
    """Outputs of one step and its ledger record; record is None where nothing could be scheduled."""

    outputs: tuple[RequestOutput, ...]
    record: StepRecord | None
