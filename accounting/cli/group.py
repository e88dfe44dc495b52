"""How does a command come from its name: which module is loaded, and what happens when it can't be or when it fails?"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from typing import Any

import click

from accounting.errors import ConfigurationError, InvalidInput, StorageUnavailable, TokencogsError

ENTRY_POINTS = "tokencogs.commands"
USAGE = 2
FAILURE = 1
_UNDEFINED_TABLE = "42P01"
_UPGRADE = "the database has no schema yet, or an older one; run `tokencogs db upgrade`"


class CommandError(click.ClickException):
    """An error of the domain as one line on stderr. Exit code 1: it failed."""

    exit_code = FAILURE

    def __init__(self, error: TokencogsError) -> None:
        super().__init__(" ".join(str(error).split()))


class CommandMisuse(CommandError):
    """The same. Exit code 2: what was asked can't be used."""

    exit_code = USAGE


class LazyGroup(click.Group):
    """A group whose commands are named "module:attribute" and imported when they are called.

    Args:
        lazy: command name -> "module:attribute" of this package.
        join: entry point group whose entries join as commands; they are loaded by name, so nothing here imports them.
    """

    def __init__(self, *args: Any, lazy: Mapping[str, str], join: str, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.lazy = lazy
        self.join = join

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted({*self.lazy, *(entry.name for entry in entry_points(group=self.join))})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name in self.lazy:
            module, _, attribute = self.lazy[cmd_name].partition(":")
            command: click.Command = getattr(import_module(module), attribute)
            return command
        for entry in entry_points(group=self.join, name=cmd_name):
            return _joined(entry)
        return None

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except (InvalidInput, ConfigurationError) as error:
            raise CommandMisuse(error) from error
        except TokencogsError as error:
            raise CommandError(error) from error
        except Exception as error:
            # The driver's error, or SQLAlchemy's around it: neither library is loaded by a command that needs no database.
            driver: Any = getattr(error, "orig", error)
            if getattr(driver, "sqlstate", None) != _UNDEFINED_TABLE:
                raise
            said = str(driver).partition("\n")[0]
            raise CommandError(StorageUnavailable(f"{said}: {_UPGRADE}")) from error


def _joined(entry: EntryPoint) -> click.Command:
    """The command of an entry point, or one in its place that says why it can't be loaded."""
    try:
        loaded = entry.load()
    except (ImportError, AttributeError, SyntaxError) as error:
        return _broken(entry, f"{type(error).__name__}: {error}")
    if not isinstance(loaded, click.Command):
        return _broken(entry, f"{type(loaded).__name__} is not a click command")
    return loaded


def _broken(entry: EntryPoint, reason: str) -> click.Command:
    message = f"the command {entry.name!r} (entry point {entry.value!r}) can't be loaded: {reason}"

    def fail() -> None:
        raise ConfigurationError(message)

    return click.Command(
        entry.name, callback=fail, help=f"Can't be loaded: {reason}", short_help=f"(can't be loaded: {reason})"
    )


def example(*lines: str) -> str:
    """Epilog of a command's --help: lines to type."""
    return "\n".join(["\b", "Example:", *(f"  {line}" for line in lines)])
