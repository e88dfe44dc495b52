"""Batches over HTTP: how they may be written, what is answered, and what is kept of a bad one."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from urllib.parse import quote

import httpx
import pytest
import zstandard

from tests.events import body, event, lines

pytestmark = pytest.mark.storage

URL = "/v1/usage/events"
COMPRESS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress,
    "zstd": zstandard.ZstdCompressor(write_content_size=False).compress,
}


def test_an_array_is_answered_with_its_four_counts(ingest: httpx.Client) -> None:
    answer = ingest.post(URL, content=body([event("array-1"), event("array-2")]))
    assert answer.status_code == 200
    assert answer.json() == {"accepted": 2, "duplicates": 0, "conflicts": [], "rejected": []}


def test_one_event_without_an_array_is_a_batch_of_one(ingest: httpx.Client) -> None:
    answer = ingest.post(URL, json=event("single-1"))
    assert answer.json() == {"accepted": 1, "duplicates": 0, "conflicts": [], "rejected": []}


@pytest.mark.parametrize("kind", ["application/x-ndjson", "application/jsonl", "application/x-ndjson; charset=utf-8"])
def test_json_lines_are_told_by_their_content_type(ingest: httpx.Client, kind: str) -> None:
    sent = lines([event(f"{kind}-1"), event(f"{kind}-2")])
    answer = ingest.post(URL, content=sent, headers={"Content-Type": kind})
    assert answer.json() == {"accepted": 2, "duplicates": 0, "conflicts": [], "rejected": []}


@pytest.mark.parametrize("encoding", ["gzip", "zstd"])
def test_a_compressed_batch_is_the_same_batch(ingest: httpx.Client, encoding: str) -> None:
    sent = COMPRESS[encoding](body([event(f"{encoding}-{number}") for number in range(500)]))
    headers = {"Content-Encoding": encoding, "Content-Type": "application/json"}
    first = ingest.post(URL, content=sent, headers=headers)
    plain = ingest.post(URL, content=body([event(f"{encoding}-{number}") for number in range(500)]))
    assert first.json() == {"accepted": 500, "duplicates": 0, "conflicts": [], "rejected": []}
    assert plain.json() == {"accepted": 0, "duplicates": 500, "conflicts": [], "rejected": []}


def test_good_rows_are_kept_when_others_are_bad(ingest: httpx.Client) -> None:
    rows = [
        event("mixed-1"),
        event("mixed-2", usage={"cache_read_tokens": 2000}),
        event("mixed-3", surprise=1),
        event("mixed-4"),
    ]
    answer = ingest.post(URL, content=body(rows)).json()
    assert (answer["accepted"], answer["duplicates"], answer["conflicts"]) == (2, 0, [])
    assert [(row["index"], row["event_id"], row["field"]) for row in answer["rejected"]] == [
        (1, "mixed-2", "usage.input_tokens"),
        (2, "mixed-3", "surprise"),
    ]
    assert set(answer["rejected"][0]) == {"index", "event_id", "field", "value", "reason"}
    again = ingest.post(URL, content=body([event("mixed-1"), event("mixed-4")])).json()
    assert again["duplicates"] == 2


def test_the_same_event_is_a_duplicate_also_when_months_apart_are_sent_together(ingest: httpx.Client) -> None:
    march, june = event("march", occurred_at="2026-03-05T00:00:00Z"), event("june", occurred_at="2026-06-05T00:00:00Z")
    assert ingest.post(URL, content=body([march, june])).json()["accepted"] == 2
    assert ingest.post(URL, content=body([june, march])).json() == {
        "accepted": 0,
        "duplicates": 2,
        "conflicts": [],
        "rejected": [],
    }


def test_one_id_in_two_months_is_a_conflict(ingest: httpx.Client) -> None:
    ingest.post(URL, content=body([event("moved", occurred_at="2026-03-05T00:00:00Z")]))
    answer = ingest.post(URL, content=body([event("moved", occurred_at="2026-04-05T00:00:00Z")])).json()
    assert (answer["accepted"], answer["duplicates"]) == (0, 0)
    assert [(row["index"], row["event_id"]) for row in answer["conflicts"]] == [(0, "moved")]


def test_an_empty_batch_is_answered_with_zeros(ingest: httpx.Client) -> None:
    assert ingest.post(URL, content=b"[]").json() == {"accepted": 0, "duplicates": 0, "conflicts": [], "rejected": []}


@pytest.mark.parametrize("sent", [b"", b"{", b"hello", b"[1", b'"text"'])
def test_what_is_no_json_batch_is_refused_whole(ingest: httpx.Client, sent: bytes) -> None:
    answer = ingest.post(URL, content=sent)
    assert (answer.status_code, answer.json()["error"], answer.json()["field"]) == (400, "InvalidInput", "body")


@pytest.mark.parametrize("encoding", ["gzip", "zstd"])
@pytest.mark.parametrize("damage", ["cut", "wrong", "trailing", "empty"])
def test_damaged_compression_is_refused(ingest: httpx.Client, encoding: str, damage: str) -> None:
    good = COMPRESS[encoding](body([event(f"damaged-{encoding}-{damage}")]))
    sent = {"cut": good[:-3], "wrong": b"plain text", "trailing": good + b"more", "empty": b""}[damage]
    answer = ingest.post(URL, content=sent, headers={"Content-Encoding": encoding})
    assert answer.status_code == 400
    assert encoding in answer.json()["message"]
    assert ingest.post(URL, content=body([event(f"damaged-{encoding}-{damage}")])).json()["accepted"] == 1


def test_an_unknown_encoding_is_refused_by_name(ingest: httpx.Client) -> None:
    answer = ingest.post(URL, content=b"[]", headers={"Content-Encoding": "br"})
    assert (answer.status_code, answer.json()["field"], answer.json()["value"]) == (415, "Content-Encoding", "br")


def test_an_unknown_content_type_is_refused_by_name(ingest: httpx.Client) -> None:
    answer = ingest.post(URL, content=b"a,b", headers={"Content-Type": "text/csv"})
    assert (answer.status_code, answer.json()["field"], answer.json()["value"]) == (415, "Content-Type", "text/csv")


def test_a_void_reverses_an_event_and_says_so_again(ingest: httpx.Client) -> None:
    ingest.post(URL, content=body([event("to-void")]))
    first = ingest.post(f"{URL}/to-void/void", json={"reason": "a test call"})
    again = ingest.post(f"{URL}/to-void/void", json={"reason": "a test call"})
    assert first.json() == {
        "event_id": "to-void",
        "revision": 1,
        "status": "void",
        "reversed_charge_ids": ["to-void:0"],
    }
    assert again.json() == first.json()


def test_a_void_needs_a_reason_and_a_known_event(ingest: httpx.Client) -> None:
    ingest.post(URL, content=body([event("no-reason")]))
    for wrong in ({}, {"reason": ""}, {"reason": "x", "more": 1}, {"reason": "a\x00b"}):
        answer = ingest.post(f"{URL}/no-reason/void", json=wrong)
        assert answer.status_code == 400, wrong
    answer = ingest.post(f"{URL}/never-sent/void", json={"reason": "x"})
    assert (answer.status_code, answer.json()["error"]) == (404, "NotFound")


def test_a_revision_replaces_what_is_known(ingest: httpx.Client, admin: httpx.Client) -> None:
    # o3 since 2025-06-10: 2 dollars a million in, 8 out. 1,000 in and 100 out cost 0.0028, 500 in and 100 out 0.0018.
    ingest.post(URL, content=body([event("revised")]))
    answer = ingest.post(f"{URL}/revised/revisions", json=event("revised", usage={"input_tokens": 500}))
    assert answer.json() == {
        "event_id": "revised",
        "revision": 1,
        "status": "priced",
        "reversed_charge_ids": ["revised:0"],
    }
    assert admin.get(f"{URL}/revised/charge").json()["effective_cost"] == "0.0018"


def test_a_revision_is_refused_for_another_id_an_unknown_and_a_void_event(ingest: httpx.Client) -> None:
    ingest.post(URL, content=body([event("rev-a"), event("rev-b")]))
    ingest.post(f"{URL}/rev-b/void", json={"reason": "x"})
    other = ingest.post(f"{URL}/rev-a/revisions", json=event("rev-other"))
    unknown = ingest.post(f"{URL}/rev-none/revisions", json=event("rev-none"))
    gone = ingest.post(f"{URL}/rev-b/revisions", json=event("rev-b", usage={"input_tokens": 1}))
    bad = ingest.post(f"{URL}/rev-a/revisions", json=event("rev-a", usage={"output_tokens": -1}))
    assert [answer.status_code for answer in (other, unknown, gone, bad)] == [400, 404, 409, 400]
    assert other.json()["field"] == "event_id"
    assert bad.json()["field"] == "usage.output_tokens"


@pytest.mark.parametrize("event_id", ["with/slash", "with space?&#%", "ключ-日本", "a/void", "..%2Fx"])
def test_any_id_that_can_be_sent_can_be_named_in_a_path(
    ingest: httpx.Client, admin: httpx.Client, event_id: str
) -> None:
    assert ingest.post(URL, content=body([event(event_id)])).json()["accepted"] == 1
    charge = admin.get(f"{URL}/{quote(event_id, safe='')}/charge")
    assert (charge.status_code, charge.json()["event_id"]) == (200, event_id)


def test_a_charge_says_its_price_and_its_components(ingest: httpx.Client, admin: httpx.Client) -> None:
    # 600 x 2 + 400 x 0.5 + 100 x 8 dollars a million.
    ingest.post(URL, content=body([event("charged", usage={"cache_read_tokens": 400})]))
    charge = admin.get(f"{URL}/charged/charge").json()
    assert (charge["status"], charge["billing_currency"], charge["basis"]) == ("priced", "USD", "price_list")
    assert [charge[name] for name in ("list_cost", "contracted_cost", "effective_cost", "billed_cost")] == [
        "0.0022"
    ] * 4
    assert [
        (row["token_class"], row["quantity"], row["list_unit_price"], row["effective_cost"])
        for row in charge["components"]
    ] == [
        ("uncached_input", 600, "2", "0.0012"),
        ("cache_read", 400, "0.5", "0.0002"),
        ("output", 100, "8", "0.0008"),
    ]
    assert charge["effective_from"].startswith("2025-06-10")


def test_an_unpriced_charge_has_nulls_and_a_reason(ingest: httpx.Client, admin: httpx.Client) -> None:
    ingest.post(URL, content=body([event("unpriced", model="no-such-model")]))
    charge = admin.get(f"{URL}/unpriced/charge").json()
    assert (charge["status"], charge["effective_cost"], charge["components"]) == ("unpriced", None, [])
    assert charge["reason"] == "unknown_model"


def test_the_charge_of_an_unknown_event_is_not_found(admin: httpx.Client) -> None:
    answer = admin.get(f"{URL}/never-sent/charge")
    assert (answer.status_code, answer.json()["error"]) == (404, "NotFound")


@pytest.mark.parametrize("path", [f"{URL}/a%00b/charge", "/v1/reports/a%00b?from=2026-01-01&to=2026-02-01"])
def test_a_nul_in_a_path_is_no_fault_of_the_server(admin: httpx.Client, path: str) -> None:
    assert admin.get(path).status_code in (400, 404)
