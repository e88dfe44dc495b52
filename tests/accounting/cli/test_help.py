"""Does every command explain itself with an example that can be typed?"""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from contextlib import contextmanager

import click
import pytest
from click.testing import CliRunner

from accounting.cli import main
from tests.accounting.cli.walk import commands

SHELL = ("|", ">", ">>", "<", "<<<", "&&", "&")
EVERY = [pytest.param(words, command, id=" ".join(words)) for words, command in commands()]


def test_the_walk_finds_the_known_commands() -> None:
    assert {" ".join(words) for words, _ in commands()} >= {
        "check", "db", "db psql", "db upgrade", "db url", "demo", "ingest", "key", "key create", "key list", "key revoke",
        "plan", "plan set", "price", "report", "retention", "retention apply", "retention set", "serve", "settle",
        "subscription", "subscription import", "tenant", "tenant create", "tenant list", "user", "user erase",
    }  # fmt: skip


@pytest.mark.parametrize(("words", "command"), EVERY)
def test_help_has_a_sentence_and_an_example(words: tuple[str, ...], command: click.Command) -> None:
    result = CliRunner().invoke(main, [*words, "--help"], prog_name="tokencogs")
    assert result.exit_code == 0
    assert command.help
    assert "Example:" in result.output


@pytest.mark.parametrize(("words", "command"), EVERY)
def test_examples_name_commands_and_options_that_exist(words: tuple[str, ...], command: click.Command) -> None:
    lines = [line.strip() for line in (command.epilog or "").splitlines() if line.strip().startswith("tokencogs ")]
    assert lines
    for line in lines:
        assert_parses(line)


def assert_parses(line: str) -> None:
    """That click takes the line's words and options, up to a pipe or a redirection, without running anything."""
    words = shlex.split(line)[1:]
    end = next((at for at, word in enumerate(words) if word in SHELL), len(words))
    rest = words[:end]
    command: click.Command = main
    name = "tokencogs"
    while isinstance(command, click.Group):
        found = command.get_command(click.Context(command), rest[0])
        assert found is not None, f"{line}: no command {rest[0]!r}"
        command, name, rest = found, rest[0], rest[1:]
    # Only the example's file may be missing.
    with suppress_missing_file(line):
        command.make_context(name, rest)


@contextmanager
def suppress_missing_file(line: str) -> Iterator[None]:
    try:
        yield
    except click.UsageError as error:
        if not (isinstance(error, click.BadParameter) and "does not exist" in error.message):
            pytest.fail(f"{line}: {error.format_message()}")
