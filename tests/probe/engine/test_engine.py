"""Does the engine refuse bad input by name, end what must end, and go on with the rest?"""

from __future__ import annotations

import inspect
from dataclasses import replace
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="the engine's tests need the extra `probe`")
pytest.importorskip("transformers", reason="the small models come with the extra `probe-test`")

from probe.engine.engine import Engine  # noqa: E402
from probe.engine.errors import ProbeError, RequestRefused  # noqa: E402
from probe.engine.interfaces import Draft, SamplingParams, Work  # noqa: E402
from probe.engine.kv.sequence import Sequence  # noqa: E402
from probe.engine.options import EngineConfig  # noqa: E402
from tests.probe.engine.serving import GREEDY, SHORT, engine, prompt, run, steps  # noqa: E402


def test_the_step_is_one_short_function() -> None:
    lines = inspect.getsource(Engine.step).splitlines()
    assert len([line for line in lines if line.strip() and '"""' not in line]) - 1 <= 12


@pytest.mark.parametrize(
    ("tokens", "request_id", "words"),
    [
        ([1, 256], "b", "prompt_token_ids = 256: not in 0..255"),
        ([-1], "b", "prompt_token_ids = -1"),
        ([], "b", "the prompt is empty"),
        ([1] * 250, "b", "max_tokens = 8: 250 prompt tokens and so many more exceed max_model_len"),
        ([1], "a", "request_id = 'a': is in use"),
    ],
)
def test_a_bad_request_is_refused_and_the_others_go_on(tokens: list[int], request_id: str, words: str) -> None:
    one = engine()
    one.add_request(prompt(1, 5), GREEDY, "a")
    with pytest.raises(RequestRefused, match=words):
        one.add_request(tokens, GREEDY, request_id)
    outputs, _ = steps(one)
    assert len([t for o in outputs for t in o.new_token_ids]) == 8


@pytest.mark.parametrize(
    ("field", "value"), [("max_tokens", 0), ("temperature", -1.0), ("top_k", -1), ("top_p", 0.0), ("n", 0)]
)
def test_a_bad_sampling_parameter_is_refused_by_name(field: str, value: Any) -> None:
    with pytest.raises(ValueError, match=field):
        SamplingParams(**{field: value})


def test_a_stop_token_ends_a_request_and_ignore_eos_only_means_the_models_own() -> None:
    tokens = run(engine(), {"a": prompt(1, 9)})["a"]
    third = tokens[2]
    assert third not in tokens[:2]
    stopped = SamplingParams(max_tokens=8, temperature=0.0, stop_token_ids=(third,))
    assert run(engine(), {"a": prompt(1, 9)}, stopped)["a"] == tokens[:3]
    asked = SamplingParams(max_tokens=8, temperature=0.0, stop_token_ids=(third,), ignore_eos=True)
    assert run(engine(), {"a": prompt(1, 9)}, asked)["a"] == tokens[:3]
    ending = engine()
    ending.advancer.eos_token_ids = (third,)
    assert run(ending, {"a": prompt(1, 9)}, SamplingParams(max_tokens=8, temperature=0.0))["a"] == tokens[:3]
    assert run(ending, {"a": prompt(1, 9)}, GREEDY)["a"] == tokens


def test_an_aborted_request_gives_its_blocks_back() -> None:
    one = engine()
    one.add_request(prompt(1, 9), GREEDY, "a")
    one.add_request(prompt(2, 9), GREEDY, "b")
    one.step()
    one.abort_request("a")
    one.manager.check()
    outputs, _ = steps(one)
    assert {output.request_id for output in outputs} == {"b"}
    assert one.manager.num_held == 0


@pytest.mark.parametrize(
    "error", [torch.OutOfMemoryError("gone"), RuntimeError("DefaultCPUAllocator: can't allocate memory")]
)
def test_out_of_memory_ends_the_largest_request_and_the_others_go_on(
    error: RuntimeError, monkeypatch: pytest.MonkeyPatch
) -> None:
    alone = run(engine(), {"a": prompt(1, 5)})["a"]
    one = engine()
    forward = one.runner.run
    monkeypatch.setattr(one.runner, "run", lambda step: _raise(error) if len(step.token_ids) > 20 else forward(step))
    one.add_request(prompt(1, 5), GREEDY, "a")
    one.add_request(prompt(2, 40), GREEDY, "b")
    outputs, _ = steps(one)
    [ended] = [output for output in outputs if output.request_id == "b"]
    assert (ended.finish_reason, ended.new_token_ids) == ("error", ())
    assert "out of memory" in str(ended.error)
    assert [t for o in outputs if o.request_id == "a" for t in o.new_token_ids] == alone


def test_an_exact_batch_that_does_not_fit_ends_each_request_with_the_error_and_frees_its_id() -> None:
    one = engine(blocks=40, exact_batch=2)
    for name in "ab":
        one.add_request(prompt(1, 100), GREEDY, name)
    ended = [(output.request_id, output.finish_reason, output.error) for output in one.step().outputs]
    why = "exact_batch: 2 need 54 KV blocks, the cache has 40"
    assert ended == [("a", "error", why), ("b", "error", why)]
    assert not one.has_unfinished
    tokens = run(one, {"a": prompt(1, 9), "b": prompt(2, 9)})
    assert tokens == run(engine(), {"a": prompt(1, 9), "b": prompt(2, 9)})


def _raise(error: Exception) -> None:
    raise error


def test_another_error_of_the_model_is_not_swallowed(monkeypatch: pytest.MonkeyPatch) -> None:
    one = engine()
    monkeypatch.setattr(one.runner, "run", lambda step: _raise(RuntimeError("a bug")))
    one.add_request(prompt(1, 5), GREEDY, "a")
    with pytest.raises(RuntimeError, match="a bug"):
        one.step()


def test_a_cpu_must_be_told_its_cache() -> None:
    with pytest.raises(ProbeError, match="kv_cache_bytes"):
        Engine(engine().runner.model, EngineConfig(scheduler=SHORT))


def test_a_context_longer_than_the_models_positions_is_refused_with_the_engine() -> None:
    """The small models have 512 positions, and a scheduler that is told nothing serves 8,192 tokens."""
    with pytest.raises(ProbeError, match="max_model_len: 8192 exceeds the 512 positions"):
        Engine(engine().runner.model, EngineConfig(num_blocks=8))


def test_a_budget_of_bytes_becomes_blocks() -> None:
    """A block of 4 tokens: 2 layers of 2 kv heads of 8, keys and values, fp32: 1,024 bytes."""
    one = Engine(engine().runner.model, EngineConfig(block_size=4, kv_cache_bytes=10_300, scheduler=SHORT))
    assert one.manager.num_blocks == 10


class Parrot:
    """Proposes what it was told, as a draft model that is sometimes right would."""

    work = Work()

    def __init__(self, tokens: list[int]) -> None:
        self.tokens, self.ended = tokens, []  # type: ignore[var-annotated]

    def propose(self, sequences: list[Sequence]) -> list[Draft]:
        return [Draft(tuple(self.tokens[one.num_output_tokens : one.num_output_tokens + 3])) for one in sequences]

    def forget(self, request_id: str) -> None:
        self.ended.append(request_id)


@pytest.mark.parametrize("wrong_from", [8, 5, 0])
def test_drafts_right_or_wrong_leave_greedy_output_alone(wrong_from: int) -> None:
    right = run(engine(), {"a": prompt(1, 9)})["a"]
    parrot = Parrot([t if i < wrong_from else (t + 1) % 256 for i, t in enumerate(right)])
    one = engine()
    one.proposer = parrot  # type: ignore[assignment]
    one.add_request(prompt(1, 9), GREEDY, "a")
    outputs, records = steps(one)
    assert [t for o in outputs for t in o.new_token_ids] == right
    assert parrot.ended == ["a"]
    accepted = sum(r.num_accepted_tokens for record in records for r in record.requests)
    if wrong_from == 8:
        # 1 token from the prompt; 3 drafts and their successor; then 3 left, 2 of them drafted.
        assert [r.num_output_tokens for record in records for r in record.requests] == [1, 4, 3]
        assert accepted == 5
    if wrong_from == 0:
        assert accepted == 0


def test_drafts_behind_the_end_of_a_request_are_not_accepted() -> None:
    right = run(engine(), {"a": prompt(1, 9)})["a"]
    one = engine()
    one.proposer = Parrot(right)  # type: ignore[assignment]
    assert right[2] not in right[:2]
    one.add_request(prompt(1, 9), replace(GREEDY, stop_token_ids=(right[2],)), "a")
    [record] = steps(one)[1][1:]
    part = record.requests[0]
    # Of three right drafts the second ends the request.
    assert (part.num_draft_tokens, part.num_accepted_tokens, part.num_output_tokens) == (3, 2, 2)


def test_what_was_held_for_refused_drafts_is_given_back_after_the_step() -> None:
    """9 prompt tokens and a first one are 3 blocks of 4; three drafts reach the fourth, and are refused."""
    one = engine()
    one.add_request(prompt(1, 9), GREEDY, "a")
    [first] = one.step().outputs
    right = run(engine(), {"a": prompt(1, 9)})["a"]
    assert right[0] == first.new_token_ids[0]
    one.proposer = Parrot([(token + 1) % 256 for token in right])  # type: ignore[assignment]
    record = one.step().record
    assert record
    assert [(part.num_draft_tokens, part.num_accepted_tokens) for part in record.requests] == [(3, 0)]
    assert record.requests[0].blocks_held == 4
    assert one.manager.num_held == 3
