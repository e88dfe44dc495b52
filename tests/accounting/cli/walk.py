"""Which commands are there? Every one below `tokencogs`, found by walking the groups."""

from __future__ import annotations

from collections.abc import Iterator

import click

from accounting.cli import main


def commands(group: click.Group = main, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    """(words after `tokencogs`, command) of every group and command."""
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        yield (*path, name), command
        if isinstance(command, click.Group):
            yield from commands(command, (*path, name))
