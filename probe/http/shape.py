"""What is the shape of the model that a server serves? It doesn't say, so it is named: a public architecture, or a config.json."""

from __future__ import annotations

from pathlib import Path

from probe.curve.setup_shape import Shape, shape_in_file
from probe.engine.models.hf_config import load_config
from probe.engine.models.presets import preset


def shape_named(name: str | None) -> Shape:
    """Nothing is known where nothing was named. Raises ProbeError for an architecture that is not known."""
    if name is None:
        return Shape()
    path = Path(name)
    return shape_in_file(
        load_config(path / "config.json" if path.is_dir() else path) if path.exists() else preset(name)
    )
