"""How long would a step take if only its kernels counted? Single operations' measured times, summed for an architecture: a floor.

Reads aiconfigurator's tables (gemm, generation_attention, context_attention, moe as Parquet, milliseconds). A step is, over the layers,
QKV, O, and gate, up and down GEMMs or the experts, plus attention; then the head. Norms, sampling, launch gaps and the engine's loop are
not in it, so at saturation it is about half of served time. Between tabulated sizes: straight lines; a head wider than the
widest table is scaled from it. Nothing beyond the tables is guessed.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from probe.curve.architecture import Architecture
from probe.curve.errors import CurveRefused
from probe.curve.schema import Point

# Of each table the columns that are read beside those that its rows are picked by.
_TABLES = {
    "gemm": ("device", "framework", "version", "m", "n", "k", "latency"),
    "generation_attention": ("batch_size", "step", "latency"),
    "context_attention": ("isl", "latency"),
    "moe": ("num_tokens", "latency"),
}
LARGEST_BATCH = 256
SHORTEST_CONTEXT, SHORTEST_PROMPT = 128, 128
# Of the routings in the tables, the one drawn from use; balanced ones touch experts faster than real traffic does.
ROUTING = "power_law_1.01"


@dataclass(frozen=True)
class OpTables:
    """Times in seconds of one device and engine version.

    Attributes:
        device, engine, version: as the tables state them. kv_cache_dtype: of the attention rows used.
        gemm: (n, k) -> (m ascending, seconds).
        decode: (batch, context) -> seconds of one layer's attention.
        prompts: new tokens -> seconds of one layer's attention, batch 1.
        moe: (tokens ascending, seconds) of one layer's experts; empty for dense models.
    """

    device: str
    engine: str
    version: str
    kv_cache_dtype: str
    gemm: dict[tuple[int, int], tuple[np.ndarray, np.ndarray]]
    decode: dict[tuple[int, int], float]
    prompts: dict[int, float]
    moe: tuple[np.ndarray, np.ndarray] | None


def read_op_tables(prefix: Path, model: Architecture, dtype: str = "bfloat16", routing: str = ROUTING) -> OpTables:
    """Tables `<prefix>_gemm_perf.parquet` and so on, the rows that this architecture needs.

    Raises CurveRefused for a table without them."""
    gemm = _rows(prefix, "gemm", gemm_dtype=dtype)
    heads = {"num_heads": model.heads, "num_key_value_heads": model.kv_heads, "head_dim": model.head_dim}
    cached = "fp8" if dtype == "fp8" else "bfloat16"
    attention = {**heads, "kv_cache_dtype": cached, "window_size": 0}
    decode = _rows(prefix, "generation_attention", **attention)
    prompts = _rows(prefix, "context_attention", **attention, batch_size=1, step=0)
    moe = None
    if model.experts:
        shape = {"hidden_size": model.hidden, "inter_size": model.ffn, "topk": model.experts_per_token}
        one = {"num_experts": model.experts, "moe_tp_size": 1, "moe_ep_size": 1}
        rows = _rows(prefix, "moe", **shape, **one, moe_dtype=dtype, distribution=routing)
        moe = _line([row["num_tokens"] for row in rows], [row["latency"] for row in rows])
    sizes: dict[tuple[int, int], dict[int, float]] = {}
    for row in gemm:
        sizes.setdefault((row["n"], row["k"]), {})[row["m"]] = row["latency"]
    return OpTables(
        device=gemm[0]["device"],
        engine=gemm[0]["framework"].lower(),
        version=gemm[0]["version"],
        kv_cache_dtype=cached,
        gemm={size: _line(list(line), list(line.values())) for size, line in sizes.items()},
        decode={(row["batch_size"], row["step"] + 1): row["latency"] / 1e3 for row in decode},
        prompts={row["isl"]: row["latency"] / 1e3 for row in prompts},
        moe=moe,
    )


def compose(model: Architecture, tables: OpTables) -> list[Point]:
    """Decode points where attention was measured, batch 1 to 256, and prefill points of one prompt."""
    points = []
    for (batch, context), attention in sorted(tables.decode.items()):
        if batch <= LARGEST_BATCH and context >= SHORTEST_CONTEXT:
            seconds = _step(model, tables, batch, batch, attention)
            points.append(Point(kind="decode", seconds=seconds, batch=batch, context_sum=batch * context))
    for new, attention in sorted(tables.prompts.items()):
        if new >= SHORTEST_PROMPT:
            seconds = _step(model, tables, new, 1, attention)
            points.append(Point(kind="prefill", seconds=seconds, new=new, pairs=new * new / 2))
    return points


def _step(model: Architecture, tables: OpTables, tokens: int, rows: int, attention: float) -> float:
    """Seconds of a step of `tokens`, `rows` of which reach the head."""
    width = model.head_dim
    layer = _gemm(tables, tokens, (model.heads + 2 * model.kv_heads) * width, model.hidden)
    layer += _gemm(tables, tokens, model.hidden, model.heads * width) + attention
    if tables.moe is not None:
        layer += _at(tables.moe, tokens, "num_tokens")
    else:
        layer += (2 if model.gated else 1) * _gemm(tables, tokens, model.ffn, model.hidden)
        layer += _gemm(tables, tokens, model.hidden, model.ffn)
    return model.layers * layer + _gemm(tables, rows, model.vocab, model.hidden)


def _gemm(tables: OpTables, m: int, n: int, k: int) -> float:
    """Seconds of [m, k] @ [k, n]: tabulated, between the neighbours in n or in k, or scaled from the widest n."""
    if (n, k) in tables.gemm:
        return _at(tables.gemm[n, k], m, "m")
    widths = sorted(one for one, depth in tables.gemm if depth == k)
    if widths and n > widths[-1]:
        return _at(tables.gemm[widths[-1], k], m, "m") * n / widths[-1]
    if widths and n > widths[0]:
        return _between([(one, _at(tables.gemm[one, k], m, "m")) for one in widths], n)
    depths = sorted(depth for one, depth in tables.gemm if one == n)
    if depths and depths[0] < k < depths[-1]:
        return _between([(depth, _at(tables.gemm[n, depth], m, "m")) for depth in depths], k)
    raise CurveRefused("gemm", (n, k), "neither this (n, k) nor neighbours of it are in the table")


def _between(known: list[tuple[int, float]], at: int) -> float:
    return float(np.interp(at, [size for size, _ in known], [seconds for _, seconds in known]))


def _at(line: tuple[np.ndarray, np.ndarray], at: int, field: str) -> float:
    if not line[0][0] <= at <= line[0][-1]:
        raise CurveRefused(field, at, f"the table goes from {line[0][0]} to {line[0][-1]}")
    return float(np.interp(at, *line))


def _line(sizes: list[int], milliseconds: list[float]) -> tuple[np.ndarray, np.ndarray]:
    order = np.argsort(sizes)
    return np.array(sizes)[order], np.array(milliseconds)[order] / 1e3


def _rows(prefix: Path, table: str, **wanted: Any) -> list[dict[str, Any]]:
    path = prefix.with_name(f"{prefix.name}_{table}_perf.parquet")
    if not path.exists():
        raise CurveRefused("file", str(path), f"a set of operation tables has {', '.join(_TABLES)}")
    try:
        found = pq.read_table(path)
    except pa.ArrowException as error:
        raise CurveRefused("file", str(path), f"no Parquet table, or not the whole of it: {error}") from None
    read = {*wanted, *_TABLES[table]}
    missing = sorted(read - {*found.column_names})
    if missing:
        raise CurveRefused("columns", missing, f"{path.name} lacks them")
    try:
        for name, value in wanted.items():
            found = found.filter(pc.equal(found[name], value))
    except pa.ArrowException as error:
        raise CurveRefused(table, wanted, f"{path.name} has columns of another kind: {error}") from None
    empty = sorted(name for name in read if found[name].null_count)
    if empty:
        raise CurveRefused("columns", empty, f"{path.name} has empty cells in them")
    if not found.num_rows:
        raise CurveRefused(table, wanted, "the table has no such rows")
    rows: list[dict[str, Any]] = found.to_pylist()
    return rows
