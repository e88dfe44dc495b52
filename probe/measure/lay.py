"""How does a sequence come into the cache at a given context without its prompt being computed?

A step's time depends on how many keys lie where, not on what they are: they are filled with noise once, and a sequence gets blocks as
the scheduler would give it and begins where its context ends. So a step at 32 x 4096 costs that step, not 131,072 tokens of prefill.
"""

from __future__ import annotations

import torch

from probe.engine.engine import Engine
from probe.engine.interfaces import SamplingParams
from probe.engine.kv.sequence import Sequence, SequenceStatus
from probe.measure.errors import MeasureRefused


def fill(engine: Engine) -> None:
    """One block of noise into every block of the cache: zeros might be skipped or compressed."""
    for cache in engine.runner.caches:
        for tensor in [cache.key] if cache.shares_key else [cache.key, cache.value]:
            first = tensor[:1]
            noise = torch.randn(first.shape, device=tensor.device)
            first.copy_(noise if tensor.is_floating_point() else (noise * 30).clamp(-127, 127))
            tensor[1:] = first


def lay_decoding(engine: Engine, request_id: str, token_ids: list[int], steps: int) -> Sequence:
    """A sequence that decodes: its next step attends to all of `token_ids`, whose last one it computes; it ends after `steps` steps."""
    params = SamplingParams(max_tokens=steps + 1, temperature=0.0, ignore_eos=True)
    sequence = Sequence(request_id, token_ids[:-1], params)
    sequence.token_ids.append(token_ids[-1])
    return _place(engine, sequence, len(token_ids) - 1)


def lay_prompt(engine: Engine, request_id: str, token_ids: list[int], cached: int) -> Sequence:
    """A prompt whose first `cached` tokens are in the cache; its next step computes the rest, gives one token and ends it."""
    params = SamplingParams(max_tokens=1, temperature=0.0, ignore_eos=True)
    return _place(engine, Sequence(request_id, token_ids, params), cached)


def scatter(running: list[Sequence]) -> None:
    """Puts a batch in another order than its sequences have in the cache: those between, up, then the others, down. A server's sequences
    lie where earlier ones left room; in the order of the cache an engine may read a batch in one piece, which takes a quarter less."""
    running[:] = running[1::2] + running[0::2][::-1]


def _place(engine: Engine, sequence: Sequence, computed: int) -> Sequence:
    scheduler = engine.scheduler
    scheduler.add(sequence)  # refuses what could never run
    scheduler.waiting.remove(sequence)
    if not engine.manager.allocate(sequence, sequence.num_tokens):
        blocks = engine.manager.num_blocks
        raise MeasureRefused("contexts", sequence.num_tokens, f"no room beside the others in {blocks} KV blocks")
    sequence.num_computed_tokens = computed
    sequence.status = SequenceStatus.RUNNING
    scheduler.running.append(sequence)
    return sequence
