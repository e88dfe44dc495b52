"""Does any body, however broken, bring the server down, hang it, or get lost? 100,000 in the slow run, 2,000 in every one."""

from __future__ import annotations

import copy
import gzip
import json
import os
import zlib
from collections import Counter
from collections.abc import Iterator
from typing import Any

import httpx
import msgspec
import pytest
import zstandard
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import text

from accounting.ledger.check import check
from accounting.ledger.replay import replay
from accounting.storage.engine import transaction
from accounting.storage.tariffs import load_book
from accounting.storage.tenants import context
from accounting.usage.formats.registry import FORMATS
from accounting.usage.items import AUTO
from tests.api.serving import Running, make_keys
from tests.conftest import Database
from tests.events import event
from tests.fuzz.mutations import DEPTHS, items, values, written
from tests.shared_data import shared
from tests.wire_bodies import places, sent

pytestmark = [pytest.mark.storage, pytest.mark.one_server]

NAMES = [*sorted(FORMATS), AUTO]
JSON = "application/json"
EACH = int(os.environ.get("TOKENCOGS_FUZZ_EXAMPLES", "3300"))
"""Examples of a test of the slow run; 30 times as many in all."""
COMPRESS = {
    None: bytes,
    "gzip": gzip.compress,
    "deflate": zlib.compress,
    "zstd": zstandard.ZstdCompressor().compress,
}
COUNTED: Counter[str] = Counter()
"""What the server said became of the calls of this module."""


def some(examples: int, *, repeatable: bool = True) -> settings:
    return settings(
        max_examples=examples,
        deadline=None,
        derandomize=repeatable,
        database=None,
        suppress_health_check=list(HealthCheck),
    )


@pytest.fixture(scope="module")
def fuzzed(api: Running, database: Database) -> Iterator[httpx.Client]:
    """A tenant whose every answer is counted."""
    with api.client(make_keys(database, "fuzzed")["ingest"]) as client:
        yield client


@pytest.fixture(scope="module")
def exporter(api: Running, database: Database) -> Iterator[httpx.Client]:
    """Another one, for exports, whose answers name no accepted spans."""
    with api.client(make_keys(database, "exporter")["ingest"]) as client:
        yield client


def send(client: httpx.Client, url: str, content: bytes, encoding: str | None, cut: int, kind: str) -> httpx.Response:
    """One request; of a cut one the last bytes are missing."""
    data = COMPRESS[encoding](content)
    headers = {"Content-Type": kind} | ({"Content-Encoding": encoding} if encoding else {})
    answer = client.post(url, content=data[: len(data) - cut] if cut else data, headers=headers)
    assert answer.status_code in (200, 400), (answer.status_code, answer.text, content[:2_000])
    return answer


def count(answer: dict[str, Any]) -> int:
    """Calls that an answer accounts for."""
    for name in ("accepted", "duplicates", "aggregates"):
        COUNTED[name] += answer[name]
    for name in ("conflicts", "rejected", "exceptions"):
        COUNTED[name] += len(answer[name])
    lists = sum(len(answer[name]) for name in ("conflicts", "rejected", "exceptions"))
    return int(answer["accepted"] + answer["duplicates"] + answer["aggregates"]) + lists


def readable(content: bytes) -> bool:
    """Whether this is JSON at all."""
    try:
        msgspec.json.decode(content)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return False
    return True


encodings = st.sampled_from([None, None, None, *COMPRESS])
cuts = st.sampled_from([0] * 12 + [1, 5])
depths = st.sampled_from(DEPTHS)


def _bodies(client: httpx.Client, name: str, examples: int, *, repeatable: bool = True) -> None:
    inner = st.sampled_from(sorted(FORMATS)).flatmap(items) if name == AUTO else items(name)

    @some(examples, repeatable=repeatable)
    @given(st.lists(inner, min_size=1, max_size=3), encodings, cuts, depths)
    def one(batch: list[Any], encoding: str | None, cut: int, depth: int) -> None:
        content = written(batch, depth)
        answer = send(client, f"/v1/usage/{name}", content, encoding, cut, JSON)
        if answer.status_code == 200:
            # The records of a Claude Code log are one body.
            least = 1 if name in ("claude_code", AUTO) else len(batch)
            assert count(answer.json()) >= least, (answer.json(), content[:2_000])
        else:
            # The whole is refused only where it can't be told apart: no JSON, cut off, or deeper than a parser goes.
            assert cut or depth > 100 or not readable(content), (answer.text, content[:2_000])

    one()


def _spans(client: httpx.Client, examples: int, *, repeatable: bool = True) -> None:
    @some(examples, repeatable=repeatable)
    @given(items("otlp") | items("openinference"), encodings, cuts, depths)
    def one(item: Any, encoding: str | None, cut: int, depth: int) -> None:
        request = item["response"] if isinstance(item, dict) and "response" in item else item
        content = written(request, depth)
        answer = send(client, "/v1/traces", content, encoding, cut, JSON)
        if answer.status_code == 200:
            assert set(answer.json()) <= {"partialSuccess"}

    one()


def _protobuf(client: httpx.Client, examples: int, *, repeatable: bool = True) -> None:
    whole = shared("otlp/gen_ai_spans.pb").read_bytes()
    edits = st.lists(st.tuples(st.integers(0, len(whole) - 1), st.integers(0, 255)), max_size=6)

    @some(examples, repeatable=repeatable)
    @given(edits, st.integers(0, len(whole)), encodings)
    def one(edited: list[tuple[int, int]], length: int, encoding: str | None) -> None:
        data = bytearray(whole if length % 3 else whole[:length])
        for at, byte in edited:
            if at < len(data):
                data[at] = byte
        send(client, "/v1/traces", bytes(data), encoding, 0, "application/x-protobuf")

    one()


def _native(client: httpx.Client, examples: int, *, repeatable: bool = True) -> None:
    @some(examples, repeatable=repeatable)
    @given(st.lists(st.tuples(st.integers(0, 99), st.integers(0, 10_000), values), max_size=4), encodings, cuts, depths)
    def one(edits: list[tuple[int, int, Any]], encoding: str | None, cut: int, depth: int) -> None:
        batch = [event(f"n{number}", tags={"a": "b"}, usage={"cache_read_tokens": 1}) for number, _, _ in edits]
        for row, (_, place, value) in zip(batch, edits, strict=True):
            where = list(places(row))
            container, key = where[place % len(where)]
            container[key] = copy.deepcopy(value)
        content = written(batch, depth)
        answer = send(client, "/v1/usage/events", content, encoding, cut, JSON)
        if answer.status_code == 200:
            assert count({"exceptions": [], "aggregates": 0, **answer.json()}) == len(batch)
        else:
            assert cut or depth > 100 or not readable(content), (answer.text, content[:2_000])

    one()


@pytest.mark.parametrize("name", NAMES)
def test_no_body_is_lost_or_brings_the_server_down(fuzzed: httpx.Client, name: str) -> None:
    _bodies(fuzzed, name, 62)


def test_no_export_brings_the_server_down(exporter: httpx.Client) -> None:
    _spans(exporter, 88)
    _protobuf(exporter, 88)


def test_no_native_batch_is_lost_or_brings_the_server_down(fuzzed: httpx.Client) -> None:
    _native(fuzzed, 88)


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_many_bodies(fuzzed: httpx.Client, name: str) -> None:
    _bodies(fuzzed, name, EACH, repeatable=False)


@pytest.mark.slow
def test_many_exports_and_native_batches(fuzzed: httpx.Client, exporter: httpx.Client) -> None:
    _spans(exporter, EACH, repeatable=False)
    _protobuf(exporter, EACH, repeatable=False)
    _native(fuzzed, EACH, repeatable=False)


def test_what_was_answered_is_what_is_stored(fuzzed: httpx.Client, exporter: httpx.Client, database: Database) -> None:
    """Comes last in its process: every acceptance is one event, every contradiction is kept, and both ledgers stand."""
    last = send(fuzzed, "/v1/usage/openai_chat", json.dumps(sent("openai_chat", 9_999)).encode(), None, 0, JSON)
    assert count(last.json()) == 1
    with transaction(database.app, "fuzzed") as connection:
        ids = connection.execute(text("SELECT count(*) FROM event_ids")).scalar_one()
        kept = connection.execute(text("SELECT count(*) FROM exceptions WHERE kind = 'contradiction'")).scalar_one()
    assert ids == COUNTED["accepted"]
    assert kept <= COUNTED["exceptions"]
    assert (kept > 0) == (COUNTED["exceptions"] > 0)
    prices = load_book(database.app, "fuzzed")
    for tenant in ("fuzzed", "exporter"):
        owner = context(database.app, tenant)
        assert [line.describe() for line in check(database.app, owner) if line.differs] == []
        # No rule was mended, so the evidence of every contradiction must contradict itself still.
        assert replay(database.app, owner, prices)["booked"] == 0
    print(dict(COUNTED))
