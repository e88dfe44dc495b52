"""How fast is llama.cpp on this CPU on the same shape? A process of the bench, in an environment with `llama-cpp-python` and `gguf`.

bf16 weights, flash attention, two threads, its own cache type (f16). Prompts go in steps of the bench's budget, as in every engine.
"""

from __future__ import annotations

import ctypes
import itertools
import os
import tempfile
import time
from pathlib import Path
from typing import Any

import llama_cpp
import numpy as np
import protocol
from gguf import GGMLQuantizationType, GGUFWriter, TokenType, quantize

Part = tuple[int, int, int, bool]  # token, position, sequence, whether its logits are wanted
_seeds = itertools.count()


@llama_cpp.llama_log_callback  # type: ignore[untyped-decorator]
def _silent(_level: int, _text: bytes, _data: Any) -> None:
    """Thousands of lines about tensors say nothing to a reader of the bench."""


def main() -> None:
    folder = tempfile.TemporaryDirectory(prefix="bench-llama-")
    path = Path(folder.name) / "shape.gguf"
    write_model(path)
    llama_cpp.llama_log_set(_silent, ctypes.c_void_p())
    llama_cpp.llama_backend_init()
    model = llama_cpp.llama_model_load_from_file(str(path).encode(), llama_cpp.llama_model_default_params())
    folder.cleanup()  # the file stays mapped

    def measure(batch: int, ctx: int, steps: int) -> tuple[float, list[float]]:
        context = _context(model, batch, ctx + steps + 2)
        try:
            return _measured(context, protocol.prompts(batch, ctx, next(_seeds)), steps)
        finally:
            llama_cpp.llama_free(context)

    protocol.serve(measure, {"engine": "llama.cpp", "version": llama_cpp.__version__})


def _context(model: Any, batch: int, tokens: int) -> Any:
    params = llama_cpp.llama_context_default_params()
    params.n_ctx = batch * -(-tokens // 256) * 256
    params.n_batch, params.n_seq_max = protocol.BUDGET, batch
    params.n_threads = params.n_threads_batch = os.cpu_count() or 1
    params.flash_attn_type = llama_cpp.LLAMA_FLASH_ATTN_TYPE_ENABLED
    return llama_cpp.llama_init_from_model(model, params)


def _measured(context: Any, prompts: list[list[int]], steps: int) -> tuple[float, list[float]]:
    """Seconds to every sequence's first token, and of each step after it."""
    batch, ctx = len(prompts), len(prompts[0])
    parts = [
        (token, at, number, at == ctx - 1) for number, prompt in enumerate(prompts) for at, token in enumerate(prompt)
    ]
    begun, latest = time.perf_counter(), dict[int, int]()
    for start in range(0, len(parts), protocol.BUDGET):
        latest |= _decode(context, parts[start : start + protocol.BUDGET])
    prefill, times = time.perf_counter() - begun, []
    for step in range(steps):
        before = time.perf_counter()
        latest = _decode(context, [(latest[number], ctx + step, number, True) for number in range(batch)])
        times.append(time.perf_counter() - before)
    return prefill, times


def _decode(context: Any, parts: list[Part]) -> dict[int, int]:
    """Runs one step; the likeliest token by sequence. Raises RuntimeError where llama.cpp refuses."""
    batch = llama_cpp.llama_batch_init(len(parts), 0, 1)
    try:
        batch.n_tokens = len(parts)
        for i, (token, position, sequence, wanted) in enumerate(parts):
            batch.token[i], batch.pos[i], batch.n_seq_id[i], batch.logits[i] = token, position, 1, wanted
            batch.seq_id[i][0] = sequence
        code = llama_cpp.llama_decode(context, batch)
        if code:
            raise RuntimeError(f"llama_decode: {code} for {len(parts)} tokens")
        return {part[2]: _likeliest(context, i) for i, part in enumerate(parts) if part[3]}
    finally:
        llama_cpp.llama_batch_free(batch)


def _likeliest(context: Any, index: int) -> int:
    logits = llama_cpp.llama_get_logits_ith(context, index)
    row = ctypes.cast(logits, ctypes.POINTER(ctypes.c_float * protocol.SHAPE["vocab_size"])).contents
    return int(np.frombuffer(row, np.float32).argmax())


def write_model(path: Path) -> None:
    """The bench's shape with random bf16 weights and a vocabulary of bytes and names."""
    shape, draw = protocol.SHAPE, np.random.default_rng(0)
    vocabulary, hidden, wide = shape["vocab_size"], shape["hidden_size"], shape["intermediate_size"]
    keys = shape["num_key_value_heads"] * shape["head_dim"]
    writer = GGUFWriter(path, "llama")
    writer.add_context_length(shape["max_position_embeddings"])
    writer.add_embedding_length(hidden)
    writer.add_block_count(shape["num_hidden_layers"])
    writer.add_feed_forward_length(wide)
    writer.add_head_count(shape["num_attention_heads"])
    writer.add_head_count_kv(shape["num_key_value_heads"])
    writer.add_layer_norm_rms_eps(shape["rms_norm_eps"])
    writer.add_rope_dimension_count(shape["head_dim"])
    writer.add_rope_freq_base(shape["rope_theta"])
    writer.add_vocab_size(vocabulary)
    pieces = ["<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256))]
    kinds = [TokenType.UNKNOWN, TokenType.CONTROL, TokenType.CONTROL, *[TokenType.BYTE] * 256]
    writer.add_tokenizer_model("llama")
    writer.add_token_list([*pieces, *(f"t{i}" for i in range(vocabulary - len(pieces)))])
    writer.add_token_scores([0.0] * vocabulary)
    writer.add_token_types([*kinds, *[TokenType.NORMAL] * (vocabulary - len(kinds))])

    def put(name: str, *size: int) -> None:
        if len(size) == 1:
            writer.add_tensor(name, np.ones(size, np.float32))
            return
        values = draw.standard_normal(size, np.float32) * np.float32(0.02)
        kind = GGMLQuantizationType.BF16
        writer.add_tensor(name, quantize(values, kind), raw_dtype=kind)

    put("token_embd.weight", vocabulary, hidden)
    put("output_norm.weight", hidden)
    put("output.weight", vocabulary, hidden)
    for layer in range(shape["num_hidden_layers"]):
        block = f"blk.{layer}"
        for name, rows in (("attn_q", hidden), ("attn_k", keys), ("attn_v", keys), ("attn_output", hidden)):
            put(f"{block}.{name}.weight", rows, hidden)
        put(f"{block}.attn_norm.weight", hidden)
        put(f"{block}.ffn_norm.weight", hidden)
        put(f"{block}.ffn_gate.weight", wide, hidden)
        put(f"{block}.ffn_up.weight", wide, hidden)
        put(f"{block}.ffn_down.weight", hidden, wide)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


if __name__ == "__main__":
    main()
