"""Bodies as nobody should send them: real and hand-made ones, with values of wrong types, sizes and depths put anywhere in them."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

from hypothesis import strategies as st

from accounting.usage.formats.registry import FORMATS, detect
from tests.shared_data import shared
from tests.wire_bodies import Place, body, places, sent

DEEP = "\u0002deep\u0002"
"""Stands for a value that is nested too deeply to be built or written by Python itself."""
DEPTHS = (50, 400, 990, 5_000)

_NUMBERS = (
    -1,
    0,
    1,
    2**31 - 1,
    2**31,
    2**53 + 1,
    2**63,
    2**64,
    -(2**63),
    10**30,
    10**400,
    0.5,
    -0.0,
    59200.0,
    1e300,
    5e-324,
)
_TEXTS = (
    "",
    " ",
    "0",
    "-5",
    "1e5",
    "12",
    "NaN",
    "None",
    "null",
    "true",
    "\x00",
    "a\x00b",
    "\u202e\u0000",
    "\U0001f4b8" * 300,
)
_ODD: tuple[Any, ...] = (
    None,
    True,
    False,
    [],
    {},
    [[]],
    [None],
    {"": None},
    {"\x00": 1},
    {"usage": {}},
    [{}] * 40,
    DEEP,
)

values = st.one_of(
    st.sampled_from([*_NUMBERS, *_TEXTS, *_ODD]),
    st.integers(-(2**70), 2**70),
    st.floats(allow_nan=True),
    st.text(max_size=20),
)


def _replace(at: Place, value: Any) -> None:
    at[0][at[1]] = value


def _remove(at: Place, _value: Any) -> None:
    del at[0][at[1]]


def _repeat(at: Place, value: Any) -> None:
    container, key = at
    if isinstance(container, list):
        container.extend(copy.deepcopy([container[key]] * 3))
    else:
        container[f"{key}x"] = copy.deepcopy(container[key])
        container[str(value)[:30]] = value


def _wrap(at: Place, _value: Any) -> None:
    at[0][at[1]] = [{"usage": at[0][at[1]]}]


def _write_out(at: Place, _value: Any) -> None:
    """As JSON inside a string, as some exports have it."""
    at[0][at[1]] = json.dumps(at[0][at[1]])


ACTS: tuple[Callable[[Place, Any], None], ...] = (_replace, _replace, _replace, _remove, _repeat, _wrap, _write_out)


@lru_cache(maxsize=1)
def seeds() -> Mapping[str, list[Any]]:
    """Format -> bodies: one made by hand, and what the public data sets hold of it."""
    found: dict[str, list[Any]] = {name: [body(name)] for name in FORMATS}
    real: list[Any] = [json.loads(line)["body"] for line in _lines("usage-payloads/usage_payloads.jsonl")]
    real += [case["payload"] for case in map(json.loads, _lines("cases/cases.jsonl")) if "payload" in case]
    real += [json.loads(path.read_bytes()) for path in sorted(shared("litellm-samples").glob("*.json"))]
    real += [json.loads(path.read_bytes()) for path in sorted(shared("langfuse-traces").glob("*.json"))]
    spans = json.loads(shared("otlp/gen_ai_spans.otlp.json").read_bytes())
    scope = spans["resourceSpans"][0]["scopeSpans"][0]
    scope["spans"] = scope["spans"][:3]
    for one in [*real, spans]:
        module = detect(one)
        if module is not None and len(found[module.NAME]) < 60:
            found[module.NAME].append(one)
    return found


def _lines(name: str) -> list[str]:
    return shared(name).read_text(encoding="utf-8").splitlines()


_IDS = st.integers(0, 10**9).map(lambda number: {"event_id": f"fuzz-{number}"} if number % 2 else {})


@st.composite
def items(draw: st.DrawFn, name: str) -> Any:
    """One item of a request: a body, alone or with a context, mutated in up to four places; seldom something else entirely."""
    known = seeds()[name]
    seed = copy.deepcopy(known[draw(st.integers(0, len(known) - 1))])
    wrapped = draw(st.integers(0, 4)) > 0 or isinstance(seed, list)
    context = {**sent(name)["context"], **draw(_IDS)}
    item = {"response": seed, "context": context} if wrapped else seed
    for _ in range(draw(st.integers(0, 4))):
        where = list(places(item))
        if not where:
            break
        at = where[draw(st.integers(0, 10_000)) % len(where)]
        draw(st.sampled_from(ACTS))(at, copy.deepcopy(draw(values)))
    return draw(values) if draw(st.integers(0, 40)) == 0 else item


def written(tree: Any, depth: int) -> bytes:
    """JSON of a mutated body; NaN and infinities as Python writes them, which is no JSON."""
    text = json.dumps(tree)
    deep = '{"usage":' * depth + "1" + "}" * depth if depth % 2 else "[" * depth + "]" * depth
    return text.replace(json.dumps(DEEP), deep).encode()
