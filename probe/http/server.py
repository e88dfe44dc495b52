"""Which server answers at a URL: its dialect, version, model, and what its own counters say of its cache?"""

from __future__ import annotations

import json
import re
import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from probe.http.dialects import DIALECTS
from probe.http.errors import HttpProbeFailed
from probe.http.transport import Client

# What each server's /v1/models says of its owner.
_OWNERS = {
    "vllm": "vllm",
    "sglang": "sglang",
    "llamacpp": "llama.cpp",
    "tokencogs": "tokencogs",
    "me": "llama-cpp-python",
}
_HITS = re.compile(rb"^(?:vllm:prefix_cache_hits_total|vllm:gpu_prefix_cache_hits_total)\{[^}]*\} ([0-9.e+]+)$", re.M)


@dataclass(frozen=True)
class Server:
    """Attributes: dialect: key of `DIALECTS`; version: None: it does not say; max_model_len: tokens of prompt and output, where said."""

    dialect: str
    model: str
    version: str | None
    max_model_len: int | None


async def identify(client: Client, dialect: str = "auto", model: str | None = None) -> Server:
    """Asks the server. Raises HttpProbeFailed where it can't be told, naming the option that settles it."""
    listed = await _json(client, "/v1/models")
    rows = (listed or {}).get("data") or []
    # A name that isn't listed may be an alias, so the server says whether it knows it; whose server it is, any row tells.
    first: dict[str, Any] = next((row for row in rows if model in (None, row.get("id"))), {})
    owner = _OWNERS.get(str((first or (rows or [{}])[0]).get("owned_by") or ""))
    info = None if owner else await _json(client, "/info")  # TGI's; it lists models with owners of their own
    found = dialect
    if dialect == "auto":
        found = owner or ("tgi" if info and "model_id" in info else "openai" if rows else "")
    if found not in DIALECTS:
        asked = f"neither /v1/models nor /info of {client.host}:{client.port}{client.prefix} says who it is"
        raise HttpProbeFailed("server", dialect, f"{asked}; give --server, one of {', '.join(DIALECTS)}")
    name = model or first.get("id") or (info or {}).get("model_id")
    if not name:
        raise HttpProbeFailed("model", model, "the server does not name its model: give --model")
    length = first.get("max_model_len") or (first.get("meta") or {}).get("n_ctx_train")
    return Server(found, str(name), await _version(client, found, info), int(length) if length else None)


async def round_trip(client: Client, times: int = 9) -> float:
    """Median seconds of a request that needs no model."""
    taken = []
    for _ in range(times):
        begun = time.monotonic()
        await client.request("GET", "/health")
        taken.append(time.monotonic() - begun)
    return float(np.median(taken))


async def cache_hits(client: Client) -> int | None:
    """Prompt tokens found in the prefix cache since the server began, by its counters; None where it has none."""
    reply = await client.request("GET", "/metrics")
    found = _HITS.findall(reply.body) if reply.status == 200 else []
    return sum(int(float(one)) for one in found) if found else None


async def _version(client: Client, dialect: str, info: dict[str, Any] | None) -> str | None:
    if dialect == "vllm":
        return ((await _json(client, "/version")) or {}).get("version")
    if dialect == "sglang":
        return ((await _json(client, "/get_server_info")) or {}).get("version")
    if dialect == "tokencogs":
        about: dict[str, Any] = ((await _json(client, "/openapi.json")) or {}).get("info") or {}
        return about.get("version")
    if dialect == "llama.cpp":
        return ((await _json(client, "/props")) or {}).get("build_info")
    return (info or {}).get("version")


async def _json(client: Client, path: str) -> dict[str, Any] | None:
    """The object at a path; None where there is none."""
    reply = await client.request("GET", path)
    if reply.status != 200:
        return None
    try:
        found = json.loads(reply.body)
    except json.JSONDecodeError:
        return None
    return found if isinstance(found, dict) else None
