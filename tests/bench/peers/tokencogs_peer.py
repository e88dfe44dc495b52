"""How fast is the probe's own engine on the bench's shape? A process of the bench."""

from __future__ import annotations

import itertools
import time

import protocol
import torch

from probe.engine.attention.torch_paged import TorchPagedAttention
from probe.engine.engine import Engine
from probe.engine.interfaces import SamplingParams
from probe.engine.linear import linear_factory
from probe.engine.models.hf_config import parse_config
from probe.engine.models.model import Model
from probe.engine.models.weights import RandomWeights
from probe.engine.native import calls, pool
from probe.engine.options import EngineConfig
from probe.engine.scheduler import SchedulerConfig

BLOCK = 16
_seeds = itertools.count()


def main() -> None:
    config = parse_config({"model_type": "llama", **protocol.SHAPE})
    dtype = torch.bfloat16
    weights, backend = RandomWeights(config, 0, dtype), TorchPagedAttention(dtype)
    model = Model(config, weights, linear_factory(), backend, dtype=dtype, max_model_len=4096)
    if pool.available():  # as a server does before its first request
        calls.compile_all()

    def measure(batch: int, ctx: int, steps: int) -> tuple[float, list[float]]:
        wanted = protocol.tokens_wanted(batch, ctx, steps)
        scheduler = SchedulerConfig(max_num_batched_tokens=protocol.BUDGET, max_num_seqs=batch, max_model_len=4096)
        blocks = batch * (-(-(ctx + wanted) // BLOCK) + 1)
        engine = Engine(model, EngineConfig(BLOCK, blocks, enable_prefix_caching=False, scheduler=scheduler))
        params = SamplingParams(max_tokens=wanted, temperature=0.0, ignore_eos=True)
        begun = time.perf_counter()
        for i, prompt in enumerate(protocol.prompts(batch, ctx, next(_seeds))):
            engine.add_request(prompt, params, str(i))
        first: set[str] = set()
        prefill, times = 0.0, []
        while engine.has_unfinished and len(times) < steps:
            before = time.perf_counter()
            outputs = engine.step().outputs
            after = time.perf_counter()
            if len(first) == batch and len(outputs) == batch:
                times.append(after - before)
            first |= {output.request_id for output in outputs}
            if len(first) == batch and not prefill:
                prefill = after - begun
        return prefill, times

    protocol.serve(measure, {"engine": "tokencogs", "torch": torch.__version__, "threads": torch.get_num_threads()})


if __name__ == "__main__":
    main()
