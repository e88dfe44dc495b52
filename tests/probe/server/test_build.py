"""What does a server have before its first request?"""

from __future__ import annotations

import pytest

pytest.importorskip("torch", reason="the engine's tests need the extra `probe`")

from probe.engine.native import calls, pool
from probe.server.build import build
from probe.server.options import ServeOptions


@pytest.mark.parametrize(("dtype", "compiled"), [("bfloat16", [True]), ("float32", [])])
def test_a_server_has_its_kernels_before_its_first_request(
    dtype: str, compiled: list[bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    found: list[bool] = []
    monkeypatch.setattr(calls, "compile_all", lambda: found.append(True))
    build(ServeOptions("Llama-3.1-8B", scale=0.01, dtype=dtype, kv_cache_memory_bytes=1 << 20, max_model_len=64))
    assert found == (compiled if pool.available() else [])
