"""How are recorded bodies read as a sender would send them? By their structure, with the provider that their recording names."""

from __future__ import annotations

import json
import re
from datetime import datetime
from typing import Any

from accounting.usage.formats import registry
from accounting.usage.native import NativeUsage
from accounting.usage.read import WireRead, read
from accounting.usage.wire import Context
from tests.shared_data import shared

PROVIDERS = {
    "azure": "azure",
    "bedrock": "aws",
    "cerebras": "cerebras",
    "cohere": "cohere",
    "deepseek": "deepseek",
    "heroku": "heroku",
    "huggingface": "huggingface",
    "mistral": "mistral",
    "ollama": "ollama",
    "openrouter": "openrouter",
    "zai": "zai",
}
"""Word in the name of a recording -> provider that was called. Bodies without such a word are of the format's own provider."""

MODELS = {"gemini": "google", "meta-llama/Llama-4-Scout-17B-16E-Instruct": "huggingface"}
"""Start of a model's name -> provider, for chat bodies whose recording names none."""


def lines(name: str) -> list[dict[str, Any]]:
    """Rows of a JSON Lines file of the shared data."""
    return [json.loads(line) for line in shared(name).read_text(encoding="utf-8").splitlines()]


def provider_of(row: dict[str, Any], wire_format: str) -> str | None:
    """The provider that a usage-payloads row's recording or model names; None where the format itself says it."""
    if wire_format not in registry.SHAPES:
        return None
    recording = row["cassette"].rpartition("models/")[2].lower()
    for word, provider in PROVIDERS.items():
        if re.search(rf"test_{word}|[\[_-]{word}[\].-]", recording):
            return provider
    model = str(row["model"])
    return next((provider for start, provider in MODELS.items() if model.startswith(start)), None)


def read_row(body: dict[str, Any], provider: str | None, model: str | None, at: str) -> WireRead:
    """The real path of one body: its format by its structure, then format module, context and checks of an event."""
    module = registry.detect(body)
    assert module is not None, body
    context = Context(provider=provider, model=model, occurred_at=datetime.fromisoformat(at))
    return read(module.NAME, [(body, context)])


def columns(usage: NativeUsage) -> dict[str, int]:
    """Usage column -> count, the disjoint uncached input in place of the total."""
    counts = {name: getattr(usage, name) or 0 for name in NativeUsage.__struct_fields__}
    written = sum(number for name, number in counts.items() if name.startswith("cache_write"))
    counts["uncached_input_tokens"] = counts.pop("input_tokens") - counts["cache_read_tokens"] - written
    return counts
