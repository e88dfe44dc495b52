"""Bedrock: Converse excludes the cache from its input and includes it in its total; InvokeModel keeps each vendor's shape."""

from __future__ import annotations

from typing import Any

from accounting.usage.formats import bedrock_converse, bedrock_invoke
from accounting.usage.wire import Context
from tests.accounting.usage.formats.family import NOBODY, contradiction, counts, only


def converse(**usage: Any) -> dict[str, Any]:
    return {
        "output": {"message": {"role": "assistant", "content": [{"text": "canary-answer"}]}},
        "stopReason": "end_turn",
        "usage": usage,
        "serviceTier": {"type": "flex"},
    }


def test_writes_have_the_lifetime_that_is_stated() -> None:
    given = converse(
        inputTokens=3,
        cacheReadInputTokens=100,
        cacheWriteInputTokens=2_074,
        outputTokens=288,
        totalTokens=2_465,
        cacheDetails=[{"ttl": "5m", "inputTokens": 1_000}, {"ttl": "1h", "inputTokens": 1_000}],
    )
    call = only(bedrock_converse, given, Context(model="us.anthropic.claude-sonnet-4-6", region="us-east-1"))
    assert counts(call) == {
        "input_tokens": 2_177,
        "cache_read_tokens": 100,
        "cache_write_5m_tokens": 1_000,
        "cache_write_1h_tokens": 1_000,
        "cache_write_tokens": 74,
        "output_tokens": 288,
    }
    assert (call.provider, call.surface, call.service_tier) == ("aws", "converse", "flex")


def test_the_total_holds_the_cache() -> None:
    given = converse(inputTokens=3, outputTokens=12, totalTokens=15, cacheReadInputTokens=13_216)
    assert contradiction(bedrock_converse, given) == (
        "tokens_do_not_add_up",
        "totalTokens 15 <> inputTokens 3 + cacheReadInputTokens 13216 + cacheWriteInputTokens 0 + outputTokens 12 = 13231",
    )


def test_fields_sent_twice_agree() -> None:
    given = converse(inputTokens=3, outputTokens=1, totalTokens=9, cacheReadInputTokens=5, cacheReadInputTokenCount=6)
    assert contradiction(bedrock_converse, given) == (
        "sources_disagree",
        "cacheReadInputTokens 5 <> cacheReadInputTokenCount 6",
    )


def test_latency_optimised_inference_is_a_tier_of_its_own() -> None:
    given = converse(inputTokens=1, outputTokens=1, totalTokens=2) | {"performanceConfig": {"latency": "optimized"}}
    assert only(bedrock_converse, given).service_tier == "latency_optimized"


def test_the_last_event_of_a_stream_carries_the_usage() -> None:
    events = [
        {"messageStart": {"role": "assistant"}},
        {"contentBlockDelta": {"delta": {"text": "canary"}, "contentBlockIndex": 0}},
        {"metadata": {"usage": {"inputTokens": 4, "outputTokens": 6, "totalTokens": 10}, "metrics": {"latencyMs": 1}}},
    ]
    [call] = bedrock_converse.read(events, NOBODY)
    assert counts(call) == {"input_tokens": 4, "output_tokens": 6}


def test_usage_of_a_server_tool_is_a_finding() -> None:
    given = converse(inputTokens=1, outputTokens=1, totalTokens=2, serverToolUsage={"nova_grounding": 2})
    assert [finding.reason for finding in only(bedrock_converse, given).findings] == ["unpriced_units"]


CLAUDE = {
    "id": "msg_bdrk_01",
    "type": "message",
    "model": "claude-sonnet-4-6",
    "usage": {"input_tokens": 3, "cache_read_input_tokens": 9_511, "output_tokens": 7},
}


def test_claude_keeps_anthropic_s_shape() -> None:
    call = only(bedrock_invoke, CLAUDE)
    assert counts(call) == {"input_tokens": 9_514, "cache_read_tokens": 9_511, "output_tokens": 7}
    assert (call.provider, call.surface, call.model) == ("aws", "invoke_model", "claude-sonnet-4-6")


def test_metrics_of_the_last_chunk_are_held_against_claude_s_own() -> None:
    def events(output: int) -> list[dict[str, Any]]:
        return [
            {"type": "message_start", "message": CLAUDE},
            {"type": "message_delta", "usage": {"output_tokens": 40}},
            {
                "type": "message_stop",
                "amazon-bedrock-invocationMetrics": {"inputTokenCount": 3, "outputTokenCount": output},
            },
        ]

    [call] = bedrock_invoke.read(events(40), NOBODY)
    assert counts(call)["output_tokens"] == 40
    assert contradiction(bedrock_invoke, events(41)) == (
        "tokens_do_not_add_up",
        "amazon-bedrock-invocationMetrics.outputTokenCount 41 <> usage.output_tokens 40",
    )


def test_other_vendors_have_their_own_fields() -> None:
    nova = {
        "usage": {"inputTokens": 5, "outputTokens": 6, "cacheReadInputTokenCount": 7, "cacheWriteInputTokenCount": 8}
    }
    assert counts(only(bedrock_invoke, nova)) == {
        "input_tokens": 20,
        "cache_read_tokens": 7,
        "cache_write_tokens": 8,
        "output_tokens": 6,
    }
    llama = {"generation": "canary", "prompt_token_count": 5, "generation_token_count": 6}
    assert counts(only(bedrock_invoke, llama)) == {"input_tokens": 5, "output_tokens": 6}
    titan = {"inputTextTokenCount": 5, "results": [{"tokenCount": 4, "outputText": "canary"}, {"tokenCount": 2}]}
    assert counts(only(bedrock_invoke, titan)) == {"input_tokens": 5, "output_tokens": 6}
    chunk = {"outputText": "canary", "inputTextTokenCount": 5, "completionReason": "FINISH"}
    metrics = {"amazon-bedrock-invocationMetrics": {"inputTokenCount": 5, "outputTokenCount": 6}}
    for streamed in ({"totalOutputTextTokenCount": 6}, {"totalOutputTextTokenCount": 6} | metrics, metrics):
        [call] = bedrock_invoke.read([{"outputText": "canary"}, chunk | streamed], NOBODY)
        assert counts(call) == {"input_tokens": 5, "output_tokens": 6}
        [again] = bedrock_invoke.read(call.usage_body, NOBODY)
        assert again.usage == call.usage
    assert counts(only(bedrock_invoke, {"inputTextTokenCount": 5, "embedding": [0.5]})) == {"input_tokens": 5}
    stream = [
        {"generation": "canary"},
        {"amazon-bedrock-invocationMetrics": {"inputTokenCount": 5, "outputTokenCount": 6}},
    ]
    assert counts(bedrock_invoke.read(stream, NOBODY)[0]) == {"input_tokens": 5, "output_tokens": 6}


def test_bedrock_s_own_count_is_held_against_that_of_every_vendor() -> None:
    titan = {
        "inputTextTokenCount": 5,
        "results": [{"tokenCount": 4}],
        "amazon-bedrock-invocationMetrics": {"outputTokenCount": 6},
    }
    reason, equation = contradiction(bedrock_invoke, titan)
    assert (reason, "6" in equation, "4" in equation) == ("tokens_do_not_add_up", True, True)


def test_converse_and_invoke_recognise_different_bodies() -> None:
    bodies = [converse(inputTokens=1, outputTokens=1, totalTokens=2), CLAUDE, {"inputTextTokenCount": 5}]
    assert [bedrock_converse.recognises(given) for given in bodies] == [True, False, False]
    assert [bedrock_invoke.recognises(given) for given in bodies] == [False, True, True]
