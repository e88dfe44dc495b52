"""Do prompts, answers, tool arguments and metadata go nowhere, whatever the format and whatever is wrong with the body?

Every body of `wire_bodies.py` quotes a conversation. It is sent as it is, and with each of its counts replaced by a negative number
and by words of that conversation, so that it ends as an event, an exception or a rejection. Then everything that the server keeps
or says is searched.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest
import zstandard
from sqlalchemy import create_engine, text

from accounting.usage.formats.registry import FORMATS
from tests.api.serving import make_keys, running
from tests.conftest import Database
from tests.wire_bodies import CANARY, WORDS, variants

pytestmark = [pytest.mark.storage, pytest.mark.one_server]

USER = "user-17"
IDENTITY = {
    "usage_events": {"user_id"},
    "ledger": {"user_id"},
    "charges": {"user_id"},
    "rollup_user_day": {"user_id"},
    "exceptions": {"context"},
}
"""Where a user's id may stand: the event's row and what is summed by user, and the context that a replay needs."""


@dataclass
class Kept:
    """What the server keeps and says. Attributes: answers: (format, text); rows: (table, row as column -> text)."""

    answers: list[tuple[str, str]] = field(default_factory=list)
    metrics: str = ""
    logged: list[str] = field(default_factory=list)
    rows: list[tuple[str, dict[str, str]]] = field(default_factory=list)
    totals: dict[str, int] = field(default_factory=dict)


NATIVE = [
    {"event_id": "n1", "prompt": WORDS["prompt"]},
    {"event_id": "n2", "usage": {"input_tokens": WORDS["answer"]}},
    {"event_id": "n3", "usage": {"messages": [WORDS["prompt"]]}},
    WORDS["prompt"],
    [WORDS["answer"]],
]


class Recorder(logging.Handler):
    """Keeps what is logged, arguments and tracebacks included."""

    def __init__(self, kept: Kept) -> None:
        super().__init__(logging.DEBUG)
        self.kept = kept
        self.setFormatter(logging.Formatter("%(name)s %(message)s"))

    def emit(self, record: logging.LogRecord) -> None:
        # What the client of this test logs of its own requests is not the server's.
        if not record.name.startswith(("httpx", "httpcore")):
            self.kept.logged.append(self.format(record))


@pytest.fixture(scope="module")
def kept(database: Database) -> Kept:
    found = Kept()
    recorder, root = Recorder(found), logging.getLogger()
    level = root.level
    root.addHandler(recorder)
    root.setLevel(logging.DEBUG)
    try:
        with running(database) as server, server.client(make_keys(database, "private")["admin"]) as client:
            for name in sorted(FORMATS):
                answer = client.post(f"/v1/usage/{name}", json=list(variants(name)))
                assert answer.status_code == 200, answer.text
                found.answers.append((name, answer.text))
                for outcome, what in answer.json().items():
                    count = len(what) if isinstance(what, list) else what
                    found.totals[outcome] = found.totals.get(outcome, 0) + count
            for name in ("otlp", "openinference"):
                for item in variants(name):
                    answer = client.post("/v1/traces", json=item.get("response", item))
                    found.answers.append((f"traces {name}", answer.text))
            found.answers.append(("auto", client.post("/v1/usage/auto", json=[*variants("gemini"), *NATIVE]).text))
            found.answers.append(("events", client.post("/v1/usage/events", json=NATIVE).text))
            for content in (b'{"prompt": "' + WORDS["prompt"].encode(), b"[" + WORDS["answer"].encode()):
                for path in ("/v1/usage/openai_chat", "/v1/usage/events", "/v1/traces"):
                    found.answers.append((f"no JSON to {path}", client.post(path, content=content).text))
            found.answers.append(("exceptions", client.get("/v1/exceptions", params={"limit": 10_000}).text))
            found.answers.append(("replay", client.post("/v1/exceptions/replay").text))
            found.metrics = client.get("/metrics").text
    finally:
        root.removeHandler(recorder)
        root.setLevel(level)
    found.rows.extend(_rows(database))
    return found


def _rows(database: Database) -> Iterator[tuple[str, dict[str, str]]]:
    """Every row of every table and view, as a superuser reads it; blocks of evidence are decompressed."""
    engine = create_engine(database.superuser_url)
    relations = "SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p', 'v') ORDER BY 1"
    with engine.connect() as connection:
        for table in connection.execute(text(relations)).scalars().all():
            for row in connection.execute(text(f"SELECT * FROM {table}")).mappings():
                texts = {name: str(value) for name, value in row.items()}
                if table == "raw_usage":
                    texts["body"] = zstandard.ZstdDecompressor().decompress(bytes(row["body"])).decode()
                yield table, texts
    engine.dispose()


def test_every_way_that_a_body_can_end_was_taken(kept: Kept) -> None:
    """Else the searches below would find nothing because nothing was there."""
    assert kept.totals["accepted"] > 100
    assert kept.totals["exceptions"] > 300
    assert kept.totals["rejected"] > 3
    assert {"usage_events", "raw_usage", "exceptions", "ledger", "rollup_15m"} <= {table for table, _ in kept.rows}
    assert all(any(name == f for f, _ in kept.answers) for name in FORMATS)


def test_no_answer_repeats_a_word(kept: Kept) -> None:
    assert [
        (name, answer[answer.index(CANARY) - 200 :][:400]) for name, answer in kept.answers if CANARY in answer
    ] == []


def test_no_table_holds_a_word(kept: Kept) -> None:
    found = [(table, name, value[:300]) for table, row in kept.rows for name, value in row.items() if CANARY in value]
    assert found == []


def test_no_log_and_no_metric_holds_a_word(kept: Kept) -> None:
    assert [line for line in kept.logged if CANARY in line or USER in line] == []
    assert CANARY not in kept.metrics
    assert USER not in kept.metrics


def test_a_user_stands_on_the_events_row_and_what_is_summed_by_it_only(kept: Kept) -> None:
    where = {
        (table, name)
        for table, row in kept.rows
        for name, value in row.items()
        if USER in value and "usage_events" not in table
    }
    partitions = {
        name for table, row in kept.rows if "usage_events" in table for name, value in row.items() if USER in value
    }
    assert partitions == {"user_id"}
    assert {(table, name) for table, name in where if name not in IDENTITY.get(table, set())} == set()
    raw = [json.dumps(row) for table, row in kept.rows if table == "raw_usage"]
    assert raw
    assert not any(USER in one for one in raw)
