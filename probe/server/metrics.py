"""What does the server tell a monitor? The step ledger's counts, in vLLM's metric names."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from probe.engine.interfaces import FinishReason, RequestOutput, StepOutput, StepRecord

_SECONDS = (0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10, 20, 40, 80, 160, 640)
_TOKENS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000, 20000, 50000, 100000)
_LABELS = ("model_name", "engine")


@dataclass
class _Times:
    """One request. Attributes: unended: of its outputs; last: of each output, when its latest token came."""

    arrived: float
    unended: int
    scheduled: float | None = None
    first: float | None = None
    last: dict[int, float] = field(default_factory=dict)
    lengths: dict[int, tuple[int, int]] = field(default_factory=dict)


class ServerMetrics:
    """Counts of one server; a registry of its own, so that two servers of one process don't mix."""

    def __init__(self, model_name: str) -> None:
        self.registry = CollectorRegistry()
        self._labels = {"model_name": model_name, "engine": "0"}
        self._times: dict[str, _Times] = {}
        self._running = self._gauge("num_requests_running", "Requests in model execution batches.")
        self._waiting = self._gauge("num_requests_waiting", "Requests waiting to be processed.")
        self._usage = self._gauge("kv_cache_usage_perc", "KV-cache usage. 1 means 100 percent usage.")
        self._queries = self._counter("prefix_cache_queries", "Prompt tokens looked up in the prefix cache.")
        self._hits = self._counter("prefix_cache_hits", "Prompt tokens found in the prefix cache.")
        self._preempted = self._counter("num_preemptions", "Preemptions by the engine.")
        self._prompt = self._counter("prompt_tokens", "Prefill tokens processed.")
        self._cached = self._counter("prompt_tokens_cached", "Prompt tokens that were cached.")
        self._generated = self._counter("generation_tokens", "Generation tokens processed.")
        self._flops = self._counter("estimated_flops_per_gpu", "Estimated floating point operations.")
        self._read = self._counter("estimated_read_bytes_per_gpu", "Estimated bytes read from memory.")
        self._written = self._counter("estimated_write_bytes_per_gpu", "Estimated bytes written to memory.")
        self._drafts = self._counter("spec_decode_num_drafts", "Verify steps with a draft.")
        self._drafted = self._counter("spec_decode_num_draft_tokens", "Drafted tokens.")
        self._accepted = self._counter("spec_decode_num_accepted_tokens", "Drafted tokens that were kept.")
        self._success = Counter(
            "vllm:request_success", "Finished requests.", (*_LABELS, "finished_reason"), registry=self.registry
        )
        self._iteration = self._histogram("iteration_tokens_total", "Tokens a step.", _TOKENS)
        self._prompt_length = self._histogram("request_prompt_tokens", "Prompt tokens a request.", _TOKENS)
        self._output_length = self._histogram("request_generation_tokens", "Generated tokens a request.", _TOKENS)
        self._ttft = self._histogram("time_to_first_token_seconds", "Time to the first token.", _SECONDS)
        self._itl = self._histogram("inter_token_latency_seconds", "Time between outputs after the first.", _SECONDS)
        self._e2e = self._histogram("e2e_request_latency_seconds", "Arrival to last token.", _SECONDS)
        self._queue = self._histogram("request_queue_time_seconds", "Arrival to the first step.", _SECONDS)
        self._prefill = self._histogram("request_prefill_time_seconds", "First step to first token.", _SECONDS)
        self._decode = self._histogram("request_decode_time_seconds", "First to last token.", _SECONDS)
        self._inference = self._histogram("request_inference_time_seconds", "First step to last token.", _SECONDS)

    def exposition(self) -> bytes:
        return generate_latest(self.registry)

    def arrived(self, request_id: str, at: float, outputs: int) -> None:
        self._times[request_id] = _Times(at, outputs)

    def ended(self, request_id: str, reason: FinishReason) -> None:
        """All its outputs, before the engine was done with them."""
        times = self._times.pop(request_id, None)
        if times is None:
            return
        self._success.labels(**self._labels, finished_reason=reason).inc(times.unended)
        if reason == "stop":
            for index, (prompt, output) in times.lengths.items():
                self._observe_end(times, index, prompt, output)

    def idle(self) -> None:
        """Nothing runs and nothing waits, and no step will come to say so."""
        self._running.set(0)
        self._waiting.set(0)
        self._usage.set(0)

    def observe(self, output: StepOutput, started: float) -> None:
        """Counts one step that began at `started` (monotonic seconds) and has just ended."""
        now = time.monotonic()
        if output.record:
            self._observe_record(output.record, started)
        for one in output.outputs:
            self._observe_output(one, now)

    def _observe_record(self, record: StepRecord, started: float) -> None:
        self._running.set(record.num_running)
        self._waiting.set(record.num_waiting)
        held = record.kv_blocks_total - record.kv_blocks_free - record.kv_blocks_cached
        self._usage.set(held / record.kv_blocks_total)
        self._preempted.inc(len(record.preempted))
        self._flops.inc(record.estimated_flops)
        written = record.estimated_write_bytes or 0
        self._read.inc(record.estimated_bytes - written)
        self._written.inc(written)
        self._iteration.observe(sum(part.num_new_tokens for part in record.requests))
        for part in record.requests:
            times = self._times.get(part.request_id)
            if times and times.scheduled is None:
                times.scheduled = started
                self._queue.observe(started - times.arrived)
            if part.num_draft_tokens:
                self._drafts.inc()
                self._drafted.inc(part.num_draft_tokens)
                self._accepted.inc(part.num_accepted_tokens)

    def _observe_output(self, one: RequestOutput, now: float) -> None:
        times = self._times.get(one.request_id)
        if times and one.new_token_ids:
            if times.first is None:
                times.first = now
                self._ttft.observe(now - times.arrived)
                self._queries.inc(one.num_prompt_tokens)
                self._hits.inc(one.num_cached_tokens)
                self._cached.inc(one.num_cached_tokens)
                self._prompt.inc(one.num_prompt_tokens)
            elif one.index in times.last:
                self._itl.observe(now - times.last[one.index])
            times.last[one.index] = now
            times.lengths[one.index] = (one.num_prompt_tokens, one.num_output_tokens)
        self._generated.inc(len(one.new_token_ids))
        if one.finish_reason is None or times is None:
            return
        self._success.labels(**self._labels, finished_reason=one.finish_reason).inc()
        self._observe_end(times, one.index, one.num_prompt_tokens, one.num_output_tokens)
        times.lengths.pop(one.index, None)
        times.unended -= 1
        if not times.unended:
            del self._times[one.request_id]

    def _observe_end(self, times: _Times, index: int, prompt: int, output: int) -> None:
        self._prompt_length.observe(prompt)
        self._output_length.observe(output)
        last = times.last.get(index)
        if times.scheduled is None or times.first is None or last is None:
            return
        self._e2e.observe(last - times.arrived)
        self._prefill.observe(times.first - times.scheduled)
        self._decode.observe(last - times.first)
        self._inference.observe(last - times.scheduled)

    def _gauge(self, name: str, text: str) -> Gauge:
        return Gauge(f"vllm:{name}", text, _LABELS, registry=self.registry).labels(**self._labels)

    def _counter(self, name: str, text: str) -> Counter:
        return Counter(f"vllm:{name}", text, _LABELS, registry=self.registry).labels(**self._labels)

    def _histogram(self, name: str, text: str, buckets: tuple[float, ...]) -> Histogram:
        return Histogram(f"vllm:{name}", text, _LABELS, buckets=buckets, registry=self.registry).labels(**self._labels)
