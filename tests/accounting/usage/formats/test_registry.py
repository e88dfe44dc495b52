"""One rule a provider and surface, one format a body, and evidence that any format can read again."""

from __future__ import annotations

import json
from collections import Counter
from types import ModuleType
from typing import Any

import pytest

from accounting.usage.formats import anthropic_messages, deepseek, openai_chat, openai_compatible, openrouter, registry
from accounting.usage.wire import Call, Context, UsageContradiction
from tests.accounting.usage.formats.family import NOBODY, chat, response
from tests.shared_data import shared

ORDER = [module.NAME for module in registry.MODULES]


def payloads() -> list[dict[str, Any]]:
    """The bodies of the usage-payloads set."""
    lines = shared("usage-payloads/usage_payloads.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line)["body"] for line in lines]


def cases() -> list[tuple[str, Any]]:
    """(format, body) of the known-answer cases that carry a body."""
    lines = shared("cases/cases.jsonl").read_text(encoding="utf-8").splitlines()
    return [(case["format"], case["payload"]) for case in map(json.loads, lines) if "payload" in case]


def test_no_name_and_no_provider_and_surface_has_two_modules() -> None:
    assert len(set(ORDER)) == len(ORDER)
    keys = Counter(key for module in registry.MODULES for key in module.KEYS)
    assert [key for key, times in keys.items() if times > 1] == []


@pytest.mark.parametrize("name", ORDER)
def test_every_module_says_what_adds_up_to_what(name: str) -> None:
    module = registry.FORMATS[name]
    assert isinstance(module.IDENTITY, str)
    assert module.__doc__ is not None
    assert module.__doc__.splitlines()[0].count("?") == 1


def test_a_shape_that_many_providers_send_is_read_by_the_rule_of_the_one_named() -> None:
    assert registry.choose("openai_chat", Context(provider="deepseek")) is deepseek
    assert registry.choose("openai_chat", Context(provider="DeepSeek")) is deepseek
    assert registry.choose("openai_chat", Context(provider="together")) is openai_compatible
    assert registry.choose("anthropic_messages", Context(provider="openrouter")) is openrouter
    assert registry.choose("openai_chat", Context(provider="nobody-knows")) is openai_chat
    assert registry.choose("openai_chat", NOBODY) is openai_chat


def test_a_providers_own_format_is_read_as_that_whoever_is_named() -> None:
    assert registry.choose("vllm", Context(provider="openai")).NAME == "vllm"
    assert registry.choose("litellm", Context(provider="openai")).NAME == "litellm"
    with pytest.raises(KeyError):
        registry.choose("no-such-format", NOBODY)


MARKED: list[tuple[dict[str, Any], str]] = [
    (chat(1, 1, 2), "openai_chat"),
    (response(1, 1, 2), "openai_responses"),
    ({"type": "response.completed", "response": response(1, 1, 2)}, "openai_responses"),
    (chat(1, 1, 2, num_sources_used=0), "xai"),
    (response(1, 1, 2, num_server_side_tools_used=0), "xai"),
    (chat(1, 1, 2, is_byok=False), "openrouter"),
    (chat(1, 1, 2) | {"prompt_logprobs": None}, "vllm"),
    (chat(1, 1, 2) | {"choices": [{"index": 0, "matched_stop": None}]}, "sglang"),
    (chat(1, 1, 2) | {"choices": [{"index": 0, "content_filter_results": {}}]}, "azure_openai"),
    ({"type": "response.done", "response": {"object": "realtime.response"}}, "openai_realtime"),
    ({"usage": {"billed_units": {"input_tokens": 1}}}, "cohere"),
    ({"custom_id": "a", "response": {"body": chat(1, 1, 2)}}, "openai_batch"),
]


@pytest.mark.parametrize(("body", "name"), MARKED)
def test_a_vendors_own_fields_tell_its_format(body: dict[str, Any], name: str) -> None:
    found = registry.detect(body)
    assert found is registry.FORMATS[name]
    assert [module.NAME for module in registry.MODULES if module.recognises(body)] == [name]


def test_a_stream_is_told_by_its_last_telling_chunk() -> None:
    opening = {"object": "chat.completion.chunk", "choices": [{"delta": {}}]}
    found = registry.detect([opening, chat(1, 1, 2, prompt_cache_hit_tokens=1, prompt_cache_miss_tokens=0)])
    assert found is deepseek
    found = registry.detect([{"type": "message_start", "message": {"type": "message", "usage": {"input_tokens": 1}}}])
    assert found in (None, anthropic_messages)


@pytest.mark.parametrize("body", [{}, {"a": 1}, {"usage": 5}, {"usage": {}}, {"response": []}, {"choices": "x"}, []])
def test_a_body_of_no_known_format_is_nobodys(body: Any) -> None:
    assert registry.detect(body) is None


def test_no_real_body_is_recognised_by_two_formats_and_none_is_left_over() -> None:
    told = [[module.NAME for module in registry.MODULES if module.recognises(body)] for body in payloads()]
    assert [names for names in told if len(names) != 1] == []
    bodies = [body for _, body in cases() if isinstance(body, dict)]
    told = [[module.NAME for module in registry.MODULES if module.recognises(body)] for body in bodies]
    assert [names for names in told if len(names) != 1] == []


def _read(module: ModuleType, body: Any) -> list[Call]:
    try:
        found: list[Call] = module.read(body, NOBODY)
    except UsageContradiction:
        return []
    return found


def test_the_evidence_of_every_real_body_reads_again_to_the_same_counts_and_the_same_evidence() -> None:
    bodies: list[Any] = [*payloads(), *(body for _, body in cases())]
    differing = []
    for body in bodies:
        module = registry.detect(body)
        assert module is not None
        for place, call in enumerate(_read(module, body)):
            again = _read(module, json.loads(json.dumps(call.usage_body)))
            seen = [(one.usage, one.part, one.usage_body) for one in again if one.part == call.part]
            if (call.usage, call.part, call.usage_body) not in seen:
                differing.append((module.NAME, place, call.usage_body))
    assert differing == []


def _with_canaries(value: Any) -> Any:
    """The value with text of a person wherever a body may hold some."""
    if isinstance(value, dict):
        inner = {key: _with_canaries(one) for key, one in value.items()}
        return {**inner, "note": "a canary sings", "canary word": 1, "texts": ["canary", {"content": "canary"}]}
    if isinstance(value, list):
        return [_with_canaries(one) for one in value]
    return "a canary sings" if value in ("ok", "x", "a", "b", "c") else value


def test_no_text_of_any_format_reaches_evidence_findings_or_contradictions() -> None:
    bodies: list[Any] = [*payloads(), *(body for _, body in cases())]
    bodies += [body for body, _ in MARKED]
    leaking = []
    for body in bodies:
        module = registry.detect(body)
        assert module is not None
        try:
            calls = module.read(_with_canaries(body), NOBODY)
            kept = [(call.usage_body, call.findings, call.tags) for call in calls]
        except UsageContradiction as contradiction:
            kept = [(contradiction.usage_body, str(contradiction))]
        if "canary" in str(kept):
            leaking.append((module.NAME, kept))
    assert leaking == []
