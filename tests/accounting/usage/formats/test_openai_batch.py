"""A line of a batch's output file is the response inside it, at the batch price."""

from __future__ import annotations

from typing import Any

import pytest

from accounting.usage.formats import openai_batch
from tests.accounting.usage.formats.family import NOBODY, chat, contradiction, counts, response


@pytest.mark.parametrize(
    ("inner", "surface"),
    [
        (chat(10, 2, 12), "chat_completions"),
        (response(10, 2, 12), "responses"),
        ({"object": "list", "model": "m-1", "usage": {"prompt_tokens": 10, "total_tokens": 10}}, "embeddings"),
    ],
)
def test_the_response_inside_is_read_by_its_shape(inner: dict[str, Any], surface: str) -> None:
    line = {"id": "batch_req_1", "custom_id": "a", "response": {"status_code": 200, "body": inner}, "error": None}
    assert openai_batch.recognises(line)
    [call] = openai_batch.read(line, NOBODY)
    assert (call.batch, call.surface, call.model, counts(call)["input_tokens"]) == (True, surface, "m-1", 10)


def test_a_failed_line_holds_no_response() -> None:
    line = {"id": "batch_req_1", "custom_id": "canary", "response": None, "error": {"message": "canary"}}
    assert contradiction(openai_batch, line) == ("unknown_format", "response.body is absent")
