"""Does the server answer over real HTTP as OpenAI's clients expect, with the counts that cost needs?"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest
import uvicorn

torch = pytest.importorskip("torch", reason="the engine's tests need the extra `probe`")

from probe.engine.errors import ProbeError  # noqa: E402
from probe.engine.ledger import read_ledger, read_run  # noqa: E402
from probe.engine.runner import ModelInput, ModelRunner  # noqa: E402
from probe.server.build import build  # noqa: E402
from probe.server.options import ServeOptions  # noqa: E402
from tests.served import free_port  # noqa: E402

PROMPT = [3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5]
GREEDY = {"temperature": 0, "ignore_eos": True}
BLOCK = 4


def served(**options: Any) -> Iterator[httpx.Client]:
    """A client of a server thread around a Llama of 2 narrow layers and 256 tokens."""
    settings = {"dtype": "float32", "scale": 0.01, "block_size": BLOCK, "max_model_len": 96, "max_num_seqs": 8}
    settings |= {"kv_cache_memory_bytes": 1 << 18, "served_model_name": "tiny", **options}
    port = free_port()
    server = uvicorn.Server(
        uvicorn.Config(build(ServeOptions("Llama-3.1-8B", **settings)), host="127.0.0.1", port=port, log_config=None)
    )
    thread = threading.Thread(target=server.run)
    thread.start()
    while not server.started:
        assert thread.is_alive(), "the server ended before it began"
        time.sleep(0.01)
    with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=60) as client:
        yield client
    server.should_exit = True
    thread.join()


@pytest.fixture(scope="module")
def client() -> Iterator[httpx.Client]:
    yield from served()


@pytest.fixture(scope="module")
def texts(tokenizer_file: Path) -> Iterator[httpx.Client]:
    yield from served(tokenizer=tokenizer_file)


def complete(client: httpx.Client, prompt: Any = PROMPT, **fields: Any) -> dict[str, Any]:
    answer = client.post("/v1/completions", json={"prompt": prompt, "max_tokens": 6, **GREEDY, **fields})
    assert answer.status_code == 200, answer.text
    body: dict[str, Any] = answer.json()
    return body


def events(client: httpx.Client, path: str, body: dict[str, Any]) -> list[dict[str, Any]]:
    with client.stream("POST", path, json={**body, "stream": True}) as answer:
        assert answer.headers["content-type"].startswith("text/event-stream")
        lines = [line.removeprefix("data: ") for line in answer.iter_lines() if line]
    assert lines[-1] == "[DONE]"
    return [json.loads(line) for line in lines[:-1]]


def metric(client: httpx.Client, name: str) -> float:
    lines = client.get("/metrics").text.splitlines()
    return sum(float(line.rsplit(" ", 1)[1]) for line in lines if line.startswith(f"{name}{{"))


def until(true: Any) -> None:
    deadline = time.monotonic() + 10
    while not true():
        assert time.monotonic() < deadline, "not reached within 10 s"
        time.sleep(0.02)


def test_a_completion_of_token_ids_counts_its_tokens(client: httpx.Client) -> None:
    body = complete(client, [11, 12, 13], max_tokens=5)
    [choice] = body["choices"]
    assert (body["object"], body["model"]) == ("text_completion", "tiny")
    assert (len(choice["token_ids"]), choice["text"], choice["finish_reason"]) == (5, "", "length")
    assert body["usage"] == {
        "prompt_tokens": 3,
        "completion_tokens": 5,
        "total_tokens": 8,
        "prompt_tokens_details": {"cached_tokens": 0},
    }


def test_a_repeated_prompt_is_found_in_the_cache_by_whole_blocks(client: httpx.Client) -> None:
    """11 tokens fill two blocks of 4; the last token is never taken from the cache."""
    prompt = [21, *PROMPT[1:]]
    first, second = complete(client, prompt), complete(client, prompt)
    assert first["usage"]["prompt_tokens_details"] == {"cached_tokens": 0}
    assert second["usage"]["prompt_tokens_details"] == {"cached_tokens": 8}
    assert first["choices"][0]["token_ids"] == second["choices"][0]["token_ids"]


def test_a_stream_gives_the_same_tokens_and_ends_with_the_usage(client: httpx.Client) -> None:
    whole = complete(client)
    fields = {"prompt": PROMPT, "max_tokens": 6, **GREEDY, "stream_options": {"include_usage": True}}
    *chunks, last = events(client, "/v1/completions", fields)
    assert [token for chunk in chunks for token in chunk["choices"][0]["token_ids"]] == whole["choices"][0]["token_ids"]
    assert [chunk["choices"][0]["finish_reason"] for chunk in chunks] == [None] * 5 + ["length"]
    assert last["choices"] == []
    assert last["usage"]["completion_tokens"] == 6


def test_several_prompts_and_outputs_have_their_places(client: httpx.Client) -> None:
    alone = [complete(client, prompt)["choices"][0]["token_ids"] for prompt in (PROMPT, [7, 8])]
    body = complete(client, [PROMPT, [7, 8]], n=2)
    assert [choice["index"] for choice in body["choices"]] == [0, 1, 2, 3]
    assert [choice["token_ids"] for choice in body["choices"]] == [alone[0], alone[0], alone[1], alone[1]]
    assert body["usage"]["prompt_tokens"] == 13
    assert body["usage"]["completion_tokens"] == 24


def test_requests_at_once_get_what_they_get_alone(client: httpx.Client) -> None:
    prompts = [[i, i + 1, 2 * i] for i in range(30, 42)]
    alone = [complete(client, prompt)["choices"][0]["token_ids"] for prompt in prompts]
    with ThreadPoolExecutor(12) as pool:
        together = list(pool.map(lambda prompt: complete(client, prompt)["choices"][0]["token_ids"], prompts))
    assert together == alone


def test_a_seed_repeats_a_draw(client: httpx.Client) -> None:
    draws = [complete(client, temperature=1, seed=seed, max_tokens=12)["choices"][0]["token_ids"] for seed in (1, 1, 2)]
    assert draws[0] == draws[1] != draws[2]


def test_a_stop_token_ends_the_output(client: httpx.Client) -> None:
    ids = complete(client)["choices"][0]["token_ids"]
    [choice] = complete(client, stop_token_ids=[ids[2]], ignore_eos=False)["choices"]
    assert choice["finish_reason"] == "stop"
    assert choice["token_ids"] == ids[: ids.index(ids[2]) + 1]


@pytest.mark.parametrize(
    ("body", "status", "param", "part"),
    [
        ({"prompt": [1], "max_tokens": "many"}, 400, "max_tokens", "valid integer (got 'many')"),
        ({"max_tokens": 3}, 400, "prompt", "Field required"),
        ({"prompt": "words"}, 400, "prompt", "no tokenizer"),
        ({"prompt": [999999]}, 400, "prompt", "token id 999999 is not in 0.."),
        ({"prompt": [1], "model": "other"}, 404, "model", "'other' is not served; 'tiny' is"),
        (
            {"prompt": [1] * 90, "max_tokens": 20},
            400,
            "max_tokens",
            "= 20: 90 prompt tokens and so many more exceed max_model_len (96)",
        ),
        ({"prompt": [1], "best_of": 3}, 400, "best_of", "best_of: 3 is not supported"),
        ({"prompt": [1], "n": 9}, 400, "n", "n = 9: more outputs than may run at once"),
    ],
)
def test_bad_input_is_refused_by_name(
    client: httpx.Client, body: dict[str, Any], status: int, param: str, part: str
) -> None:
    answer = client.post("/v1/completions", json=body)
    error = answer.json()["error"]
    assert (answer.status_code, error["param"], error["code"]) == (status, param, status)
    assert part in error["message"]
    assert error["message"].startswith(param)


def test_a_body_that_is_no_json_is_refused(client: httpx.Client) -> None:
    answer = client.post("/v1/completions", content=b"{", headers={"content-type": "application/json"})
    assert answer.status_code == 400
    error = answer.json()["error"]
    assert error["message"].startswith(
        "body: is no JSON: Expecting property name enclosed in double quotes at character 1"
    )
    assert error["param"] is None


@pytest.mark.parametrize(
    ("method", "path", "status"), [("POST", "/v1/embeddings", 404), ("GET", "/v1/completions", 405)]
)
def test_a_route_that_is_not_there_is_refused_in_openais_form(
    client: httpx.Client, method: str, path: str, status: int
) -> None:
    answer = client.request(method, path)
    assert (answer.status_code, answer.json()["error"]["code"]) == (status, status)


def test_a_chat_without_tokenizer_says_what_to_do(client: httpx.Client) -> None:
    answer = client.post("/v1/chat/completions", json={"messages": [{"role": "user", "content": "Hi"}]})
    assert answer.status_code == 400
    assert "--tokenizer" in answer.json()["error"]["message"]


@pytest.mark.parametrize("field", ["max_tokens", "max_completion_tokens"])
def test_a_chat_that_does_not_fit_is_refused_by_the_field_it_has(texts: httpx.Client, field: str) -> None:
    body = {"messages": [{"role": "user", "content": "Hi"}], field: 90}
    error = texts.post("/v1/chat/completions", json=body).json()["error"]
    assert (error["param"], error["code"]) == (field, 400)
    why = "26 prompt tokens and so many more exceed max_model_len (96)"
    assert error["message"] == f"{field} = 90: {why}"


def test_a_chat_is_answered_whole_and_in_a_stream(texts: httpx.Client) -> None:
    body = {"messages": [{"role": "user", "content": "Hi"}], "max_completion_tokens": 8, **GREEDY}
    whole = texts.post("/v1/chat/completions", json=body).json()
    assert whole["object"] == "chat.completion"
    assert whole["usage"]["prompt_tokens"] == len("<|user|>\nHi\n<|assistant|>\n")
    message = whole["choices"][0]["message"]
    assert message["role"] == "assistant"
    chunks = events(texts, "/v1/chat/completions", body)
    assert chunks[0]["choices"][0]["delta"]["role"] == "assistant"
    assert "".join(chunk["choices"][0]["delta"]["content"] for chunk in chunks) == message["content"]


@pytest.mark.parametrize("n", [1, 2])
def test_a_stop_string_ends_a_text_before_it(texts: httpx.Client, n: int) -> None:
    """In the engine too, as soon as the last of a prompt's outputs has ended; 90 tokens would be the limit."""

    def finished(reason: str) -> float:
        labels = f'engine="0",finished_reason="{reason}",model_name="tiny"'
        lines = texts.get("/metrics").text.splitlines()
        return sum(
            float(line.rsplit(" ", 1)[1])
            for line in lines
            if line.startswith(f"vllm:request_success_total{{{labels}}}")
        )

    text = complete(texts, "hello", max_tokens=20)["choices"][0]["text"]
    stop, before = text[3:5], [finished(reason) for reason in ("stop", "length", "abort")]
    choices = complete(texts, "hello", max_tokens=90, stop=stop, n=n)["choices"]
    assert [choice["finish_reason"] for choice in choices] == ["stop"] * n
    assert [choice["text"] for choice in choices] == [text[: text.index(stop)]] * n
    until(lambda: metric(texts, "vllm:num_requests_running") == 0)
    until(lambda: sum(finished(reason) for reason in ("stop", "length", "abort")) == sum(before) + n)
    assert [finished(reason) for reason in ("stop", "length", "abort")] == [before[0] + n, *before[1:]]


def test_metrics_count_in_vllms_names(client: httpx.Client) -> None:
    names = ("vllm:prompt_tokens_total", "vllm:generation_tokens_total", "vllm:prefix_cache_hits_total")
    before = [metric(client, name) for name in names]
    prompt = [77, *PROMPT]
    complete(client, prompt, max_tokens=4)
    complete(client, prompt, max_tokens=4)
    assert [metric(client, name) - was for name, was in zip(names, before, strict=True)] == [24, 8, 8]
    for name in (
        "num_requests_running",
        "kv_cache_usage_perc",
        "time_to_first_token_seconds_count",
        "iteration_tokens_total_sum",
    ):
        assert f'vllm:{name}{{engine="0",model_name="tiny"}}' in client.get("/metrics").text


def test_a_client_that_hangs_up_frees_the_engine(client: httpx.Client) -> None:
    aborted = 'vllm:request_success_total{engine="0",finished_reason="abort",model_name="tiny"}'
    body = {"prompt": [88, 89], "max_tokens": 90, "stream": True, **GREEDY}
    with client.stream("POST", "/v1/completions", json=body) as answer:
        next(answer.iter_lines())
    until(lambda: f"{aborted} 1.0" in client.get("/metrics").text)
    assert metric(client, "vllm:num_requests_running") == 0
    assert metric(client, "vllm:kv_cache_usage_perc") == 0


def test_models_and_health(client: httpx.Client) -> None:
    [model] = client.get("/v1/models").json()["data"]
    assert (model["id"], model["max_model_len"]) == ("tiny", 96)
    assert client.get("/health").status_code == 200


def test_speculation_says_what_plain_decoding_says(client: httpx.Client) -> None:
    for options in (
        {"speculative_method": "ngram"},
        {"speculative_method": "draft_model", "speculative_model": "Llama-3.1-8B"},
    ):
        for fast in served(**options, num_speculative_tokens=3):
            assert complete(fast, max_tokens=24)["choices"][0] == complete(client, max_tokens=24)["choices"][0]
            drafted = metric(fast, "vllm:spec_decode_num_draft_tokens_total")
            if options["speculative_method"] == "draft_model":
                assert metric(fast, "vllm:spec_decode_num_accepted_tokens_total") == drafted > 0


def test_synthetic_acceptance_keeps_what_it_is_told(client: httpx.Client) -> None:
    for fast in served(speculative_method="random", synthetic_acceptance=(1.0,), num_speculative_tokens=3):
        complete(fast, max_tokens=17)
        assert metric(fast, "vllm:spec_decode_num_accepted_tokens_total") == 12  # 1 + 4 steps of 3 + 1


def test_an_eight_bit_model_and_cache_are_served() -> None:
    for small in served(quantization="int8", kv_cache_dtype="int8"):
        assert len(complete(small)["choices"][0]["token_ids"]) == 6


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"cuda_graphs": True}, "cuda_graphs: True, and the device is cpu"),
        ({"gpu_memory_utilization": 0.5}, "gpu_memory_utilization: 0.5, and the device is cpu"),
        ({"device": "cuda"}, "device: 'cuda', and torch .* sees no CUDA device"),
        ({"gpu_memory_utilization": 1.5}, "gpu_memory_utilization: 1.5 is not in"),
    ],
)
def test_what_this_machine_cannot_do_is_named(options: dict[str, Any], why: str) -> None:
    if torch.cuda.is_available():
        pytest.skip("there is a GPU")
    with pytest.raises((ProbeError, ValueError), match=why):
        build(ServeOptions("Llama-3.1-8B", scale=0.01, **options))


def test_out_of_memory_ends_one_request_and_no_other(client: httpx.Client, monkeypatch: pytest.MonkeyPatch) -> None:
    """The allocator fails for steps that hold the token 66; it fails as torch's does on a CPU."""
    run = ModelRunner.run

    def failing(runner: ModelRunner, step: ModelInput) -> torch.Tensor:
        if 66 in step.token_ids.tolist():
            raise RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 9 bytes")
        return run(runner, step)

    alone = complete(client, [67, 68, 69], max_tokens=40)["choices"]
    monkeypatch.setattr(ModelRunner, "run", failing)
    with ThreadPoolExecutor(2) as pool:
        other = pool.submit(complete, client, [67, 68, 69], max_tokens=40)
        answer = client.post("/v1/completions", json={"prompt": [66, 66, 66, 66], "max_tokens": 2, **GREEDY})
        assert other.result()["choices"] == alone
    assert answer.status_code == 500
    assert answer.json()["error"]["message"].startswith("out of memory: DefaultCPUAllocator")
    [last] = events(client, "/v1/completions", {"prompt": [66, 66], "max_tokens": 2, **GREEDY})
    assert last["error"]["type"] == "server_error"


def test_the_ledger_has_a_line_a_step(tmp_path: Path) -> None:
    path = tmp_path / "steps.arrow"
    for one in served(ledger=path):
        complete(one, [1, 2, 3], max_tokens=3)
    records = list(read_ledger(path))
    assert [record.kind for record in records] == ["prefill", "decode", "decode"]
    assert [record.requests[0].num_new_tokens for record in records] == [3, 1, 1]
    assert read_run(path) == {
        "version": 1, "model": "Llama-3.1-8B", "scale": 0.01, "seed": 0, "dtype": "float32", "quantization": "none",
        "kv_cache_dtype": "auto", "attention_backend": "auto", "block_size": 4, "device": "cpu",
    }  # fmt: skip
    with pytest.raises(ValueError, match=r"steps\.arrow is there already, and a ledger is never overwritten"):
        ServeOptions("Llama-3.1-8B", ledger=path)


def test_the_ledger_and_the_usage_count_the_same_tokens(tmp_path: Path) -> None:
    """A repeated prompt, two prompts at once with three outputs each, and a stop token; by HTTP request."""
    asked = [
        {"prompt": PROMPT, "max_tokens": 5},
        {"prompt": PROMPT, "max_tokens": 7},
        {"prompt": [[1, 2, 3], [*PROMPT, 4]], "n": 3, "temperature": 1},
        {"prompt": [5, 6], "stop_token_ids": list(range(0, 256, 3))},
    ]
    for one in served(ledger=tmp_path / "steps.arrow"):
        said = {body["id"]: body["usage"] for body in (complete(one, **fields) for fields in asked)}
    counted = {key: dict.fromkeys(("prompt_tokens", "completion_tokens", "cached_tokens"), 0) for key in said}
    prompts = {}
    for record in read_ledger(tmp_path / "steps.arrow"):
        for part in record.requests:
            key = part.request_id.rsplit("-", 1)[0]
            prompts[part.request_id] = (key, part.num_prompt_tokens)
            counted[key]["completion_tokens"] += part.num_output_tokens
            counted[key]["cached_tokens"] += part.num_cached_tokens
    for key, length in prompts.values():
        counted[key]["prompt_tokens"] += length
    assert [one["cached_tokens"] for one in counted.values()] == [0, 8, 8, 0]
    assert counted == {
        key: {
            "prompt_tokens": usage["prompt_tokens"],
            "completion_tokens": usage["completion_tokens"],
            "cached_tokens": usage["prompt_tokens_details"]["cached_tokens"],
        }
        for key, usage in said.items()
    }
