"""Does the step ledger say who shared each step, and do its sums agree with what was served?"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pyarrow as pa
import pytest

torch = pytest.importorskip("torch", reason="the engine's tests need the extra `probe`")
pytest.importorskip("transformers", reason="the small models come with the extra `probe-test`")

from probe.engine.engine import Engine  # noqa: E402
from probe.engine.fpm import queued_sums, to_fpm  # noqa: E402
from probe.engine.interfaces import PhaseSums, StepRecord  # noqa: E402
from probe.engine.kv.sequence import Sequence  # noqa: E402
from probe.engine.ledger import LedgerWriter, read_ledger, read_run  # noqa: E402
from probe.engine.runner import ModelInput  # noqa: E402
from tests.probe.engine.serving import GREEDY, engine, prompt, steps  # noqa: E402


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
