"""Which fields may a completion request have? OpenAI's, and vLLM's additions; others are refused by name."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from probe.server.errors import ServerError, Unsupported

# Fields that clients send although they ask for nothing with them: accepted at these values, refused at others.
NEUTRAL: dict[str, tuple[Any, ...]] = {
    "best_of": (1,),
    "echo": (False,),
    "frequency_penalty": (0,),
    "logit_bias": ({},),
    "logprobs": (False,),
    "min_p": (0,),
    "min_tokens": (0,),
    "parallel_tool_calls": (True, False),
    "presence_penalty": (0,),
    "repetition_penalty": (1,),
    "response_format": ({"type": "text"},),
    "skip_special_tokens": (True,),
    "suffix": ("",),
    "tool_choice": ("none", "auto"),
    "tools": ([],),
    "top_logprobs": (0,),
}
LABELS = ("user", "metadata", "store", "service_tier", "safety_identifier", "prompt_cache_key", "request_id")


class StreamOptions(BaseModel):
    """What a stream adds. `include_usage`: a last chunk with the usage; `continuous_usage_stats`: usage on every chunk."""

    model_config = ConfigDict(extra="forbid", strict=True)
    include_usage: bool = False
    continuous_usage_stats: bool = False


class _Common(BaseModel):
    model_config = ConfigDict(extra="allow", strict=True)
    model: str | None = None
    temperature: float | None = Field(default=None, description="0 is greedy; absent: 1.")
    top_p: float | None = None
    top_k: int | None = Field(default=None, description="0 or -1: all tokens.")
    n: int | None = None
    seed: int | None = None
    stream: bool | None = None
    stream_options: StreamOptions | None = None
    stop: str | list[str] | None = Field(default=None, description="Needs a tokenizer.")
    stop_token_ids: list[int] | None = None
    ignore_eos: bool | None = Field(default=None, description="The model's end tokens end nothing; stop_token_ids do.")
    add_special_tokens: bool | None = Field(
        default=None,
        description="Those that the tokenizer puts around a text; absent: around a prompt, and a chat that no template writes.",
    )
    return_token_ids: bool | None = Field(
        default=None, description="Token ids beside the text; always without a tokenizer."
    )

    def refuse_unsupported(self) -> None:
        """Raises Unsupported for a known field at a value that isn't neutral, ServerError for an unknown one."""
        for field, value in (self.model_extra or {}).items():
            if value is None or field in LABELS:
                continue
            if field not in NEUTRAL:
                raise ServerError(f"{field}: unknown field (value {value!r})", field)
            if not any(
                value == neutral and isinstance(value, bool) == isinstance(neutral, bool) for neutral in NEUTRAL[field]
            ):
                raise Unsupported(field, value)


class CompletionRequest(_Common):
    """`POST /v1/completions`: a prompt as text (needs a tokenizer) or token ids, or a list of either."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [{"prompt": [1, 2, 3, 4], "max_tokens": 16, "temperature": 0, "ignore_eos": True}]
        }
    )
    prompt: Any = Field(description="str, list of str, list of token ids, or list of lists of token ids.")
    max_tokens: int | None = None


class Message(BaseModel):
    """One message of a chat. Content is text."""

    model_config = ConfigDict(extra="allow", strict=True)
    role: str
    content: Any = None


class ChatRequest(_Common):
    """`POST /v1/chat/completions`: needs a tokenizer."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [{"messages": [{"role": "user", "content": "Hello"}], "max_completion_tokens": 16}]
        }
    )
    messages: list[Message] = Field(min_length=1)
    max_tokens: int | None = None
    max_completion_tokens: int | None = None
