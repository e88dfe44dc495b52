"""What does a checked body ask of the engine? Prompts as token ids and sampling parameters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from probe.engine.errors import RequestRefused
from probe.engine.interfaces import SamplingParams
from probe.server.errors import ServerError
from probe.server.schemas import ChatRequest, CompletionRequest
from probe.server.text import Text

COMPLETION_TOKENS = 16  # OpenAI's default for completions
STOPS_MOST = 4  # OpenAI's limit
ALL_TOKENS = -1  # vLLM's other way to say that top_k is off


@dataclass(frozen=True)
class Asked:
    """What one HTTP request asks for.

    Attributes:
        prompts: token ids, one list a prompt; params: shared by all of them.
        stop: texts that end an output.
        stream, include_usage, usage_on_every_chunk: how the answer is sent.
        token_ids: ids are a part of the answer.
        limit_field: what the body calls the engine's max_tokens.
    """

    prompts: list[list[int]]
    params: SamplingParams
    stop: tuple[str, ...]
    stream: bool
    include_usage: bool
    usage_on_every_chunk: bool
    token_ids: bool
    limit_field: str = "max_tokens"

    def refused(self, by_engine: RequestRefused) -> ServerError:
        """The engine's refusal, with the body's own name of the field."""
        name = self.limit_field if by_engine.field == "max_tokens" else by_engine.field
        return ServerError(f"{name} = {by_engine.value!r}: {by_engine.why}", name)


def asked_completion(body: CompletionRequest, text: Text | None, vocabulary: int) -> Asked:
    body.refuse_unsupported()
    prompts = _prompts(body.prompt, text, vocabulary, special=body.add_special_tokens is not False)
    return _asked(body, prompts, text, COMPLETION_TOKENS if body.max_tokens is None else body.max_tokens, "max_tokens")


def asked_chat(body: ChatRequest, text: Text | None, vocabulary: int, max_model_len: int) -> Asked:
    """A chat's answer may take what the context leaves, where the body doesn't limit it."""
    body.refuse_unsupported()
    if text is None:
        raise ServerError(
            "messages: need a tokenizer (start the server with --tokenizer); token ids go to /v1/completions",
            "messages",
        )
    messages = [{"role": message.role, "content": _content(message.content)} for message in body.messages]
    prompt = text.chat(messages, add_special_tokens=body.add_special_tokens)
    _check_ids(prompt, vocabulary, "messages")
    field = "max_tokens" if body.max_completion_tokens is None else "max_completion_tokens"
    limit = body.max_tokens if body.max_completion_tokens is None else body.max_completion_tokens
    return _asked(body, [prompt], text, max(1, max_model_len - len(prompt)) if limit is None else limit, field)


def _asked(
    body: CompletionRequest | ChatRequest, prompts: list[list[int]], text: Text | None, max_tokens: int, field: str
) -> Asked:
    stop = (body.stop,) if isinstance(body.stop, str) else tuple(body.stop or ())
    if len(stop) > STOPS_MOST or "" in stop:
        raise ServerError(f"stop: {list(stop)!r} must be at most {STOPS_MOST} texts, none empty", "stop")
    if stop and text is None:
        raise ServerError(f"stop: {list(stop)!r} needs a tokenizer; use stop_token_ids", "stop")
    options = body.stream_options
    if options is not None and not body.stream:
        raise ServerError("stream_options: only with stream = true", "stream_options")
    try:
        params = SamplingParams(
            max_tokens=max_tokens,
            temperature=1.0 if body.temperature is None else body.temperature,
            top_k=0 if body.top_k is None or body.top_k == ALL_TOKENS else body.top_k,
            top_p=1.0 if body.top_p is None else body.top_p,
            seed=body.seed,
            ignore_eos=bool(body.ignore_eos),
            stop_token_ids=tuple(body.stop_token_ids or ()),
            n=1 if body.n is None else body.n,
        )
    except ValueError as wrong:
        name = str(wrong).split(":", 1)[0]
        raise ServerError(str(wrong), field if name == "max_tokens" else name) from wrong
    return Asked(
        prompts,
        params,
        stop,
        bool(body.stream),
        bool(options and options.include_usage),
        bool(options and options.continuous_usage_stats),
        text is None or bool(body.return_token_ids),
        field,
    )


def _prompts(prompt: Any, text: Text | None, vocabulary: int, *, special: bool) -> list[list[int]]:
    """A text, a list of texts, a list of ids or a list of lists of ids, as lists of ids; `special`: texts get the tokenizer's own too."""
    several = prompt if isinstance(prompt, list) and prompt and not _is_id(prompt[0]) else [prompt]
    result = []
    for one in several:
        if isinstance(one, str):
            if text is None:
                raise ServerError(
                    f"prompt: {_short(one)} is text and the server has no tokenizer; give token ids", "prompt"
                )
            ids = text.encode(one, add_special_tokens=special)
        elif isinstance(one, list) and all(_is_id(token) for token in one):
            ids = one
        else:
            raise ServerError(f"prompt: {_short(one)} is neither a text nor a list of token ids", "prompt")
        _check_ids(ids, vocabulary, "prompt")
        result.append(ids)
    return result


def _check_ids(ids: list[int], vocabulary: int, field: str) -> None:
    if not ids:
        raise ServerError(f"{field}: has no tokens", field)
    wrong = next((token for token in ids if not 0 <= token < vocabulary), None)
    if wrong is not None:
        raise ServerError(f"{field}: token id {wrong} is not in 0..{vocabulary - 1}", field)


def _is_id(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _content(content: Any) -> str:
    """A message's text: a string, or the text parts of a list."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else [content]
    for part in parts:
        if not (isinstance(part, dict) and part.get("type") == "text" and isinstance(part.get("text"), str)):
            raise ServerError(f"messages: content {_short(part)} is no text", "messages")
    return "".join(part["text"] for part in parts)


def _short(value: Any) -> str:
    written = repr(value)
    return written if len(written) <= 60 else written[:57] + "..."
