"""Does the HTTP probe measure real servers of others? Where TOKENCOGS_BENCH_PEERS names their interpreters, else skipped.

    sh tests/bench/peers/make_peers.sh /tmp/peers
    TOKENCOGS_BENCH_PEERS="vllm=/tmp/peers/bin/python" pytest -m slow tests/probe/http/test_peers.py

`llama_cpp=...` names one that has `llama-cpp-python[server]` and `gguf`.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from probe.curve.schema import ResultFile
from probe.http.dialects import DIALECTS
from probe.http.load import Call, Target, ask
from probe.http.plan import Plan, Setup
from probe.http.prompts import Prompts
from probe.http.sweep import probe_http
from probe.http.transport import Client
from tests.served import free_port

pytestmark = pytest.mark.slow

PEERS = dict(one.split("=", 1) for one in os.environ.get("TOKENCOGS_BENCH_PEERS", "").split())
SHAPE = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "torch_dtype": "bfloat16",
    "hidden_act": "silu",
    "bos_token_id": 1,
    "eos_token_id": 2,
    "vocab_size": 2048,
    "hidden_size": 256,
    "intermediate_size": 512,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 64,
    "max_position_embeddings": 2048,
    "rms_norm_eps": 1e-5,
    "rope_theta": 10000.0,
    "tie_word_embeddings": False,
}


def interpreter(name: str) -> str:
    if name not in PEERS:
        pytest.skip(f"TOKENCOGS_BENCH_PEERS names no interpreter {name}=")
    return PEERS[name]


@contextmanager
def running(command: list[str], env: dict[str, str], ready: str, log: Path, patience: float = 400) -> Iterator[None]:
    """A server's process until `ready` answers 200; ended with the block, and all that it started."""
    with log.open("wb") as out:
        process = subprocess.Popen(
            command, env={**os.environ, **env}, stdout=out, stderr=subprocess.STDOUT, start_new_session=True
        )
    try:
        deadline = time.monotonic() + patience
        while time.monotonic() < deadline:
            assert process.poll() is None, log.read_text(errors="replace")[-3000:]
            try:
                if httpx.get(ready, timeout=5).status_code == 200:
                    break
            except httpx.TransportError:
                time.sleep(0.5)
        else:
            raise AssertionError(f"not ready after {patience} s: {log.read_text(errors='replace')[-3000:]}")
        yield
    finally:
        process.terminate()
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, 9)
            process.wait()


def measured(url: str) -> ResultFile:
    plan = Plan((1, 2, 4), (64, 256), 12, each=1, rounds=2, vocabulary=2048)
    return probe_http(url, plan, Setup("cpu", dtype="bfloat16"))


@pytest.fixture(scope="module")
def vllm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    python = interpreter("vllm")
    folder, port = tmp_path_factory.mktemp("vllm"), free_port()
    (folder / "config.json").write_text(json.dumps(SHAPE))
    omp = next((Path(python).parent.parent / "lib").glob("libiomp5.so"), None)
    env = {
        "VLLM_CPU_KVCACHE_SPACE": "1",
        "VLLM_CPU_OMP_THREADS_BIND": "0-1",
        "VLLM_ENABLE_V1_MULTIPROCESSING": "0",
        **({"LD_PRELOAD": str(omp)} if omp else {}),
    }
    command = [
        python, "-m", "vllm.entrypoints.openai.api_server", "--model", str(folder), "--served-model-name", "small",
        "--load-format", "dummy", "--skip-tokenizer-init", "--enable-prompt-tokens-details", "--enforce-eager",
        "--dtype", "bfloat16", "--max-model-len", "1024", "--host", "127.0.0.1", "--port", str(port),
    ]  # fmt: skip
    url = f"http://127.0.0.1:{port}"
    with running(command, env, f"{url}/health", folder / "log"):
        yield url


def test_vllm_is_measured_from_outside(vllm: str) -> None:
    result = measured(vllm)
    assert (result.engine.name, result.model.name) == ("vllm", "small")
    assert result.engine.version
    assert {(run.output_tokens, run.failed) for run in result.served} == {(12, 0)}
    assert {run.input_tokens for run in result.served} == {64, 256}
    assert {len(one.contexts) for one in result.samples if one.kind == "decode"} <= {1, 2, 4}
    assert any(one.kind == "decode" for one in result.samples)


def test_vllm_s_cached_tokens_are_recognised(vllm: str) -> None:
    """The same prompt of 400 tokens twice: the second time three whole blocks of 128 are in the cache."""
    prompt = Prompts(5, 2048).next(400)

    async def twice() -> list[Call]:
        client = Client(vllm)
        try:
            dialect = DIALECTS["vllm"]
            target = Target(client, dialect, "small")
            return [(await ask(target, prompt, 400, 4, time.monotonic())).read(dialect) for _ in range(2)]
        finally:
            client.close()

    first, second = asyncio.run(twice())
    assert not first.stream.cached_tokens
    assert second.stream.cached_tokens == 384


@pytest.fixture(scope="module")
def llama_cpp(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    python = interpreter("llama_cpp")
    folder, port = tmp_path_factory.mktemp("llama"), free_port()
    model = folder / "small.gguf"
    subprocess.run([python, str(Path(__file__).with_name("make_gguf.py")), str(model)], check=True)
    command = [
        python, "-m", "llama_cpp.server", "--model", str(model), "--n_ctx", "1024", "--host", "127.0.0.1",
        "--port", str(port),
    ]  # fmt: skip
    url = f"http://127.0.0.1:{port}"
    with running(command, {}, f"{url}/v1/models", folder / "log"):
        yield url


def test_llama_cpp_python_is_measured_as_far_as_it_tells(llama_cpp: str) -> None:
    """It takes one request at a time, counts nothing in a stream and says nothing of cached tokens; answers that end early are left out."""
    result = probe_http(llama_cpp, Plan((1,), (32, 64), 8, each=2, rounds=2), Setup("cpu"))
    assert result.engine.name == "llama-cpp-python"
    assert all(run.cached_tokens is None for run in result.served)
    assert result.fit is not None
    assert any("cached tokens: unknown" in note for note in result.fit.notes)
