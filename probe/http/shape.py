"""What is the shape of the model that a server serves? It doesn't say, so it is named: a public architecture, or a config.json."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

from probe.engine.models.config import ModelConfig
from probe.engine.models.hf_config import load_config
from probe.engine.models.presets import preset


@dataclass(frozen=True)
class Shape:
    """As in a result file's model. Attributes: fields: config.json's numbers, experts among them."""

    fields: dict[str, Any] = field(default_factory=dict)
    attention: Literal["mha", "gqa", "mqa", "mla"] | None = None
    sliding_window: int | None = None


def shape_named(name: str | None) -> Shape:
    """Nothing is known where nothing was named. Raises ProbeError for an architecture that is not known."""
    if name is None:
        return Shape()
    path = Path(name)
    config = load_config(path / "config.json" if path.is_dir() else path) if path.exists() else preset(name)
    parts = [asdict(config), asdict(config.moe) if config.moe else {}, asdict(config.mla) if config.mla else {}]
    numbers = {key: value for part in parts for key, value in part.items() if isinstance(value, int | float | str)}
    windows = [window for window in config.windows if window is not None]
    return Shape(numbers, _attention(config), min(windows) if windows else None)


def _attention(config: ModelConfig) -> Literal["mha", "gqa", "mqa", "mla"]:
    if config.mla is not None:
        return "mla"
    if config.num_key_value_heads == config.num_attention_heads:
        return "mha"
    return "mqa" if config.num_key_value_heads == 1 else "gqa"
