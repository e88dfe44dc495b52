"""Which curves does the API know, and what stands in one of them?"""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import quote

import httpx
import msgspec

from probe.curve.errors import CurveRefused
from probe.curve.schema import DeviceInfo, EngineInfo, ModelInfo, ResultFile, Run


def answered(method: str, url: str, key: str, path: str, **body: Any) -> dict[str, Any]:
    """The API's answer. Raises CurveRefused with the server's own words."""
    headers = {"Authorization": f"Bearer {key}"}
    try:
        answer = httpx.request(method, f"{url.rstrip('/')}{path}", headers=headers, timeout=60, **body)
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        raise CurveRefused("url", url, f"{type(error).__name__}: {error}") from error
    if answer.status_code != 200:
        raise CurveRefused("url", url, f"answered {answer.status_code}: {answer.text[:500]}")
    try:
        found = answer.json()
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise CurveRefused("url", url, f"answered no JSON object: {answer.text[:80]}")
    return found


def listed(url: str, key: str) -> list[dict[str, Any]]:
    """Own and shared curves, without their numbers."""
    rows: list[dict[str, Any]] = answered("GET", url, key, "/v1/curves")["curves"]
    return rows


def fetched(url: str, key: str, curve_id: str) -> ResultFile:
    """One curve with what it was made from, as far as that was sent along; else what its own header says."""
    file = answered("GET", url, key, f"/v1/curves/{quote(curve_id, safe='')}")["curve"]
    source = file.pop("source", None)
    try:
        result = _from_header(file) if source is None else msgspec.convert(source, ResultFile)
    except msgspec.ValidationError as error:
        raise CurveRefused("source", curve_id, str(error)) from None
    return msgspec.structs.replace(result, curve=file)


def _from_header(file: dict[str, Any]) -> ResultFile:
    return ResultFile(
        version=1,
        result_id=str(file["curve_id"]),
        run=Run(measured_at=str(file["measured_at"]), via="composed" if file.get("floor") else "import"),
        model=ModelInfo(name=str(file["model"]), dtype=file.get("dtype")),
        engine=EngineInfo(name=str(file["engine"])),
        device=_device(str(file["gpu"])),
    )


def _device(gpu: str) -> DeviceInfo:
    """The header has "8x NVIDIA H200" where a replica has several; dollars go by them."""
    several = re.match(r"(\d+)x (.+)", gpu)
    return DeviceInfo(gpu=several[2], count=int(several[1])) if several else DeviceInfo(gpu=gpu)
