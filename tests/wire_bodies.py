"""A plausible body of every wire format, with words of people in it that must never be kept.

Each body is one call of the moment AT with id `name-n`, 1,000 tokens in and 100 out where the format has a total, and text that no
reader may keep: WORDS stand in prompts, answers, tool arguments and metadata.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

Json = dict[str, Any]

AT = 1_782_900_000
"""2026-07-01T10:00:00Z in seconds."""
ISO = "2026-07-01T10:00:00Z"
WORDS = {
    "prompt": "canary-prompt words of a person",
    "answer": "canary-answer words of a model",
    "tool": '{"city": "canary-tool"}',
    "metadata": "canary-metadata of a product",
}
CANARY = "canary-"

_MESSAGE = {"role": "assistant", "content": WORDS["answer"]}
_TOOL = {"id": "call_1", "type": "function", "function": {"name": "canary-tool-name", "arguments": WORDS["tool"]}}
_CHOICE = {"index": 0, "finish_reason": "stop", "message": {**_MESSAGE, "tool_calls": [_TOOL]}}
_CHAT_USAGE = {
    "prompt_tokens": 1_000,
    "completion_tokens": 100,
    "total_tokens": 1_100,
    "prompt_tokens_details": {"cached_tokens": 400},
    "completion_tokens_details": {"reasoning_tokens": 20},
}
_EXTRA = {
    "prompt": WORDS["prompt"],
    "metadata": {"note": WORDS["metadata"]},
    "messages": [{"content": WORDS["prompt"]}],
}


def _chat(name: str, n: int, usage: Mapping[str, Any] = (), choice: Mapping[str, Any] = (), **more: Any) -> Json:  # type: ignore[assignment]
    body = {
        "id": f"{name}-{n}",
        "object": "chat.completion",
        "created": AT,
        "model": "o3",
        "choices": [{**_CHOICE, **dict(choice)}],
        "usage": {**_CHAT_USAGE, **dict(usage)},
    }
    return {**body, **_EXTRA, **more}


def _responses_usage() -> Json:
    return {
        "input_tokens": 1_000,
        "output_tokens": 100,
        "total_tokens": 1_100,
        "input_tokens_details": {"cached_tokens": 400},
        "output_tokens_details": {"reasoning_tokens": 20},
    }


def _responses(name: str, n: int) -> Json:
    output = [
        {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {"query": WORDS["prompt"]}},
        {"type": "function_call", "name": "canary-tool-name", "arguments": WORDS["tool"]},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": WORDS["answer"]}]},
    ]
    body = {"id": f"{name}-{n}", "object": "response", "created_at": AT, "status": "completed", "model": "o3"}
    return {**body, "output": output, "usage": _responses_usage(), "instructions": WORDS["prompt"], **_EXTRA}


def _realtime(name: str, n: int) -> Json:
    usage = {
        "total_tokens": 1_100,
        "input_tokens": 1_000,
        "output_tokens": 100,
        "input_token_details": {"text_tokens": 600, "audio_tokens": 400, "cached_tokens": 0},
        "output_token_details": {"text_tokens": 40, "audio_tokens": 60},
    }
    item = {"type": "message", "content": [{"type": "audio", "transcript": WORDS["answer"]}]}
    response = {"id": f"{name}-{n}", "object": "realtime.response", "status": "completed", "output": [item]}
    return {"type": "response.done", "response": {**response, "model": "gpt-realtime", "usage": usage, **_EXTRA}}


def _images(name: str, n: int) -> Json:
    usage = {"input_tokens": 1_000, "output_tokens": 100, "total_tokens": 1_100}
    split = {"input_tokens_details": {"text_tokens": 900, "image_tokens": 100}}
    data = [{"b64_json": "canary-answer", "revised_prompt": WORDS["prompt"]}]
    return {
        "id": f"{name}-{n}",
        "created": AT,
        "model": "gpt-image-1",
        "data": data,
        "usage": {**usage, **split},
        **_EXTRA,
    }


def _embeddings(name: str, n: int) -> Json:
    body = {"id": f"{name}-{n}", "object": "list", "model": "text-embedding-3-small", "input": WORDS["prompt"]}
    return {**body, "created": AT, "data": [], "usage": {"prompt_tokens": 1_000, "total_tokens": 1_000}, **_EXTRA}


def _anthropic(name: str, n: int) -> Json:
    usage = {
        "input_tokens": 600,
        "cache_read_input_tokens": 300,
        "cache_creation_input_tokens": 100,
        "cache_creation": {"ephemeral_5m_input_tokens": 60, "ephemeral_1h_input_tokens": 40},
        "output_tokens": 100,
        "service_tier": "standard",
        "server_tool_use": {"web_search_requests": 1},
    }
    content = [
        {
            "type": "tool_use",
            "id": "tu_1",
            "name": "canary-tool-name",
            "input": {"city": WORDS["tool"], "canary-tool": 4242},
        },
        {"type": "text", "text": WORDS["answer"]},
    ]
    body = {"id": f"{name}-{n}", "type": "message", "role": "assistant", "model": "claude-haiku-4-5"}
    return {**body, "content": content, "stop_reason": "end_turn", "usage": usage, **_EXTRA}


def _gemini(name: str, n: int) -> Json:
    usage = {
        "promptTokenCount": 1_000,
        "candidatesTokenCount": 80,
        "thoughtsTokenCount": 20,
        "cachedContentTokenCount": 400,
        "totalTokenCount": 1_100,
        "promptTokensDetails": [{"modality": "TEXT", "tokenCount": 1_000}],
    }
    parts = [
        {"text": WORDS["answer"]},
        {"functionCall": {"name": "canary-tool-name", "args": {"city": WORDS["tool"], "canary-tool": 4242}}},
    ]
    grounding = {"webSearchQueries": [WORDS["prompt"]]}
    candidate = {"content": {"role": "model", "parts": parts}, "groundingMetadata": grounding}
    body = {"responseId": f"{name}-{n}", "modelVersion": "gemini-2.5-flash", "createTime": ISO}
    return {**body, "candidates": [candidate], "usageMetadata": usage, **_EXTRA}


def _converse(name: str, n: int) -> Json:
    usage = {"inputTokens": 600, "cacheReadInputTokens": 400, "outputTokens": 100, "totalTokens": 1_100}
    output = {"message": {"role": "assistant", "content": [{"text": WORDS["answer"]}]}}
    request = {"ResponseMetadata": {"RequestId": f"{name}-{n}"}, "modelId": "anthropic.claude-haiku-4-5"}
    return {**request, "output": output, "stopReason": "end_turn", "usage": usage, **_EXTRA}


def _cohere(name: str, n: int) -> Json:
    usage = {
        "billed_units": {"input_tokens": 1_000, "output_tokens": 100},
        "tokens": {"input_tokens": 1_000, "output_tokens": 100},
    }
    message = {"role": "assistant", "content": [{"type": "text", "text": WORDS["answer"]}]}
    return {"id": f"{name}-{n}", "model": "command-a", "message": message, "usage": usage, **_EXTRA}


def _snowflake(name: str, n: int) -> Json:
    usage = {"prompt_tokens": 600, "prompt_tokens_details": {"cached_tokens": 400}}
    return _chat(name, n, usage, model="claude-4-sonnet")


def _litellm(name: str, n: int) -> Json:
    keys = {"user_api_key_user_id": "user-17", "user_api_key_alias": "team-key"}
    return {
        "id": f"{name}-{n}",
        "litellm_call_id": f"call-{n}",
        "call_type": "acompletion",
        "stream": False,
        "status": "success",
        "custom_llm_provider": "openai",
        "model": "o3",
        "prompt_tokens": 1_000,
        "completion_tokens": 100,
        "total_tokens": 1_100,
        "startTime": AT,
        "endTime": AT + 2,
        "cache_hit": False,
        "response_cost": 0.0022,
        "end_user": "user-17",
        "messages": [{"role": "user", "content": WORDS["prompt"]}],
        "response": {"model": "o3", "choices": [_CHOICE]},
        "model_parameters": {"tools": [WORDS["tool"]], "stop": WORDS["prompt"]},
        "metadata": {**keys, "requester_metadata": {"note": WORDS["metadata"]}, "usage_object": dict(_CHAT_USAGE)},
        "error_str": WORDS["answer"],
    }


def _langfuse(name: str, n: int) -> Json:
    return {
        "id": f"{name}-{n}",
        "traceId": "4df0ac775ee2ae7a67120b7f8e16168c",
        "type": "GENERATION",
        "name": WORDS["prompt"],
        "startTime": ISO,
        "endTime": "2026-07-01T10:00:02Z",
        "model": "o3",
        "input": [{"role": "user", "content": WORDS["prompt"]}],
        "output": {"content": WORDS["answer"], "tool_calls": [_TOOL]},
        "metadata": {
            "note": WORDS["metadata"],
            "attributes": {"gen_ai.system": "openai", "gen_ai.prompt": WORDS["prompt"]},
        },
        "modelParameters": {"stop": WORDS["prompt"]},
        "statusMessage": WORDS["answer"],
        "usageDetails": {"input": 600, "input_cached_tokens": 400, "output": 100, "total": 1_100},
    }


def _posthog(name: str, n: int) -> Json:
    properties = {
        "$ai_trace_id": f"{name}-{n}",
        "$ai_provider": "openai",
        "$ai_model": "o3",
        "$ai_input_tokens": 1_000,
        "$ai_output_tokens": 100,
        "$ai_cache_read_input_tokens": 400,
        "$ai_input": [{"role": "user", "content": WORDS["prompt"]}],
        "$ai_output_choices": [_CHOICE],
        "$ai_tools": [WORDS["tool"]],
        "note": WORDS["metadata"],
    }
    return {
        "event": "$ai_generation",
        "uuid": f"{name}-{n}",
        "timestamp": ISO,
        "distinct_id": "user-17",
        "properties": properties,
    }


def _claude_code(name: str, n: int) -> Json:
    record = {"type": "assistant", "uuid": f"u-{n}", "sessionId": "s-1", "requestId": f"r-{n}", "timestamp": ISO}
    return {**record, "cwd": "/home/canary-metadata", "message": _anthropic(name, n)}


def span(n: int, attributes: Mapping[str, Any]) -> Json:
    """One span in OTLP/JSON, with events that quote the conversation."""
    texts = {
        "gen_ai.prompt": WORDS["prompt"],
        "gen_ai.input.messages": WORDS["prompt"],
        "gen_ai.output.messages": WORDS["answer"],
        "gen_ai.tool.call.arguments": WORDS["tool"],
        "llm.input_messages.0.message.content": WORDS["prompt"],
        "output.value": WORDS["answer"],
        "metadata": WORDS["metadata"],
    }
    return {
        "traceId": "4df0ac775ee2ae7a67120b7f8e16168c",
        "spanId": f"{n:016x}",
        "name": f"chat {WORDS['prompt']}",
        "kind": 3,
        "startTimeUnixNano": str(AT * 1_000_000_000 + n),
        "endTimeUnixNano": str((AT + 2) * 1_000_000_000),
        "attributes": [{"key": key, "value": _value(value)} for key, value in {**texts, **attributes}.items()],
        "events": [{"name": "gen_ai.choice", "attributes": [{"key": "content", "value": _value(WORDS["answer"])}]}],
        "status": {"code": 1, "message": WORDS["answer"]},
    }


def _value(given: Any) -> Json:
    return {"intValue": str(given)} if isinstance(given, int) else {"stringValue": given}


def export(*spans: Json) -> Json:
    """An OTLP/JSON request of these spans."""
    resource = {"attributes": [{"key": "process.command_line", "value": _value(WORDS["metadata"])}]}
    return {"resourceSpans": [{"resource": resource, "scopeSpans": [{"spans": list(spans)}]}]}


def _otlp(name: str, n: int) -> Json:
    attributes = {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "openai",
        "gen_ai.request.model": "o3",
        "gen_ai.response.id": f"{name}-{n}",
        "gen_ai.usage.input_tokens": 1_000,
        "gen_ai.usage.output_tokens": 100,
        "gen_ai.usage.cache_read.input_tokens": 400,
        "user.id": "user-17",
    }
    return export(span(n, attributes))


def _openinference(name: str, n: int) -> Json:
    attributes = {
        "openinference.span.kind": "LLM",
        "llm.provider": "openai",
        "llm.model_name": "o3",
        "llm.token_count.prompt": 1_000,
        "llm.token_count.completion": 100,
        "llm.token_count.total": 1_100,
        "llm.token_count.prompt_details.cache_read": 400,
        "user.id": "user-17",
    }
    return export(span(n + 1_000_000, attributes))


def _invoke(name: str, n: int) -> Json:
    return {**_anthropic(name, n), "id": f"msg_bdrk_{name}_{n}"}


BODIES: Mapping[str, Callable[[str, int], Json]] = {
    "openai_chat": _chat,
    "openai_responses": _responses,
    "openai_realtime": _realtime,
    "openai_images": _images,
    "openai_embeddings": _embeddings,
    "openai_batch": lambda name, n: {
        "id": f"b-{n}",
        "custom_id": "canary-metadata",
        "response": {"body": _chat(name, n)},
    },
    "azure_openai": lambda name, n: _chat(name, n, prompt_filter_results=[], choice={"content_filter_results": {}}),
    "anthropic_messages": _anthropic,
    "gemini": _gemini,
    "bedrock_converse": _converse,
    "bedrock_invoke": _invoke,
    "mistral": lambda name, n: _chat(name, n, {"num_cached_tokens": 400}),
    "deepseek": lambda name, n: _chat(name, n, {"prompt_cache_hit_tokens": 400, "prompt_cache_miss_tokens": 600}),
    "xai": lambda name, n: _chat(name, n, {"num_sources_used": 0, "total_tokens": 1_120}),
    "groq": lambda name, n: _chat(name, n, {"queue_time": 0.01}),
    "cohere": _cohere,
    "openrouter": lambda name, n: _chat(name, n, {"is_byok": False, "cost": 0.0022}, model="openai/o3"),
    "openai_compatible": lambda name, n: _chat(name, n, {"cached_tokens": 400}),
    "vllm": lambda name, n: _chat(name, n, prompt_logprobs=None),
    "sglang": lambda name, n: _chat(name, n, choice={"matched_stop": None}),
    "snowflake_cortex": _snowflake,
    "litellm": _litellm,
    "langfuse": _langfuse,
    "posthog": _posthog,
    "claude_code": _claude_code,
    "openinference": _openinference,
    "otlp": _otlp,
}
"""Format -> body of the call n; ids differ by format."""


def body(name: str, n: int = 1) -> Json:
    """The body of call n in format `name`."""
    return BODIES[name](name, n)


def sent(name: str, n: int = 1) -> Json:
    """The same with a context that says when, a second earlier for each n, and who."""
    at = datetime.fromtimestamp(AT - n, UTC).isoformat()
    return {"response": body(name, n), "context": {"occurred_at": at, "model": "o3", "user_id": "user-17"}}


Place = tuple[Any, Any]
"""(container, key or position) of one value of a body."""


def places(tree: Any) -> Iterator[Place]:
    """Every value inside a body, by where it stands."""
    inside = tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ()
    for key, value in inside:
        yield tree, key
        yield from places(value)


def variants(name: str) -> Iterator[Any]:
    """The body as it is, and with each whole number in it made negative, then text."""
    yield sent(name, 1)
    yield body(name, 2)
    number = 10
    for place, (container, key) in enumerate(list(places(body(name)))):
        if type(container[key]) is int or key == "intValue":
            for value in (-7, WORDS["prompt"], {"text": WORDS["answer"]}):
                number += 1
                broken = copy.deepcopy(sent(name, number))
                inner, at = list(places(broken["response"]))[place]
                inner[at] = value
                yield broken
