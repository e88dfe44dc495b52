"""Which result file do operation tables make for an architecture? A floor: composed, never measured as a whole."""

from __future__ import annotations

from pathlib import Path

import msgspec

from probe.curve.architecture import architecture_of
from probe.curve.errors import CurveRefused
from probe.curve.schema import UNKNOWN, ResultFile
from probe.engine.models.presets import preset
from probe.imports.common import Given, setup
from probe.imports.op_tables import compose, read_op_tables

# As the tables have it.
_CALLED = {"bf16": "bfloat16", "fp16": "float16"}


def read(path: Path, given: Given) -> list[ResultFile]:
    """`path`: one of the tables, or their common beginning (h200_sxm). The model is a preset's name."""
    if not given.model:
        raise CurveRefused("model", None, "name the architecture to compose: give --model")
    prefix = path
    for table in ("_gemm", "_generation_attention", "_context_attention", "_moe"):
        if path.name.endswith(f"{table}_perf.parquet"):
            prefix = path.with_name(path.name.removesuffix(f"{table}_perf.parquet"))
    config = preset(given.model)
    model = architecture_of(given.model, config)
    dtype = given.dtype or "bfloat16"
    dtype = _CALLED.get(dtype, dtype)
    tables = read_op_tables(prefix, model, dtype)
    base = setup(
        f"floor-{given.model}-{prefix.name}-{dtype}",
        given,
        prefix,
        model=given.model,
        gpu=tables.device,
        engine=tables.engine,
        gpus=1,
        at=UNKNOWN,
        dtype=dtype,
    )
    known = {
        "num_hidden_layers": model.layers,
        "hidden_size": model.hidden,
        "num_attention_heads": model.heads,
        "num_key_value_heads": model.kv_heads,
        "head_dim": model.head_dim,
        "intermediate_size": model.ffn,
        "vocab_size": model.vocab,
        "num_experts": model.experts,
        "num_experts_per_tok": model.experts_per_token,
    }
    described = msgspec.structs.replace(base.model, architecture=known, parameters=model.parameters)
    return [
        msgspec.structs.replace(
            base,
            run=msgspec.structs.replace(base.run, via="composed"),
            engine=msgspec.structs.replace(base.engine, version=tables.version, kv_cache_dtype=tables.kv_cache_dtype),
            model=described,
            points=compose(model, tables),
        )
    ]
