"""How fast is transformers' continuous batching (`generate_batch`, sdpa) on the same shape? A process of the bench."""

from __future__ import annotations

import itertools

import protocol
import torch
import transformers
from transformers import GenerationConfig, LlamaConfig, LlamaForCausalLM

PAGE = 256
_seeds = itertools.count()


def main() -> None:
    torch.manual_seed(0)
    shape = {key: value for key, value in protocol.SHAPE.items() if key != "rope_theta"}
    config = LlamaConfig(**shape, attn_implementation="sdpa")
    model = LlamaForCausalLM(config).to(torch.bfloat16).eval()

    def measure(batch: int, ctx: int, steps: int) -> tuple[float, list[float]]:
        # It takes fewer prompts a step than the budget allows, so the first sequences need more tokens not to end before the last begins;
        # and with blocks for no more than the batch it lets the last one wait until another has ended.
        wanted = protocol.tokens_wanted(batch, ctx, steps) + batch
        blocks = 2 * batch * -(-(ctx + wanted + 1) // PAGE)
        settings = {
            "page_size": PAGE,
            "num_blocks": blocks,
            "max_batch_tokens": protocol.BUDGET,
            "allow_block_sharing": False,
        }
        batching = transformers.ContinuousBatchingConfig(**settings)
        generation = GenerationConfig(max_new_tokens=wanted, do_sample=False, eos_token_id=-1, use_cache=True)
        outputs = model.generate_batch(
            protocol.prompts(batch, ctx, next(_seeds)), generation, batching, record_timestamps=True, warmup=False
        )
        stamps = [output.timestamps for output in outputs.values()]
        begun = min(output.created_time for output in outputs.values())
        return max(times[0] for times in stamps) - begun, protocol.whole_steps(stamps)[:steps]

    protocol.serve(measure, {"engine": "transformers generate_batch", "version": transformers.__version__})


if __name__ == "__main__":
    main()
