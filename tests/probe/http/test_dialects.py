"""Is each server asked for a fixed output in its own words, and are its events read as tokens, counts and cached tokens?

Bodies follow each server's documented shapes; token texts are made up.
"""

from __future__ import annotations

from typing import Any

import pytest

from probe.http.dialects import DIALECTS, Stream, parsed
from probe.http.errors import HttpProbeFailed
from probe.http.prompts import Prompt

PROMPT = Prompt([7, 8, 9], "one two three")


def read(name: str, *events: dict[str, Any]) -> Stream:
    """Events a second apart, from second 1."""
    return DIALECTS[name].read(list(enumerate(events, 1)))


def text(piece: str, **more: Any) -> dict[str, Any]:
    return {"choices": [{"index": 0, "text": piece, "finish_reason": None}], **more}


def usage(prompt: int, output: int, details: Any = None) -> dict[str, Any]:
    return {"prompt_tokens": prompt, "completion_tokens": output, "prompt_tokens_details": details}


@pytest.mark.parametrize(("name", "prompt", "length", "fixed"), [
    ("tokencogs", ("prompt", [7, 8, 9]), ("max_tokens", 5), ("ignore_eos", True)),
    ("vllm", ("prompt", [7, 8, 9]), ("max_tokens", 5), ("ignore_eos", True)),
    ("llama.cpp", ("prompt", [7, 8, 9]), ("n_predict", 5), ("ignore_eos", True)),
    ("llama-cpp-python", ("prompt", "one two three"), ("max_tokens", 5), ("stream", True)),
    ("openai", ("prompt", "one two three"), ("max_tokens", 5), ("stream_options", {"include_usage": True})),
])  # fmt: skip
def test_a_flat_body_asks_for_so_many_tokens(
    name: str, prompt: tuple[str, Any], length: tuple[str, int], fixed: tuple[str, Any]
) -> None:
    body = DIALECTS[name].body(PROMPT, 5, "m")
    for field, value in (prompt, length, fixed, ("stream", True), ("temperature", 0)):
        assert body[field] == value


def test_sglang_s_own_route_takes_ids_and_sampling_parameters() -> None:
    body = DIALECTS["sglang"].body(PROMPT, 5, "m")
    assert body["input_ids"] == [7, 8, 9]
    assert body["sampling_params"] == {"max_new_tokens": 5, "temperature": 0, "ignore_eos": True}


def test_tgi_takes_text_and_is_asked_for_details() -> None:
    assert DIALECTS["tgi"].body(PROMPT, 5, "m") == {
        "inputs": "one two three",
        "parameters": {"max_new_tokens": 5, "details": True},
    }


def test_vllm_counts_on_every_chunk_so_two_accepted_drafts_are_two_tokens() -> None:
    stream = read(
        "vllm",
        text("a", usage=usage(3, 1)),
        text("bc", usage=usage(3, 3)),
        {"choices": [], "usage": usage(3, 3, {"cached_tokens": 2})},
    )
    assert stream == Stream(((1, 1), (2, 2)), 3, 3, 2)


def test_vllm_without_its_flag_says_nothing_of_cached_tokens() -> None:
    assert read("vllm", text("a", usage=usage(3, 1)), {"choices": [], "usage": usage(3, 1)}).cached_tokens is None


def test_our_server_says_0_cached_tokens_and_that_is_0() -> None:
    one = {"choices": [{"text": "", "token_ids": [4]}], "usage": usage(3, 1, {"cached_tokens": 0})}
    assert read("tokencogs", one) == Stream(((1, 1),), 3, 1, 0)


def test_llama_cpp_python_counts_nothing_in_a_stream() -> None:
    """A chunk is a token; the last one has no text. Neither lengths nor cached tokens are known."""
    stream = read("llama-cpp-python", text("a"), text("b"), text("c"), text(""))
    assert stream == Stream(((1, 1), (2, 1), (3, 1)), None, None, None)


def test_sglang_counts_from_the_first_token_on() -> None:
    def event(output: int) -> dict[str, Any]:
        meta = {"prompt_tokens": 3, "completion_tokens": output, "cached_tokens": 1, "finish_reason": None}
        return {"text": "a" * output, "meta_info": meta}

    assert read("sglang", event(1), event(2), event(4)) == Stream(((1, 1), (2, 1), (3, 2)), 3, 4, 1)


def test_llama_cpp_s_whole_prompt_and_what_its_cache_held() -> None:
    """tokens_evaluated is the whole prompt, of which cache_n were found: 2 of 3. The last event brings counts, no token."""
    last = {"content": "", "stop": True, "tokens_predicted": 2, "tokens_evaluated": 3, "timings": {"cache_n": 2}}
    stream = read(
        "llama.cpp",
        {"content": "a", "stop": False, "tokens_predicted": 1, "tokens_evaluated": 3},
        {"content": "b", "stop": False, "tokens_predicted": 2, "tokens_evaluated": 3},
        last,
    )
    assert stream == Stream(((1, 1), (2, 1)), 3, 2, 2)


def test_llama_cpp_builds_without_running_counts_or_cache_n() -> None:
    last = {"content": "", "stop": True, "tokens_predicted": 2, "tokens_evaluated": 3, "timings": {"prompt_n": 3}}
    stream = read("llama.cpp", {"content": "a", "stop": False}, {"content": "b", "stop": False}, last)
    assert stream == Stream(((1, 1), (2, 1)), 3, 2, None)


def test_tgi_sends_a_token_an_event_and_details_at_the_end() -> None:
    details = {"finish_reason": "length", "generated_tokens": 2, "seed": None, "input_length": 3}
    stream = read(
        "tgi",
        {"index": 1, "token": {"id": 5, "text": "a", "special": False}, "details": None},
        {"index": 2, "token": {"id": 6, "text": "b", "special": False}, "generated_text": "ab", "details": details},
    )
    assert stream == Stream(((1, 1), (2, 1)), 3, 2, None)


@pytest.mark.parametrize("name", sorted(DIALECTS))
def test_an_error_in_a_stream_is_one_with_the_server_s_words(name: str) -> None:
    with pytest.raises(HttpProbeFailed, match="out of memory"):
        read(name, {"error": {"message": "out of memory"}})


@pytest.mark.parametrize(("name", "events"), [
    ("vllm", [text("ab", usage=usage(3, 2)), text("c", usage=usage(3, 1))]),
    ("sglang", [{"meta_info": {"completion_tokens": 2}}, {"meta_info": {"completion_tokens": 1}}]),
    ("llama.cpp", [{"tokens_predicted": 2}, {"tokens_predicted": 1}]),
])  # fmt: skip
def test_a_count_that_falls_is_refused(name: str, events: list[dict[str, Any]]) -> None:
    with pytest.raises(HttpProbeFailed, match="output_tokens=1: the server had counted 2 before"):
        read(name, *events)


def test_usage_without_a_running_count_leaves_a_chunk_a_token() -> None:
    stream = read("openai", text("a", usage={"prompt_tokens": 3}), {"choices": [], "usage": usage(3, 1)})
    assert stream == Stream(((1, 1),), 3, 1, None)


def test_llama_cpp_s_progress_of_a_prompt_is_no_token() -> None:
    last = {"stop": True, "tokens_predicted": 1, "tokens_evaluated": 3}
    stream = read("llama.cpp", {"tokens_predicted": 0}, {"tokens_predicted": 1}, last)
    assert stream.arrivals == ((2, 1),)


@pytest.mark.parametrize("data", [b"{", b"[1]", b"\xff"])
def test_an_event_that_is_no_object_is_refused(data: bytes) -> None:
    with pytest.raises(HttpProbeFailed, match="event="):
        parsed([(1.0, data)])
