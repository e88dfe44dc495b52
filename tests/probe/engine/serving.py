"""Small engines, and what they answer, with the KV books checked after every step."""

from __future__ import annotations

from typing import Any

from probe.engine.engine import Engine
from probe.engine.interfaces import RequestOutput, SamplingParams, StepRecord
from probe.engine.options import EngineConfig
from probe.engine.scheduler import SchedulerConfig
from tests.probe.engine.models.peers import ours
from tests.probe.engine.models.small import SMALL

GREEDY = SamplingParams(max_tokens=8, temperature=0.0, ignore_eos=True)
SHORT = SchedulerConfig(max_model_len=256)
_models: dict[str, Any] = {}


def prompt(seed: int, length: int) -> list[int]:
    return [(seed * 31 + 17 * i * i + 5 * i) % 256 for i in range(length)]


def engine(
    name: str = "llama", *, blocks: int = 128, block_size: int = 4, caching: bool = True, **limits: Any
) -> Engine:
    """An engine on a small model; models are made once."""
    if name not in _models:
        _models[name] = ours(SMALL[name])
    config = EngineConfig(
        block_size=block_size,
        num_blocks=blocks,
        enable_prefix_caching=caching,
        scheduler=SchedulerConfig(**{"max_model_len": 256, **limits}),
    )
    return Engine(_models[name], config)


def run(one: Engine, requests: dict[str, list[int]], params: SamplingParams = GREEDY) -> dict[str, list[int]]:
    """Output tokens by request; the cache's books balance after every step and hold nothing at the end."""
    for request_id, tokens in requests.items():
        one.add_request(tokens, params, request_id)
    tokens_of: dict[str, list[int]] = {request_id: [] for request_id in requests}
    for output in steps(one)[0]:
        if output.index == 0:
            tokens_of[output.request_id] += output.new_token_ids
    assert one.manager.num_held == 0
    assert {block.ref_count for block in one.manager.blocks} == {0}
    return tokens_of


def steps(one: Engine) -> tuple[list[RequestOutput], list[StepRecord]]:
    outputs: list[RequestOutput] = []
    records: list[StepRecord] = []
    while one.has_unfinished:
        step = one.step()
        one.manager.check()
        outputs += step.outputs
        records += [step.record] if step.record else []
        assert step.outputs or step.record, "the engine is stuck"
    return outputs, records
