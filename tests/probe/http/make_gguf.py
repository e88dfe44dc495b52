"""Which model file does the llama-cpp-python server of the tests serve? A small random Llama with a byte-fallback vocabulary.

Runs in that server's own environment: `python make_gguf.py small.gguf`.
"""

from __future__ import annotations

import sys

import numpy as np
from gguf import GGUFWriter, TokenType

LAYERS, HIDDEN, HEADS, KV_HEADS, FFN, CONTEXT = 2, 256, 4, 2, 512, 1024


def main(path: str) -> None:
    draw = np.random.default_rng(0)
    pieces = [b"<unk>", b"<s>", b"</s>", *(f"<0x{byte:02X}>".encode() for byte in range(256)), "\u2581".encode()]
    pieces += [bytes([byte]) for byte in range(33, 127)]
    kinds = [TokenType.UNKNOWN, TokenType.CONTROL, TokenType.CONTROL, *[TokenType.BYTE] * 256]
    kinds += [TokenType.NORMAL] * (len(pieces) - len(kinds))
    writer = GGUFWriter(path, "llama")
    writer.add_context_length(CONTEXT)
    writer.add_embedding_length(HIDDEN)
    writer.add_block_count(LAYERS)
    writer.add_feed_forward_length(FFN)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(KV_HEADS)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_dimension_count(HIDDEN // HEADS)
    writer.add_vocab_size(len(pieces))
    writer.add_tokenizer_model("llama")
    writer.add_token_list(pieces)
    writer.add_token_scores([0.0] * len(pieces))
    writer.add_token_types(kinds)
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)

    def put(name: str, *shape: int) -> None:
        values = np.ones(shape, np.float32) if len(shape) == 1 else draw.normal(0, 0.05, shape).astype(np.float32)
        writer.add_tensor(name, values)

    kv = HIDDEN // HEADS * KV_HEADS
    put("token_embd.weight", len(pieces), HIDDEN)
    put("output_norm.weight", HIDDEN)
    put("output.weight", len(pieces), HIDDEN)
    for layer in range(LAYERS):
        block = f"blk.{layer}"
        for name, rows in (("attn_q", HIDDEN), ("attn_k", kv), ("attn_v", kv), ("attn_output", HIDDEN)):
            put(f"{block}.{name}.weight", rows, HIDDEN)
        put(f"{block}.attn_norm.weight", HIDDEN)
        put(f"{block}.ffn_norm.weight", HIDDEN)
        put(f"{block}.ffn_gate.weight", FFN, HIDDEN)
        put(f"{block}.ffn_up.weight", FFN, HIDDEN)
        put(f"{block}.ffn_down.weight", HIDDEN, FFN)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


if __name__ == "__main__":
    main(sys.argv[1])
