"""What does `tokencogs probe` offer? Commands that need torch load it only when they run."""

from __future__ import annotations

import click

from probe.curve.push import push_command
from probe.http.cli import http_command
from probe.measure.cli import drift_command, run_command
from probe.quality.cli import quality_command
from probe.server.cli import serve
from probe.server.export import fpm_command
from probe.study.cli import study_command

_EPILOG = "\b\nExample:\n  tokencogs probe serve Llama-3.1-8B --scale 0.05 --dtype float32"


@click.group(epilog=_EPILOG)
def probe() -> None:
    """Run a model on the probe's own engine, to find out what a token costs on it."""


probe.add_command(serve)
probe.add_command(fpm_command)
probe.add_command(run_command)
probe.add_command(drift_command)
probe.add_command(push_command)
probe.add_command(http_command)
probe.add_command(study_command)
probe.add_command(quality_command)
