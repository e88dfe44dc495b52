"""Embeddings: prompt tokens, and nothing else."""

from __future__ import annotations

from accounting.usage.formats import openai_embeddings
from tests.accounting.usage.formats.family import contradiction, counts, only

BODY = {
    "object": "list",
    "data": [{"object": "embedding", "embedding": [0.125, 0.5], "index": 0}],
    "model": "text-embedding-3-small",
    "usage": {"prompt_tokens": 4, "total_tokens": 4},
}


def test_only_the_prompt_counts() -> None:
    call = only(openai_embeddings, BODY)
    assert counts(call) == {"input_tokens": 4}
    assert (call.surface, call.model) == ("embeddings", "text-embedding-3-small")
    assert call.usage_body == {
        "object": "list",
        "model": "text-embedding-3-small",
        "usage": {"prompt_tokens": 4, "total_tokens": 4},
    }


def test_the_total_is_the_prompt() -> None:
    body = BODY | {"usage": {"prompt_tokens": 4, "total_tokens": 5}}
    assert contradiction(openai_embeddings, body) == ("tokens_do_not_add_up", "total_tokens 5 <> prompt_tokens 4")
    body = BODY | {"usage": {"prompt_tokens": 4, "completion_tokens": 0, "total_tokens": 4}}
    assert counts(only(openai_embeddings, body)) == {"input_tokens": 4}
