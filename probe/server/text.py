"""How do text and token ids meet? Through a tokenizer file where one is given; without it there are only ids."""

from __future__ import annotations

import json
from collections.abc import Sequence as Seq
from pathlib import Path
from typing import Any

from probe.server.errors import ServerError

UNFINISHED = "\ufffd"  # what an incomplete UTF-8 sequence decodes to


class Text:
    """A `tokenizer.json` and, beside it, the chat template of `tokenizer_config.json`.

    Without a template each message becomes "<|role|>\\ncontent\\n", ended by "<|assistant|>\\n".
    """

    def __init__(self, tokenizer_file: Path) -> None:
        from tokenizers import Tokenizer  # noqa: PLC0415 (an optional library)

        self._tokenizer = Tokenizer.from_file(str(tokenizer_file))
        self._template = _template(tokenizer_file.with_name("tokenizer_config.json"))

    def encode(self, text: str) -> list[int]:
        return list(self._tokenizer.encode(text).ids)

    def decode(self, token_ids: Seq[int]) -> str:
        return str(self._tokenizer.decode(list(token_ids)))

    def chat(self, messages: list[dict[str, Any]]) -> list[int]:
        """Token ids of a chat that the assistant is to continue."""
        if self._template is None:
            text = "".join(f"<|{message['role']}|>\n{message['content']}\n" for message in messages) + "<|assistant|>\n"
            return self.encode(text)
        rendered = self._template.render(messages=messages, add_generation_prompt=True)
        return list(self._tokenizer.encode(rendered, add_special_tokens=False).ids)


def _template(config_file: Path) -> Any:
    if not config_file.exists():
        return None
    config = json.loads(config_file.read_text(encoding="utf-8"))
    source = config.get("chat_template")
    if not isinstance(source, str):
        return None
    from jinja2.sandbox import ImmutableSandboxedEnvironment  # noqa: PLC0415 (an optional library)

    environment = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True)
    tokens = {name: config.get(name) for name in ("bos_token", "eos_token")}
    environment.globals.update({k: v.get("content") if isinstance(v, dict) else v for k, v in tokens.items()})
    return environment.from_string(source)


class TextStream:
    """Turns the ids of one output into text as they come, and finds stop strings.

    A character that needs more tokens, or a text that may become a stop string, is held back until it is decided.
    """

    def __init__(self, text: Text | None, stop: Seq[str]) -> None:
        if stop and text is None:
            raise ServerError(f"stop: {list(stop)!r} needs a tokenizer; use stop_token_ids", "stop")
        self._text, self._stop = text, tuple(stop)
        self._ids: list[int] = []
        self._given = 0
        self.stopped = False

    def add(self, token_ids: Seq[int], last: bool) -> str:
        """The text that may be given out now; everything left if `last`."""
        if self._text is None or self.stopped:
            return ""
        self._ids += token_ids
        whole = self._text.decode(self._ids)
        cut = min((at for at in (whole.find(word) for word in self._stop) if at >= 0), default=None)
        if cut is not None:
            self.stopped = True
            whole, last = whole[:cut], True
        end = len(whole) if last else len(whole) - self._held_back(whole)
        piece = whole[self._given : end]
        self._given = max(self._given, end)
        return piece

    def _held_back(self, whole: str) -> int:
        unfinished = len(whole) - len(whole.rstrip(UNFINISHED))
        begun = max(
            (n for word in self._stop for n in range(1, len(word)) if whole.endswith(word[:n])),
            default=0,
        )
        return max(unfinished, begun)
