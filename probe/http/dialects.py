"""How do servers differ in what they are asked and what they stream? One small class a dialect, no conditions elsewhere."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Protocol

from probe.http.errors import HttpProbeFailed
from probe.http.prompts import Prompt

Event = dict[str, Any]


@dataclass(frozen=True)
class Stream:
    """What one answer's events say.

    Attributes:
        arrivals: (seconds, new tokens) of each event that brought any.
        prompt_tokens, output_tokens: as the server counted them; None: it said nothing.
        cached_tokens: of the prompt, found in the server's cache; None: it said nothing, which is not 0.
    """

    arrivals: tuple[tuple[float, int], ...]
    prompt_tokens: int | None
    output_tokens: int | None
    cached_tokens: int | None


class _Arrivals:
    """Tokens as they came, by a running count. Attributes: found: as in `Stream`; total: tokens so far."""

    def __init__(self) -> None:
        self.found: list[tuple[float, int]] = []
        self.total = 0

    def reach(self, at: float, total: int) -> None:
        """So many tokens had come at `at`. Raises HttpProbeFailed where that is fewer than before."""
        if total < self.total:
            raise HttpProbeFailed("output_tokens", total, f"the server had counted {self.total} before")
        if total > self.total:
            self.found.append((at, total - self.total))
        self.total = total


class Dialect(Protocol):
    """One kind of server. Attributes: takes_ids: prompts may be token ids, so that their length is exact."""

    @property
    def name(self) -> str: ...

    @property
    def path(self) -> str: ...

    @property
    def takes_ids(self) -> bool: ...

    def body(self, prompt: Prompt, output_tokens: int, model: str) -> dict[str, Any]: ...

    def read(self, events: Iterable[tuple[float, Event]]) -> Stream: ...


@dataclass(frozen=True)
class OpenAi:
    """`/v1/completions`. Attributes:

    extra: fields beside OpenAI's, which fix the output's length or ask for counts on every chunk.
    """

    name: str
    takes_ids: bool
    extra: dict[str, Any]
    path: str = "/v1/completions"

    def body(self, prompt: Prompt, output_tokens: int, model: str) -> dict[str, Any]:
        asked = {"prompt": prompt.ids if self.takes_ids else prompt.text, "max_tokens": output_tokens}
        return {"model": model, **asked, "temperature": 0, "stream": True, **self.extra}

    def read(self, events: Iterable[tuple[float, Event]]) -> Stream:
        arrivals, usage = _Arrivals(), Event()
        for at, event in events:
            _refuse_error(event)
            usage = event.get("usage") or usage
            arrivals.reach(at, _total(event, arrivals.total))
        cached = (usage.get("prompt_tokens_details") or {}).get("cached_tokens")
        return Stream(tuple(arrivals.found), usage.get("prompt_tokens"), usage.get("completion_tokens"), cached)


def _total(event: Event, before: int) -> int:
    """Tokens so far: by running usage, else by token ids, else one a chunk of text."""
    choices = event.get("choices") or []
    if not choices:
        return before
    counted = (event.get("usage") or {}).get("completion_tokens")
    if counted is not None:
        return int(counted)
    one = choices[0]
    if one.get("token_ids") is not None:
        return before + len(one["token_ids"])
    return before + (1 if one.get("text") else 0)


@dataclass(frozen=True)
class Sglang:
    """SGLang's own `/generate`: its OpenAI route hides cached tokens unless the server was started with a flag."""

    name: str = "sglang"
    path: str = "/generate"
    takes_ids: bool = True

    def body(self, prompt: Prompt, output_tokens: int, model: str) -> dict[str, Any]:
        sampling = {"max_new_tokens": output_tokens, "temperature": 0, "ignore_eos": True}
        return {"input_ids": prompt.ids, "sampling_params": sampling, "stream": True}

    def read(self, events: Iterable[tuple[float, Event]]) -> Stream:
        arrivals, info = _Arrivals(), Event()
        for at, event in events:
            _refuse_error(event)
            info = event.get("meta_info") or info
            arrivals.reach(at, int(info.get("completion_tokens") or 0))
        return Stream(
            tuple(arrivals.found), info.get("prompt_tokens"), info.get("completion_tokens"), info.get("cached_tokens")
        )


@dataclass(frozen=True)
class LlamaCpp:
    """llama.cpp's own `/completion`. `tokens_evaluated` is the whole prompt; what its cache held stands in `timings.cache_n`."""

    name: str = "llama.cpp"
    path: str = "/completion"
    takes_ids: bool = True

    def body(self, prompt: Prompt, output_tokens: int, model: str) -> dict[str, Any]:
        return {
            "prompt": prompt.ids,
            "n_predict": output_tokens,
            "ignore_eos": True,
            "temperature": 0,
            "stream": True,
            "return_tokens": True,
        }

    def read(self, events: Iterable[tuple[float, Event]]) -> Stream:
        arrivals, last = _Arrivals(), Event()
        for at, event in events:
            _refuse_error(event)
            last = event
            if not event.get("stop"):
                # Builds without a running count send one token an event; 0 is an event of the prompt's progress.
                counted = event.get("tokens_predicted")
                arrivals.reach(at, arrivals.total + 1 if counted is None else int(counted))
        cached = (last.get("timings") or {}).get("cache_n")
        return Stream(tuple(arrivals.found), last.get("tokens_evaluated"), last.get("tokens_predicted"), cached)


@dataclass(frozen=True)
class Tgi:
    """Text Generation Inference's `/generate_stream`: prompts are text, an event is a token, cached tokens are never said."""

    name: str = "tgi"
    path: str = "/generate_stream"
    takes_ids: bool = False

    def body(self, prompt: Prompt, output_tokens: int, model: str) -> dict[str, Any]:
        return {"inputs": prompt.text, "parameters": {"max_new_tokens": output_tokens, "details": True}}

    def read(self, events: Iterable[tuple[float, Event]]) -> Stream:
        details: Event = {}
        arrivals = []
        for at, event in events:
            _refuse_error(event)
            details = event.get("details") or details
            if event.get("token"):
                arrivals.append((at, 1))
        return Stream(tuple(arrivals), details.get("input_length"), details.get("generated_tokens"), None)


_COUNTED = {"stream_options": {"include_usage": True, "continuous_usage_stats": True}, "ignore_eos": True}
DIALECTS: dict[str, Dialect] = {
    "tokencogs": OpenAi("tokencogs", True, _COUNTED),
    "vllm": OpenAi("vllm", True, _COUNTED),
    "sglang": Sglang(),
    "llama.cpp": LlamaCpp(),
    "llama-cpp-python": OpenAi("llama-cpp-python", False, {}),
    "tgi": Tgi(),
    "openai": OpenAi("openai", False, {"stream_options": {"include_usage": True}}),
}


def parsed(events: Iterable[tuple[float, bytes]]) -> list[tuple[float, Event]]:
    """Events' data as JSON. Raises HttpProbeFailed with what is none."""
    found = []
    for at, data in events:
        try:
            event = json.loads(data)
        except ValueError as error:
            raise HttpProbeFailed("event", data[:80].decode(errors="replace"), f"not JSON: {error}") from None
        if not isinstance(event, dict):
            raise HttpProbeFailed("event", event, "a JSON object is expected")
        found.append((at, event))
    return found


def _refuse_error(event: Event) -> None:
    error = event.get("error")
    if error:
        said = error.get("message") if isinstance(error, dict) else error
        raise HttpProbeFailed("event", str(said)[:200], "the server ended the stream with an error")
