"""Do texts come out whole, in order and once, and do stop strings end them?"""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from probe.engine.errors import ProbeError
from probe.server.errors import ServerError
from probe.server.text import Text, TextStream


@pytest.fixture
def text(tokenizer_file: Path) -> Text:
    return Text(tokenizer_file)


def given_out(text: Text, words: str, stop: tuple[str, ...] = ()) -> list[str]:
    """What a stream gives out for `words`, one byte at a time."""
    stream, ids = TextStream(text, stop), text.encode(words)
    return [stream.add([token], last=i == len(ids) - 1) for i, token in enumerate(ids)]


def test_a_character_of_three_bytes_comes_when_it_is_whole(text: Text) -> None:
    assert given_out(text, "a€b") == ["a", "", "", "€", "b"]


def test_a_stop_string_is_cut_and_ends_the_text(text: Text) -> None:
    assert given_out(text, "one END two", ("END",)) == ["o", "n", "e", " ", "", "", "", "", "", "", ""]


def test_what_only_began_as_a_stop_string_is_given_out_after_all(text: Text) -> None:
    assert given_out(text, "xENy", ("END",)) == ["x", "", "", "ENy"]


@pytest.mark.parametrize(("words", "stop"), [("x ab€ y", "ab€"), ("hello\n\n用户: hi", "\n\n用户:"), ("ok 🛑", " 🛑")])
def test_nothing_of_a_stop_string_comes_out_while_its_last_character_is_incomplete(
    text: Text, words: str, stop: str
) -> None:
    stream, out = TextStream(text, (stop,)), ""
    for token in text.encode(words):
        out += stream.add([token], last=False)
        if stream.stopped:
            break
    assert (out, stream.stopped) == (words[: words.index(stop)], True)


def test_the_earliest_of_several_stop_strings_counts(text: Text) -> None:
    stream = TextStream(text, ("cd", "b"))
    assert stream.add(text.encode("abcd"), last=False) == "a"
    assert stream.stopped


def test_a_held_back_beginning_comes_out_at_the_end(text: Text) -> None:
    assert given_out(text, "xEN", ("END",)) == ["x", "", "EN"]


def test_a_chat_without_template_has_the_stated_layout(text: Text) -> None:
    ids = text.chat([{"role": "system", "content": "S"}, {"role": "user", "content": "Hi"}])
    assert text.decode(ids) == "<|system|>\nS\n<|user|>\nHi\n<|assistant|>\n"


def test_a_chat_follows_the_template_beside_the_tokenizer(tokenizer_file: Path, tmp_path: Path) -> None:
    shutil.copy(tokenizer_file, tmp_path / "tokenizer.json")
    template = "{{ bos_token }}{% for m in messages %}[{{ m.role }}]{{ m.content }}{% endfor %}{% if add_generation_prompt %}>{% endif %}"
    config = {"chat_template": template, "bos_token": {"content": "^"}}
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(config))
    text = Text(tmp_path / "tokenizer.json")
    assert text.decode(text.chat([{"role": "user", "content": "Hi"}])) == "^[user]Hi>"
    (tmp_path / "chat_template.jinja").write_text("{{ bos_token }}{{ messages[0].content }}!")
    assert Text(tmp_path / "tokenizer.json").chat([{"role": "user", "content": "Hi"}]) == text.encode("^Hi!")


def test_a_template_may_ask_for_the_day_and_break_a_loop(tokenizer_file: Path, tmp_path: Path) -> None:
    shutil.copy(tokenizer_file, tmp_path / "tokenizer.json")
    template = "{{ strftime_now('%Y') }}{% for m in messages %}{{ m.content }}{% break %}{% endfor %}"
    (tmp_path / "chat_template.jinja").write_text(template)
    text = Text(tmp_path / "tokenizer.json")
    said = text.decode(text.chat([{"role": "user", "content": "Hi"}, {"role": "user", "content": "No"}]))
    assert (said[:2], said[4:]) == ("20", "Hi")


def test_a_template_that_can_not_be_read_is_named(tokenizer_file: Path, tmp_path: Path) -> None:
    shutil.copy(tokenizer_file, tmp_path / "tokenizer.json")
    (tmp_path / "tokenizer_config.json").write_text(json.dumps({"chat_template": "{% for %}"}))
    with pytest.raises(ProbeError, match=r"the chat template in .*tokenizer_config\.json can't be read"):
        Text(tmp_path / "tokenizer.json")
    (tmp_path / "chat_template.jinja").write_text("{% for %}")
    with pytest.raises(ProbeError, match=r"the chat template in .*chat_template\.jinja can't be read"):
        Text(tmp_path / "tokenizer.json")


def test_a_template_may_refuse_a_chat(tokenizer_file: Path, tmp_path: Path) -> None:
    shutil.copy(tokenizer_file, tmp_path / "tokenizer.json")
    (tmp_path / "chat_template.jinja").write_text("{{ raise_exception('roles must alternate') }}")
    with pytest.raises(ServerError, match="messages: the chat template refuses them: roles must alternate") as refused:
        Text(tmp_path / "tokenizer.json").chat([{"role": "user", "content": "Hi"}])
    assert (refused.value.param, refused.value.status) == ("messages", 400)


@pytest.mark.parametrize(("content", "why"), [("{", "is no tokenizer.json"), ('{"model": 1}', "its `model` is 1")])
def test_a_file_that_holds_no_tokenizer_is_named(tmp_path: Path, content: str, why: str) -> None:
    (tmp_path / "t.json").write_text(content)
    with pytest.raises(ProbeError, match=f"tokenizer: .*t.json .*{why}"):
        Text(tmp_path / "t.json")
