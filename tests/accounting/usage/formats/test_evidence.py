"""Evidence holds numbers and words of a vocabulary, and no text that a person or a model wrote."""

from __future__ import annotations

import json
import math
from decimal import Decimal
from typing import Any

import msgspec

from accounting.usage.formats.evidence import allow


def test_numbers_flags_and_nulls_are_kept_under_any_name_and_of_strings_that_they_were_there() -> None:
    body = {
        "n": 1,
        "cost": 1.5e-06,
        "is_byok": False,
        "none": None,
        "text": "canary",
        "more": {"n": 2, "text": "canary"},
    }
    kept = {"n": 1, "cost": 1.5e-06, "is_byok": False, "none": None, "text": "", "more": {"n": 2, "text": ""}}
    assert allow(body) == kept
    assert allow(kept) == kept


def test_words_are_kept_under_the_named_keys_alone() -> None:
    body = {"service_tier": "flex", "model": "ft:gpt-4o:acme::A1b2", "content": "flex"}
    assert allow(body, {"service_tier", "model"}) == {
        "service_tier": "flex", "model": "ft:gpt-4o:acme::A1b2", "content": "",
    }  # fmt: skip


def test_a_sentence_under_a_named_key_is_emptied() -> None:
    body = {"model": "tell me a canary", "type": "x" * 129, "object": ["canary"]}
    assert allow(body, {"model", "type", "object"}) == {"model": "", "type": "", "object": []}


def test_keys_that_are_sentences_are_dropped_with_what_they_hold() -> None:
    assert allow({"my canary is": 1, "naïve": 1, "a" * 65: 1, "$ai_input": 3}) == {"$ai_input": 3}


def test_lists_keep_what_would_be_kept_alone() -> None:
    body = {"iterations": [{"type": "message", "n": 1}, "canary", {"text": "canary"}]}
    assert allow(body, {"type"}) == {"iterations": [{"type": "message", "n": 1}, {"text": ""}]}


def test_long_lists_and_deep_nesting_are_cut() -> None:
    assert len(allow({"n": [1] * 5_000})["n"]) == 1_000
    deep: dict[str, Any] = {}
    inner = deep
    for _ in range(500):
        inner["a"] = {}
        inner = inner["a"]
    assert json.dumps(allow(deep)) == '{"a": ' * 7 + "{}" + "}" * 7


def test_what_a_database_cannot_hold_as_a_number_is_text() -> None:
    kept = allow({"nan": math.nan, "inf": -math.inf, "big": 10**30, "huge": 10**400, "exact": Decimal("0.1")})
    assert kept == {"nan": "nan", "inf": "-inf", "big": str(10**30), "huge": "an integer of 1329 bits", "exact": 0.1}
    assert msgspec.json.encode(kept)
