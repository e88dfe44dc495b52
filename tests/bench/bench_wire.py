"""How fast do OTLP traces and OpenAI bodies come in, HTTP to committed, beside native events in the same run?"""

from __future__ import annotations

import json
import random
import shutil
import statistics
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from accounting.storage import embedded, migrate
from accounting.storage.engine import engine_for
from accounting.storage.tariffs import seed_list_tariffs
from accounting.storage.tenants import create_key, create_tenant
from tests.bench.bench_ingest import NOW
from tests.served import served

BATCH = 500
BATCHES = 60
CLIENTS = 8
START_NS = 1_782_900_000 * 10**9  # 2026-07-01T10:00:00Z
Request = tuple[str, str, bytes]


def _counts(dice: random.Random) -> tuple[int, int, int]:
    """Input, cached part of it, output."""
    cached = dice.choice([0, 0, 1_024])
    return dice.randint(50, 8_000) + cached, cached, dice.randint(1, 900)


def _native(dice: random.Random) -> Request:
    events = []
    for _ in range(BATCH):
        total, cached, output = _counts(dice)
        events.append(
            {
                "event_id": f"{dice.getrandbits(96):024x}",
                "occurred_at": "2026-07-01T10:00:00Z",
                "provider": "openai",
                "surface": "chat_completions",
                "model": "o3",
                "status": "ok",
                "user_id": f"user-{dice.randint(0, 999)}",
                "usage": {"input_tokens": total, "cache_read_tokens": cached, "output_tokens": output},
            }
        )
    return "/v1/usage/events", "application/json", json.dumps(events).encode()


def _openai(dice: random.Random) -> Request:
    items = []
    for _ in range(BATCH):
        total, cached, output = _counts(dice)
        response = {
            "id": f"chatcmpl-{dice.getrandbits(96):024x}",
            "object": "chat.completion",
            "created": START_NS // 10**9,
            "model": "o3",
            "choices": [{"index": 0, "message": {"role": "assistant", "content": "x" * 400}, "finish_reason": "stop"}],
            "usage": {
                "prompt_tokens": total,
                "completion_tokens": output,
                "total_tokens": total + output,
                "prompt_tokens_details": {"cached_tokens": cached, "audio_tokens": 0},
                "completion_tokens_details": {"reasoning_tokens": 0, "audio_tokens": 0},
            },
        }
        items.append({"response": response, "context": {"user_id": f"user-{dice.randint(0, 999)}"}})
    return "/v1/usage/openai_chat", "application/json", json.dumps(items).encode()


def _otlp(dice: random.Random) -> Request:
    request = ExportTraceServiceRequest()
    resource = request.resource_spans.add()
    scope = resource.scope_spans.add()
    for _ in range(BATCH):
        total, cached, output = _counts(dice)
        span = scope.spans.add()
        span.trace_id, span.span_id = dice.randbytes(16), dice.randbytes(8)
        span.name, span.kind = "chat o3", 3
        span.start_time_unix_nano, span.end_time_unix_nano = START_NS, START_NS + 2 * 10**9
        texts = {
            "gen_ai.operation.name": "chat",
            "gen_ai.provider.name": "openai",
            "gen_ai.request.model": "o3",
            "gen_ai.response.id": f"chatcmpl-{dice.getrandbits(96):024x}",
            "user.id": f"user-{dice.randint(0, 999)}",
        }
        counts = {
            "gen_ai.usage.input_tokens": total,
            "gen_ai.usage.cache_read.input_tokens": cached,
            "gen_ai.usage.output_tokens": output,
        }
        for name, text in texts.items():
            attribute = span.attributes.add()
            attribute.key, attribute.value.string_value = name, text
        for name, count in counts.items():
            attribute = span.attributes.add()
            attribute.key, attribute.value.int_value = name, count
    return "/v1/traces", "application/x-protobuf", request.SerializeToString()


KINDS = {"native": _native, "openai_chat": _openai, "otlp_protobuf": _otlp}


def _rate(url: str, key: str, requests: list[Request]) -> float:
    headers = {"authorization": f"Bearer {key}"}
    with httpx.Client(timeout=120, headers=headers, limits=httpx.Limits(max_connections=CLIENTS)) as client:

        def send(request: Request) -> None:
            path, kind, body = request
            while True:
                answer = client.post(url + path, content=body, headers={"content-type": kind})
                if answer.status_code != 429:
                    break
                time.sleep(0.05)
            assert answer.status_code == 200, answer.text

        started = time.perf_counter()
        with ThreadPoolExecutor(CLIENTS) as clients:
            list(clients.map(send, requests))
        return len(requests) * BATCH / (time.perf_counter() - started)


def run(rounds: int = 3) -> dict[str, Any]:
    """Medians of interleaved rounds; ratios are to the native path."""
    folder = Path(tempfile.mkdtemp(prefix="tokencogs-bench-", dir="/var/tmp"))
    folder.chmod(0o711)
    server = embedded.attach(folder)
    owner = engine_for(server.owner_url)
    migrate.upgrade(owner, today=NOW.date())
    seed_list_tariffs(owner)
    create_tenant(owner, "bench", "Bench")
    key = create_key(owner, "bench", "ingest")
    owner.dispose()
    dice = random.Random(3)
    rates: dict[str, list[float]] = {name: [] for name in KINDS}
    with served({"DATABASE_URL": server.app_url, "TOKENCOGS_OWNER_URL": server.owner_url}, folder) as api:
        for make in KINDS.values():
            _rate(api.url, key, [make(dice) for _ in range(8)])
        for _ in range(rounds):
            for name, make in KINDS.items():
                rates[name].append(_rate(api.url, key, [make(dice) for _ in range(BATCHES)]))
    embedded.detach(folder)
    time.sleep(3)
    shutil.rmtree(folder, ignore_errors=True)
    middle = {name: statistics.median(values) for name, values in rates.items()}
    return {
        "events_per_second": {name: round(value) for name, value in middle.items()},
        "ratio_to_native": {name: round(value / middle["native"], 3) for name, value in middle.items()},
        "batch_events": BATCH,
        "clients": CLIENTS,
    }


if __name__ == "__main__":
    print(json.dumps(run(), indent=1))
