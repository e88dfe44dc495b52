"""Does the step ledger say who shared each step, and do its sums agree with what was served?"""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pyarrow as pa
import pytest

torch = pytest.importorskip("torch", reason="the engine's tests need the extra `probe`")
pytest.importorskip("transformers", reason="the small models come with the extra `probe-test`")

from probe.engine.attention.quantised import QuantisedAttention  # noqa: E402
from probe.engine.attention.torch_paged import TorchPagedAttention  # noqa: E402
from probe.engine.engine import Engine  # noqa: E402
from probe.engine.estimate import Part, StepEstimator, _pairs  # noqa: E402
from probe.engine.fpm import queued_sums, to_fpm  # noqa: E402
from probe.engine.interfaces import PhaseSums, StepRecord, Work  # noqa: E402
from probe.engine.kv.sequence import Sequence  # noqa: E402
from probe.engine.ledger import LedgerWriter, read_ledger, read_run  # noqa: E402
from probe.engine.models.shapes import weight_shapes  # noqa: E402
from probe.engine.options import EngineConfig  # noqa: E402
from probe.engine.runner import ModelInput  # noqa: E402
from probe.engine.spec.draft_model import DraftModelProposer  # noqa: E402
from tests.probe.engine.models.peers import ours  # noqa: E402
from tests.probe.engine.models.small import SMALL  # noqa: E402
from tests.probe.engine.serving import GREEDY, SHORT, engine, prompt, steps  # noqa: E402


@pytest.fixture(scope="module")
def records() -> list[StepRecord]:
    """Two requests: 9 and 14 prompt tokens, 8 output tokens each, budget 12."""
    one = engine(caching=False, max_num_batched_tokens=12)
    one.add_request(prompt(1, 9), GREEDY, "a")
    one.add_request(prompt(2, 14), GREEDY, "b")
    return steps(one)[1]


def parts(record: StepRecord) -> list[tuple[str, str, int, int, int]]:
    return [(r.request_id, r.kind, r.num_new_tokens, r.num_past_tokens, r.num_output_tokens) for r in record.requests]


def test_the_first_steps_by_hand(records: list[StepRecord]) -> None:
    assert parts(records[0]) == [("a", "prefill", 9, 0, 1), ("b", "prefill", 3, 0, 0)]
    assert parts(records[1]) == [("a", "decode", 1, 9, 1), ("b", "prefill", 11, 3, 1)]
    assert parts(records[2]) == [("a", "decode", 1, 10, 1), ("b", "decode", 1, 14, 1)]
    assert [record.kind for record in records[:3]] == ["prefill", "mixed", "decode"]


def test_a_request_appears_in_every_step_it_took_and_its_tokens_sum_up(records: list[StepRecord]) -> None:
    for request_id, prompt_length in (("a", 9), ("b", 14)):
        mine = [r for record in records for r in record.requests if r.request_id == request_id]
        assert sum(r.num_output_tokens for r in mine) == 8
        assert sum(r.num_new_tokens for r in mine) == prompt_length + 7  # the last output token is never computed


def test_who_runs_and_who_waits_is_said_as_it_is_after_the_step() -> None:
    """One place, two requests: the step that ends the first leaves nobody running; the second joins in the next."""
    one = engine(max_num_seqs=1)
    for name in "ab":
        one.add_request(prompt(1, 5), replace(GREEDY, max_tokens=2), name)
    assert [(record.num_running, record.num_waiting) for record in steps(one)[1]] == [(1, 1), (0, 1), (1, 0), (0, 0)]


def test_times_are_ordered_and_the_model_is_a_part_of_the_step(records: list[StepRecord]) -> None:
    for record in records:
        assert 0 < record.model_ns <= record.duration_ns
    assert [record.step_id for record in records] == list(range(len(records)))
    assert all(a.start_ns <= b.start_ns for a, b in pairwise(records))


def test_block_shares_sum_to_the_blocks_held() -> None:
    one = engine(max_num_batched_tokens=18)
    shared = prompt(1, 16)
    one.add_request([*shared, 1, 2], GREEDY, "a")
    one.add_request([*shared, 3, 4], GREEDY, "b")
    one.step()
    record = one.step().record
    assert record
    # a: 5 blocks, b the first 4 of them and one of its own: 4/2 + 1 each.
    assert [r.blocks_held for r in record.requests] == [3.0, 3.0]
    assert record.kv_blocks_total - record.kv_blocks_free - record.kv_blocks_cached == 6
    assert [r.num_cached_tokens for r in record.requests] == [0, 16]


def test_the_step_that_admits_a_request_names_its_prompts_full_blocks() -> None:
    one = engine(max_num_batched_tokens=12)  # a's prompt takes two steps
    shared = prompt(1, 16)
    one.add_request([*shared, 1, 2], GREEDY, "a")
    one.add_request([*shared, 3, 4], GREEDY, "b")
    named: dict[str, list[tuple[bytes, ...]]] = {"a": [], "b": []}
    for record in steps(one)[1]:
        for part in record.requests:
            named[part.request_id].append(part.prefix_blocks)
    assert len(set(named["a"][0])) == 4  # 18 tokens, blocks of 4
    assert named["a"][0] == named["b"][0]
    assert {*named["a"][1:], *named["b"][1:]} == {()}


def without_memory_once(one: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    """The next pass of the model finds no memory."""
    forward, failing = one.runner.run, [torch.OutOfMemoryError("gone")]

    def run(given: ModelInput) -> torch.Tensor:
        if failing:
            raise failing.pop()
        return forward(given)

    monkeypatch.setattr(one.runner, "run", run)


def test_a_hit_found_by_a_step_that_ran_out_of_memory_stands_in_the_next_record(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    one = engine()
    one.add_request(prompt(1, 18), GREEDY, "before")
    steps(one)
    without_memory_once(one, monkeypatch)
    one.add_request(prompt(1, 18), GREEDY, "hit")
    one.add_request(prompt(7, 40), GREEDY, "big")
    parts = [part for record in steps(one)[1] for part in record.requests]
    assert {part.request_id for part in parts} == {"hit"}
    assert (parts[0].num_past_tokens, parts[0].num_cached_tokens, len(parts[0].prefix_blocks)) == (16, 16, 4)
    assert {(part.num_cached_tokens, part.prefix_blocks) for part in parts[1:]} == {(0, ())}


def test_a_preemption_by_a_step_that_ran_out_of_memory_stands_in_the_next_record(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Prompts of 7, 8 and 2 tokens fill 5 blocks of 4: b's ninth token takes c's."""
    one = engine(blocks=5, caching=False)
    for name, length in (("a", 7), ("b", 8), ("c", 2)):
        one.add_request(prompt(length, length), GREEDY, name)
    one.step()
    without_memory_once(one, monkeypatch)
    failed = one.step()
    assert ([output.finish_reason for output in failed.outputs], failed.record) == (["error"], None)
    record = one.step().record
    assert record
    assert record.preempted == ("c",)


def test_an_exact_batch_records_what_it_found_in_the_cache() -> None:
    one = engine(exact_batch=1)
    for name in "ab":
        one.add_request(prompt(1, 18), GREEDY, name)
    cached = [(part.request_id, part.num_cached_tokens) for record in steps(one)[1] for part in record.requests]
    assert [pair for pair in cached if pair[1]] == [("b", 16)]


def test_without_prefix_caching_no_block_is_named(records: list[StepRecord]) -> None:
    assert {part.prefix_blocks for record in records for part in record.requests} == {()}


def test_rework_after_preemption_is_told_from_new_work() -> None:
    one = engine(blocks=9, caching=False)
    one.add_request(prompt(1, 15), GREEDY, "a")
    one.add_request(prompt(2, 16), GREEDY, "b")
    records = steps(one)[1]
    assert [name for record in records for name in record.preempted] == ["b"]
    again = [r.num_recomputed_tokens for record in records for r in record.requests if r.request_id == "b"]
    assert sum(again) == 17  # 16 prompt tokens and one output token had been computed when its blocks were taken
    assert any(record.kv_blocked for record in records)


def test_rework_of_an_output_that_never_ran_is_its_prompts() -> None:
    """Two outputs of 16 prompt tokens in 5 blocks of 4: the second gives its blocks up before its first step, and computes all 16 again."""
    one = engine(blocks=5, caching=False)
    one.add_request(prompt(1, 16), replace(GREEDY, max_tokens=4, n=2), "a")
    again = [r for record in steps(one)[1] for r in record.requests if r.index == 1 and r.num_new_tokens > 1]
    assert [(r.num_new_tokens, r.num_past_tokens, r.num_recomputed_tokens) for r in again] == [(17, 0, 16)]


def test_a_ledger_file_gives_back_what_was_written(tmp_path: Path, records: list[StepRecord]) -> None:
    path = tmp_path / "steps.arrow"
    with LedgerWriter(path, {"model": "llama", "block_size": 4}) as ledger:
        for record in records:
            ledger(record)
    assert list(read_ledger(path)) == records
    assert read_run(path) == {"version": 1, "model": "llama", "block_size": 4}


def test_a_ledger_that_does_not_tell_written_bytes_apart_is_read(tmp_path: Path, records: list[StepRecord]) -> None:
    path = tmp_path / "steps.arrow"
    with LedgerWriter(path, {}) as ledger:
        ledger(records[0])
    table = pa.ipc.open_stream(path.read_bytes()).read_all().drop_columns(["estimated_write_bytes"])
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    assert list(read_ledger(path)) == [replace(records[0], estimated_write_bytes=None)]


def test_a_run_that_is_killed_leaves_all_but_its_last_second(tmp_path: Path, records: list[StepRecord]) -> None:
    starts = [0, 600_000_000, 1_200_000_000, 1_300_000_000]
    timed = [replace(records[0], start_ns=start, duration_ns=1) for start in starts]
    ledger = LedgerWriter(tmp_path / "steps.arrow", {})
    for record in timed:
        ledger(record)
    assert list(read_ledger(tmp_path / "steps.arrow")) == timed[:3]
    ledger.close()


def test_forward_pass_metrics_by_hand(records: list[StepRecord]) -> None:
    made = to_fpm(records[1], worker_id="w0")
    assert made["scheduled_requests"] == {
        "num_prefill_requests": 1,
        "sum_prefill_tokens": 11,
        "var_prefill_length": 0.0,
        "sum_prefill_kv_tokens": 3,
        "num_decode_requests": 1,
        "sum_decode_kv_tokens": 9,
        "var_decode_kv_tokens": 0.0,
    }
    assert (made["version"], made["worker_id"], made["counter_id"]) == (1, "w0", 1)
    assert made["wall_time"] == records[1].duration_ns / 1e9
    third = to_fpm(records[2])["scheduled_requests"]
    assert (third["sum_decode_kv_tokens"], third["var_decode_kv_tokens"]) == (24, 4.0)  # 10 and 14


def test_of_the_queue_who_was_preempted_counts_as_decoding_with_prompt_and_output() -> None:
    fresh = [Sequence("a", [1] * 9), Sequence("b", [1] * 5)]
    preempted = [Sequence("c", [1] * 6), Sequence("d", [1] * 6)]
    for sequence, output in zip(preempted, (2, 4), strict=True):
        sequence.token_ids += [7] * output
    assert queued_sums([*preempted, *fresh]) == PhaseSums(
        num_prefill_requests=2,
        sum_prefill_tokens=14,
        var_prefill_length=4.0,
        sum_prefill_kv_tokens=0,
        num_decode_requests=2,
        sum_decode_kv_tokens=8 + 10,
        var_decode_kv_tokens=1.0,
    )


def test_pairs_of_tokens_that_see_each_other() -> None:
    assert _pairs(new=3, past=2, window=None) == 3 + 4 + 5
    assert _pairs(new=3, past=2, window=4) == 3 + 4 + 4
    assert _pairs(new=2, past=9, window=4) == 4 + 4


def test_bytes_and_flops_of_a_decode_step_by_hand() -> None:
    """Llama with 2 layers, hidden 64, 8 heads and 2 kv heads of 8, 96 wide, 256 tokens, fp32."""
    model = engine().runner.model
    kv_row = 2 * 2 * 8 * 4
    estimator = StepEstimator(model, kv_row)
    layer = 64 * 64 + 2 * 64 * 16 + 64 * 64 + 3 * 64 * 96  # q, k and v, o, gate up down
    dense = 2 * layer + 64 * 256  # and the head; the embedding is not streamed
    norms = 2 * 2 * 64 + 64
    pairs = 10
    flops = 2 * (2 * layer + norms) + 2 * 64 * 256 + 2 * (2 * 8 * (8 + 8)) * pairs
    work = Work(read_bytes=dense * 4 + 2 * kv_row * 10, write_bytes=2 * kv_row * 1, flops=flops)
    assert estimator.work([Part(new=1, past=9, rows=1)], None) == work


@pytest.mark.parametrize(("name", "rows_seen"), [("mistral", 10 + 10), ("gpt_oss", 10 + 52)])
def test_of_a_windowed_layer_only_what_the_new_tokens_see_is_read(name: str, rows_seen: int) -> None:
    """Two tokens behind 50, windows of 9 in both layers or in one: tokens 42 to 51 are seen."""
    model = engine(name).runner.model
    work = StepEstimator(model, 100).work([Part(new=2, past=50, rows=1)], experts_touched=None)
    assert work.read_bytes == model.dense_bytes + 100 * rows_seen
    assert work.write_bytes == 100 * 2 * 2


def test_a_step_that_draws_nothing_reads_no_head() -> None:
    """A prompt of 9 in steps of 6: the first draws nothing."""
    one = engine(caching=False, max_num_batched_tokens=6)
    one.add_request(prompt(1, 9), GREEDY, "a")
    first, second = (one.step().record for _ in range(2))
    assert first
    assert second
    kv_row, dense = 2 * 2 * 8 * 4, one.runner.model.dense_bytes
    assert first.estimated_bytes == dense - 64 * 256 * 4 + 2 * kv_row * (6 + 6)
    assert second.estimated_bytes == dense + 2 * kv_row * (9 + 3)
    assert (first.estimated_write_bytes, second.estimated_write_bytes) == (2 * kv_row * 6, 2 * kv_row * 3)


def test_a_draft_models_passes_are_in_the_bytes_of_the_step_that_waited_for_them() -> None:
    """A draft model equal to the target, 9 prompt tokens, 3 drafts: passes of 10, 1 and 1 tokens, then the target's of 4."""
    model = engine().runner.model
    proposer = DraftModelProposer(model, k=3, num_blocks=16, block_size=4)
    one = Engine(model, EngineConfig(block_size=4, num_blocks=16, scheduler=SHORT), proposer=proposer)
    one.add_request(prompt(1, 9), GREEDY, "a")
    first, second = (one.step().record for _ in range(2))
    assert first
    assert second
    kv_row = 2 * 2 * 8 * 4
    assert first.estimated_bytes == model.dense_bytes + 2 * kv_row * (9 + 9)  # nothing decoded yet, nothing is drafted
    assert second.estimated_write_bytes == 2 * kv_row * (10 + 1 + 1 + 4)
    read = 4 * model.dense_bytes + 2 * kv_row * (10 + 11 + 12 + 13)
    assert second.estimated_bytes == read + second.estimated_write_bytes
    layer = 64 * 64 + 2 * 64 * 16 + 64 * 64 + 3 * 64 * 96 + 2 * 64
    rows = 1 + 1 + 1 + 4  # the target draws behind its last token and behind each drafted one
    pairs = 55 + 11 + 12 + (10 + 11 + 12 + 13)
    tokens = 10 + 1 + 1 + 4
    flops = 2 * (2 * layer + 64) * tokens + 2 * 64 * 256 * rows + 2 * (2 * 8 * (8 + 8)) * pairs
    assert second.estimated_flops == flops


@pytest.mark.parametrize(("name", "kv_dtype"), [("llama", "int8"), ("llama", "fp8"), ("deepseek_v3", "int8")])
def test_an_eight_bit_cache_is_read_with_its_scales(name: str, kv_dtype: str) -> None:
    """A byte a number and an fp16 scale a row: keys and values of two heads of 8, or the latent's 24 and 8."""
    model = ours(SMALL[name], backend=QuantisedAttention(TorchPagedAttention()))
    one = Engine(model, EngineConfig(block_size=4, num_blocks=8, kv_cache_dtype=kv_dtype, scheduler=SHORT))
    one.add_request(prompt(1, 1), GREEDY, "a")
    record = one.step().record
    assert record
    row = 2 * 2 * (8 + 2) if name == "llama" else 24 + 8 + 2
    experts = round((record.experts_touched or 0) * model.expert_bytes)
    assert record.estimated_bytes == model.dense_bytes + experts + 2 * row * 2


@pytest.mark.parametrize("name", ["llama", "deepseek_v2 lite", "deepseek_v3"])
def test_dense_bytes_are_those_of_all_matrices_but_routed_experts(name: str) -> None:
    """The latent's up-projections too, which no linear backend holds."""
    model = engine(name).runner.model
    shapes = {key: shape for key, shape in weight_shapes(model.config).items() if len(shape) == 2}
    dense = [math.prod(shape) for key, shape in shapes.items() if "embed_tokens" not in key and ".experts." not in key]
    assert model.dense_bytes == 4 * sum(dense)


def test_of_experts_only_the_touched_are_counted() -> None:
    one = engine("mixtral")
    one.add_request(prompt(1, 1), GREEDY, "a")
    record = one.step().record
    assert record
    assert record.experts_touched == 2.0  # one token, two experts
    model = one.runner.model
    assert model.expert_bytes == 3 * 64 * 96 * 4
    assert record.estimated_bytes == model.dense_bytes + 2 * 2 * model.expert_bytes + 2 * (2 * 2 * 8 * 4) * 2
