"""What does `tokencogs` do with commands of other packages, with broken ones, and with errors?"""

from __future__ import annotations

import sys
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from accounting.cli import main
from accounting.cli.group import LazyGroup
from accounting.errors import ConfigurationError, InvalidInput, NotFound


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder on sys.path that holds an installed distribution with three entry points."""
    info = tmp_path / "plugins-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: plugins\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(
        "[tokencogs.commands]\nwave = wavy_plugin:wave\nmissing = no_such_module:command\nnumber = wavy_plugin:number\n"
    )
    (tmp_path / "wavy_plugin.py").write_text(
        "import click\nnumber = 7\n@click.command(help='Waves.')\ndef wave():\n    click.echo('hello')\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    return tmp_path


def test_a_command_of_another_package_joins_by_its_entry_point(installed: Path) -> None:
    assert CliRunner().invoke(main, ["wave"]).output == "hello\n"


def test_a_broken_entry_point_is_named_in_one_line_and_exits_2(installed: Path) -> None:
    result = CliRunner().invoke(main, ["missing"])
    assert result.exit_code == 2
    assert result.stderr == (
        "Error: the command 'missing' (entry point 'no_such_module:command') can't be loaded: "
        "ModuleNotFoundError: No module named 'no_such_module'\n"
    )


def test_an_entry_point_that_is_no_command_is_named(installed: Path) -> None:
    assert "int is not a click command" in CliRunner().invoke(main, ["number"]).stderr


def test_a_broken_entry_point_does_not_break_the_list(installed: Path) -> None:
    result = CliRunner().invoke(main, ["--help"])
    assert result.exit_code == 0
    assert "(can't be loaded" in result.output
    assert "ingest" in result.output


def test_commands_are_imported_when_they_are_called(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "accounting.cli.tenant", raising=False)
    CliRunner().invoke(main, ["--version"])
    assert "accounting.cli.tenant" not in sys.modules


@pytest.mark.parametrize(
    ("error", "code", "line"),
    [
        (InvalidInput("tz", "Mars", "no such IANA time zone"), 2, "Error: tz='Mars': no such IANA time zone\n"),
        (ConfigurationError("TOKENCOGS_DATA is no folder"), 2, "Error: TOKENCOGS_DATA is no folder\n"),
        (NotFound("tenant='x': does not exist\nat all"), 1, "Error: tenant='x': does not exist at all\n"),
    ],
)
def test_an_error_is_one_line_and_its_kind_is_the_exit_code(error: Exception, code: int, line: str) -> None:
    group = LazyGroup("group", lazy={}, join="tokencogs.no_such_group")

    def fail() -> None:
        raise error

    group.add_command(click.Command("fail", callback=fail))
    group.list_commands = lambda ctx: ["fail"]  # type: ignore[method-assign]
    group.get_command = lambda ctx, name: group.commands[name]  # type: ignore[method-assign]
    result = CliRunner().invoke(group, ["fail"])
    assert (result.exit_code, result.stderr) == (code, line)
