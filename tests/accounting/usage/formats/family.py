"""Hand-made bodies of the OpenAI family, and what a test looks at in a call."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from accounting.usage.wire import Call, Context, UsageContradiction

NOBODY = Context()


def chat(prompt: Any, completion: Any, total: Any = None, **usage: Any) -> dict[str, Any]:
    """A chat completion; `total` is left out where it is None, further keywords are fields of its usage."""
    counts = {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": total, **usage}
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1_780_000_000,
        "model": "m-1",
        "choices": [
            {"index": 0, "message": {"role": "assistant", "content": "canary-answer"}, "finish_reason": "stop"}
        ],
        "usage": {name: value for name, value in counts.items() if value is not None},
    }


def response(read: Any, written: Any, total: Any = None, output: Any = (), **usage: Any) -> dict[str, Any]:
    """A response object with these output items."""
    counts = {"input_tokens": read, "output_tokens": written, "total_tokens": total, **usage}
    return {
        "id": "resp_1",
        "object": "response",
        "created_at": 1_780_000_000,
        "status": "completed",
        "model": "m-1",
        "output": list(output),
        "usage": {name: value for name, value in counts.items() if value is not None},
    }


def counts(call: Call) -> dict[str, Any]:
    """The counts of a call that are not 0 by default; `cache_read_tokens: None` is unknown."""
    assert call.usage is not None
    return dict(msgspec.to_builtins(call.usage))


def only(module: Any, body: Any, context: Context = NOBODY) -> Call:
    """The one call of a body, read again from its own evidence to the same counts."""
    [call] = module.read(body, context)
    [again] = module.read(call.usage_body, context)
    assert (again.usage, again.usage_body) == (call.usage, call.usage_body)
    assert "canary" not in str(call.usage_body)
    assert isinstance(call, Call)
    return call


def contradiction(module: Any, body: Any, context: Context = NOBODY) -> tuple[str, str]:
    """(reason, equation) of a body that contradicts itself; its evidence must hold no text."""
    with pytest.raises(UsageContradiction) as caught:
        module.read(body, context)
    assert "canary" not in str(caught.value.usage_body) + str(caught.value)
    return caught.value.reason, caught.value.equation
