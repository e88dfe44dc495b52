"""How do text and token ids meet? Through a tokenizer file where one is given; without it there are only ids."""

from __future__ import annotations

import json
from collections.abc import Sequence as Seq
from datetime import datetime
from pathlib import Path
from typing import Any

from probe.engine.errors import ProbeError
from probe.server.errors import ServerError

UNFINISHED = "\ufffd"  # what an incomplete UTF-8 sequence decodes to


class Text:
    """A `tokenizer.json` and, beside it, the chat template: `chat_template.jinja`, else that of `tokenizer_config.json`.

    Without a template each message becomes "<|role|>\\ncontent\\n", ended by "<|assistant|>\\n". Errors: ProbeError for a file
    that holds no tokenizer.
    """

    def __init__(self, tokenizer_file: Path) -> None:
        from tokenizers import Tokenizer  # noqa: PLC0415 (an optional library)

        _check_tokenizer(tokenizer_file)
        self._tokenizer = Tokenizer.from_file(str(tokenizer_file))
        self._template = _template(tokenizer_file.parent)

    def encode(self, text: str, *, add_special_tokens: bool = True, field: str = "prompt") -> list[int]:
        """Token ids of a text. Errors: ServerError for one that holds half a character.

        Args: add_special_tokens: those that the tokenizer puts around a text, such as its first token. field: what the text is of.
        """
        try:
            text.encode()
        except UnicodeEncodeError as half:
            raise ServerError(f"{field}: {text[half.start]!r} at {half.start} is half of a character", field) from half
        return list(self._tokenizer.encode(text, add_special_tokens=add_special_tokens).ids)

    def decode(self, token_ids: Seq[int]) -> str:
        return str(self._tokenizer.decode(list(token_ids)))

    def chat(self, messages: list[dict[str, Any]], *, add_special_tokens: bool | None = None) -> list[int]:
        """Token ids of a chat that the assistant is to continue.

        add_special_tokens: as for a text; None: where there is no template, which writes its own.
        """
        special = self._template is None if add_special_tokens is None else add_special_tokens
        return self.encode(self._rendered(messages), add_special_tokens=special, field="messages")

    def _rendered(self, messages: list[dict[str, Any]]) -> str:
        if self._template is None:
            return "".join(f"<|{message['role']}|>\n{message['content']}\n" for message in messages) + "<|assistant|>\n"
        from jinja2 import TemplateError  # noqa: PLC0415 (an optional library)

        try:
            return str(self._template.render(messages=messages, add_generation_prompt=True))
        except TemplateError as refused:
            raise ServerError(f"messages: the chat template refuses them: {refused}", "messages") from refused


def _check_tokenizer(file: Path) -> None:
    """The library tells a file that is no tokenizer by a bare Exception."""
    try:
        model = json.loads(file.read_text(encoding="utf-8")).get("model")
    except (ValueError, AttributeError) as wrong:
        raise ProbeError(f"tokenizer: {file} is no tokenizer.json: {wrong}") from wrong
    if not isinstance(model, dict):
        raise ProbeError(f"tokenizer: {file} is no tokenizer.json: its `model` is {model!r}")


def _template(folder: Path) -> Any:
    config_file, own_file = folder / "tokenizer_config.json", folder / "chat_template.jinja"
    config = json.loads(config_file.read_text(encoding="utf-8")) if config_file.exists() else {}
    source = own_file.read_text(encoding="utf-8") if own_file.exists() else config.get("chat_template")
    if not isinstance(source, str):
        return None
    from jinja2 import TemplateError  # noqa: PLC0415 (an optional library)
    from jinja2.sandbox import ImmutableSandboxedEnvironment  # noqa: PLC0415 (an optional library)

    loops = ["jinja2.ext.loopcontrols"]
    environment = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True, extensions=loops)
    tokens = {name: config.get(name) for name in ("bos_token", "eos_token")}
    environment.globals.update({k: v.get("content") if isinstance(v, dict) else v for k, v in tokens.items()})

    def raise_exception(why: str) -> None:
        raise TemplateError(why)

    # What published templates call, as in transformers: to refuse, and to tell the model today's date.
    environment.globals["raise_exception"] = raise_exception
    environment.globals["strftime_now"] = lambda form: datetime.now().strftime(form)
    try:
        return environment.from_string(source)
    except TemplateError as wrong:
        file = own_file if own_file.exists() else config_file
        raise ProbeError(f"tokenizer: the chat template in {file} can't be read: {wrong}") from wrong


class TextStream:
    """Turns the ids of one output into text as they come, and finds stop strings.

    A character that needs more tokens, or a text that may become a stop string, is held back until it is decided.
    """

    def __init__(self, text: Text | None, stop: Seq[str]) -> None:
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
        known = whole.rstrip(UNFINISHED)
        begun = max(
            (n for word in self._stop for n in range(1, len(word)) if known.endswith(word[:n])),
            default=0,
        )
        return len(whole) - len(known) + begun
