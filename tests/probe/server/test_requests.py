"""What is a body understood to ask for, and what is refused, by which name?"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from probe.engine.interfaces import SamplingParams
from probe.server.errors import ServerError
from probe.server.requests import Asked, asked_chat, asked_completion
from probe.server.schemas import ChatRequest, CompletionRequest
from probe.server.text import Text


def completion(text: Text | None = None, **fields: Any) -> Asked:
    return asked_completion(CompletionRequest.model_validate({"prompt": [1, 2], **fields}), text, vocabulary=300)


def chat(text: Text | None, **fields: Any) -> Asked:
    messages = [{"role": "user", "content": "Hi"}]
    return asked_chat(
        ChatRequest.model_validate({"messages": messages, **fields}), text, vocabulary=300, max_model_len=64
    )


def test_a_bare_prompt_gets_openais_defaults() -> None:
    assert completion() == Asked([[1, 2]], SamplingParams(max_tokens=16), (), False, False, False, True)


def test_every_supported_field_reaches_the_engine() -> None:
    fields = {"max_tokens": 3, "temperature": 0, "top_p": 0.5, "top_k": 4, "seed": 7, "ignore_eos": True, "n": 2}
    asked = completion(**fields, stop_token_ids=[9], stream=True, stream_options={"include_usage": True})
    assert asked.params == SamplingParams(3, 0.0, 4, 0.5, 7, True, (9,), 2)
    assert (asked.stream, asked.include_usage, asked.usage_on_every_chunk) == (True, True, False)


@pytest.mark.parametrize(
    ("prompt", "ids"),
    [([5], [[5]]), ([[5, 6], [7]], [[5, 6], [7]])],
)
def test_token_ids_need_no_tokenizer(prompt: Any, ids: list[list[int]]) -> None:
    assert completion(prompt=prompt).prompts == ids


def test_texts_are_encoded(tokenizer_file: Path) -> None:
    text = Text(tokenizer_file)
    assert completion(text, prompt=["ab", "c"]).prompts == [text.encode("ab"), text.encode("c")]


def test_special_tokens_are_put_around_texts_and_not_around_what_a_template_wrote(
    tokenizer_file: Path, tmp_path: Path
) -> None:
    """As vLLM has it, unless the body says otherwise."""
    tokenizers = pytest.importorskip("tokenizers")
    made = tokenizers.Tokenizer.from_file(str(tokenizer_file))
    made.post_processor = tokenizers.processors.TemplateProcessing(single="! $A", special_tokens=[("!", 0)])
    made.save(str(tmp_path / "tokenizer.json"))
    text, plain = Text(tmp_path / "tokenizer.json"), Text(tokenizer_file).encode("Hi")
    for given, wanted in ((None, [0, *plain]), (True, [0, *plain]), (False, plain)):
        assert completion(text, prompt="Hi", add_special_tokens=given).prompts == [wanted]
    laid_out = Text(tokenizer_file).chat([{"role": "user", "content": "Hi"}])
    for given, wanted in ((None, [0, *laid_out]), (True, [0, *laid_out]), (False, laid_out)):
        assert chat(text, add_special_tokens=given).prompts == [wanted]
    (tmp_path / "chat_template.jinja").write_text("{{ messages[0].content }}")
    text = Text(tmp_path / "tokenizer.json")
    for given, wanted in ((None, plain), (True, [0, *plain]), (False, plain)):
        assert chat(text, add_special_tokens=given).prompts == [wanted]


def test_half_of_a_character_is_refused_by_its_field(tokenizer_file: Path) -> None:
    with pytest.raises(ServerError, match="half of a character") as refused:
        completion(Text(tokenizer_file), prompt=["ok", "\ud800"])
    assert refused.value.param == "prompt"
    body = ChatRequest.model_validate({"messages": [{"role": "user", "content": "\ud800"}]})
    with pytest.raises(ServerError, match="half of a character") as refused:
        asked_chat(body, Text(tokenizer_file), vocabulary=300, max_model_len=64)
    assert refused.value.param == "messages"


def test_labels_and_neutral_values_change_nothing() -> None:
    asked = completion(user="u", logprobs=None, best_of=1, presence_penalty=0.0, repetition_penalty=1.0, top_k=-1)
    assert asked == completion()


def test_a_chat_without_limit_may_fill_the_context(tokenizer_file: Path) -> None:
    text = Text(tokenizer_file)
    prompt = text.encode("<|user|>\nHi\n<|assistant|>\n")  # 26 characters, a token each
    assert chat(text).prompts == [prompt]
    assert chat(text).params.max_tokens == 64 - 26
    assert chat(text, max_tokens=5).params.max_tokens == 5
    assert chat(text, max_tokens=5, max_completion_tokens=6).params.max_tokens == 6


def test_text_parts_of_a_message_are_joined(tokenizer_file: Path) -> None:
    text, parts = Text(tokenizer_file), [{"type": "text", "text": "H"}, {"type": "text", "text": "i"}]
    assert chat(text, messages=[{"role": "user", "content": parts}]).prompts == chat(text).prompts


@pytest.mark.parametrize(
    ("fields", "param", "message"),
    [
        ({"prompt": "words"}, "prompt", "prompt: 'words' is text and the server has no tokenizer; give token ids"),
        ({"prompt": []}, "prompt", "prompt: has no tokens"),
        ({"prompt": [[1], []]}, "prompt", "prompt: has no tokens"),
        ({"prompt": [1, 300]}, "prompt", "prompt: token id 300 is not in 0..299"),
        ({"prompt": [1, -1]}, "prompt", "prompt: token id -1 is not in 0..299"),
        ({"prompt": [1, "a"]}, "prompt", "prompt: [1, 'a'] is neither a text nor a list of token ids"),
        ({"prompt": [True]}, "prompt", "prompt: True is neither a text nor a list of token ids"),
        ({"prompt": None}, "prompt", "prompt: None is neither a text nor a list of token ids"),
        ({"max_tokens": 0}, "max_tokens", "max_tokens: 0 is out of range"),
        ({"temperature": -0.5}, "temperature", "temperature: -0.5 is out of range"),
        ({"top_p": 0.0}, "top_p", "top_p: 0.0 is out of range"),
        ({"top_k": -2}, "top_k", "top_k: -2 is out of range"),
        ({"n": 0}, "n", "n: 0 is out of range"),
        ({"logprobs": 5}, "logprobs", "logprobs: 5 is not supported"),
        ({"logprobs": 0}, "logprobs", "logprobs: 0 is not supported"),  # it asks for those of the drawn tokens
        ({"echo": True}, "echo", "echo: True is not supported"),
        ({"best_of": True}, "best_of", "best_of: True is not supported"),
        ({"max_token": 5}, "max_token", "max_token: unknown field (value 5)"),
        ({"stop": ["a"] * 5}, "stop", "stop: ['a', 'a', 'a', 'a', 'a'] must be at most 4 texts, none empty"),
        ({"stop": ["END"]}, "stop", "stop: ['END'] needs a tokenizer; use stop_token_ids"),
        ({"stream_options": {"include_usage": True}}, "stream_options", "stream_options: only with stream = true"),
    ],
)
def test_what_cannot_be_done_is_named(fields: dict[str, Any], param: str, message: str) -> None:
    with pytest.raises(ServerError) as refused:
        completion(**fields)
    assert (refused.value.message, refused.value.param, refused.value.status) == (message, param, 400)


def test_a_chat_needs_a_tokenizer() -> None:
    with pytest.raises(ServerError, match="messages: need a tokenizer"):
        chat(None)


def test_an_image_in_a_message_is_refused(tokenizer_file: Path) -> None:
    image = {"type": "image_url", "image_url": {"url": "x"}}
    with pytest.raises(ServerError, match=r"messages: content .*image_url.* is no text"):
        chat(Text(tokenizer_file), messages=[{"role": "user", "content": [image]}])
