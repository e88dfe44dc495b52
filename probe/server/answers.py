"""What does the server answer? OpenAI's completion objects, whole or in chunks, with the tokens that the cache held."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import msgspec

from probe.engine.interfaces import RequestOutput
from probe.server.text import TextStream


@dataclass
class Usage:
    """Tokens of one HTTP request, over all its prompts and outputs."""

    prompt_tokens: dict[str, int] = field(default_factory=dict)
    cached_tokens: dict[str, int] = field(default_factory=dict)
    completion_tokens: int = 0

    def add(self, one: RequestOutput) -> None:
        self.prompt_tokens[one.request_id] = one.num_prompt_tokens
        self.cached_tokens[one.request_id] = one.num_cached_tokens
        self.completion_tokens += len(one.new_token_ids)

    def body(self) -> dict[str, Any]:
        prompt = sum(self.prompt_tokens.values())
        return {
            "prompt_tokens": prompt,
            "completion_tokens": self.completion_tokens,
            "total_tokens": prompt + self.completion_tokens,
            "prompt_tokens_details": {"cached_tokens": sum(self.cached_tokens.values())},
        }


@dataclass
class Choice:
    """One output while it is made. Attributes: index: among the HTTP request's choices; stream: its text so far."""

    index: int
    stream: TextStream
    text: str = ""
    token_ids: list[int] = field(default_factory=list)
    finish_reason: str | None = None

    def add(self, one: RequestOutput) -> str:
        """The new text. A stop string ends the choice with "stop", whatever the engine still gives."""
        self.token_ids += one.new_token_ids
        piece = self.stream.add(one.new_token_ids, last=one.finish_reason is not None)
        self.text += piece
        self.finish_reason = "stop" if self.stream.stopped else one.finish_reason
        return piece


@dataclass(frozen=True)
class Shape:
    """How one endpoint writes its objects. Attributes: chat: messages instead of texts; token_ids: ids beside them."""

    completion_id: str
    created: int
    model: str
    chat: bool
    token_ids: bool

    def whole(self, choices: list[Choice], usage: Usage) -> dict[str, Any]:
        kind = "chat.completion" if self.chat else "text_completion"
        return self._object(kind, [self._whole_choice(choice) for choice in choices], usage.body())

    def chunk(self, choice: Choice, piece: str, new_ids: list[int], usage: Usage | None, first: bool) -> str:
        delta: dict[str, Any] = {"role": "assistant"} if first else {}
        content = {"delta": {**delta, "content": piece}} if self.chat else {"text": piece}
        one: dict[str, Any] = {
            "index": choice.index,
            **content,
            "logprobs": None,
            "finish_reason": choice.finish_reason,
        }
        if self.token_ids:
            one["token_ids"] = new_ids
        return event(self._object(self._chunk_kind, [one], usage.body() if usage else None))

    def usage_chunk(self, usage: Usage) -> str:
        return event(self._object(self._chunk_kind, [], usage.body()))

    @property
    def _chunk_kind(self) -> str:
        return "chat.completion.chunk" if self.chat else "text_completion"

    def _whole_choice(self, choice: Choice) -> dict[str, Any]:
        content = {"message": {"role": "assistant", "content": choice.text}} if self.chat else {"text": choice.text}
        one = {"index": choice.index, **content, "logprobs": None, "finish_reason": choice.finish_reason}
        return {**one, "token_ids": choice.token_ids} if self.token_ids else one

    def _object(self, kind: str, choices: list[dict[str, Any]], usage: dict[str, Any] | None) -> dict[str, Any]:
        head = {"id": self.completion_id, "object": kind, "created": self.created, "model": self.model}
        return {**head, "choices": choices, **({"usage": usage} if usage is not None else {})}


def event(body: dict[str, Any]) -> str:
    """One server-sent event."""
    return f"data: {msgspec.json.encode(body).decode()}\n\n"


DONE = "data: [DONE]\n\n"
