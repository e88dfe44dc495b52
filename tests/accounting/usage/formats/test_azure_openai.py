"""Azure serves OpenAI's shapes; only chat bodies name the model behind a deployment."""

from __future__ import annotations

from accounting.usage.formats import azure_openai
from accounting.usage.wire import Context
from tests.accounting.usage.formats.family import chat, counts, only, response


def test_a_chat_body_names_the_model_served_and_the_context_the_deployment() -> None:
    body = chat(10, 2, 12) | {"model": "gpt-4o-2024-11-20", "prompt_filter_results": [{"prompt_index": 0}]}
    assert azure_openai.recognises(body)
    call = only(azure_openai, body, Context(model="my-deployment"))
    assert (call.provider, call.surface) == ("azure", "chat_completions")
    assert (call.model, call.response_model) == ("my-deployment", "gpt-4o-2024-11-20")
    assert counts(call) == {"input_tokens": 10, "output_tokens": 2}


def test_a_response_object_names_the_deployment_and_the_context_the_model() -> None:
    call = only(azure_openai, response(10, 2, 12) | {"model": "my-deployment"}, Context(model="gpt-5"))
    assert (call.model, call.response_model, call.surface) == ("my-deployment", "gpt-5", "responses")
    assert only(azure_openai, response(10, 2, 12) | {"model": "gpt-5"}).model == "gpt-5"


def test_embeddings_are_azures_too() -> None:
    body = {"object": "list", "model": "text-embedding-3-small", "usage": {"prompt_tokens": 4, "total_tokens": 4}}
    call = only(azure_openai, body)
    assert (call.provider, call.surface, counts(call)) == ("azure", "embeddings", {"input_tokens": 4})


def test_the_first_chunk_of_a_stream_has_no_id_and_no_model() -> None:
    opening = {"id": "", "model": "", "object": "", "choices": [], "prompt_filter_results": [{"prompt_index": 0}]}
    call = only(azure_openai, [opening, chat(10, 2, 12)])
    assert (call.response_id, call.model) == ("chatcmpl-1", "m-1")
