"""Does the way of serving leave the answer alone? Paging, chunks, batches, sharing and preemption against the plain way."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch", reason="the engine's tests need the extra `probe`")
pytest.importorskip("transformers", reason="the comparison needs the extra `probe-test`")

from probe.engine import runner  # noqa: E402
from probe.engine.attention import torch_paged  # noqa: E402
from probe.engine.attention.dense import DenseAttention  # noqa: E402
from probe.engine.engine import Engine  # noqa: E402
from probe.engine.errors import IntegrityError  # noqa: E402
from probe.engine.interfaces import SamplingParams  # noqa: E402
from probe.engine.kv.block import Block  # noqa: E402
from probe.engine.kv.block_manager import BlockManager  # noqa: E402
from probe.engine.kv.free_list import FreeList  # noqa: E402
from probe.engine.kv.prefix_cache import PrefixCache  # noqa: E402
from probe.engine.options import EngineConfig  # noqa: E402
from tests.probe.engine.models.peers import ours, reference_logits, theirs  # noqa: E402
from tests.probe.engine.models.small import SMALL  # noqa: E402
from tests.probe.engine.serving import GREEDY, SHORT, engine, prompt, run, steps  # noqa: E402

REQUESTS = {"a": prompt(1, 21), "b": prompt(2, 30), "c": prompt(3, 9)}
KINDS = ["llama", "mistral", "gpt_oss", "deepseek_v3"]  # grouped, windowed, alternating with sinks, latent
TIGHT = {
    "llama": 17,
    "mistral": 10,
    "gpt_oss": 24,
    "deepseek_v3": 17,
}  # blocks for the longest request, not for all three


@pytest.fixture(scope="module")
def alone() -> dict[str, dict[str, list[int]]]:
    """Each request by itself, its prompt in one step, nothing reused."""
    return {
        name: {key: run(engine(name, caching=False), {key: tokens})[key] for key, tokens in REQUESTS.items()}
        for name in KINDS
    }


@pytest.mark.parametrize("name", KINDS)
def test_a_batch_equals_each_alone(name: str, alone: dict[str, dict[str, list[int]]]) -> None:
    assert run(engine(name), REQUESTS) == alone[name]


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("policy", ["decode_first", "prefill_first"])
def test_chunked_prefill_equals_whole(name: str, policy: str, alone: dict[str, dict[str, list[int]]]) -> None:
    assert run(engine(name, max_num_batched_tokens=7, policy=policy), REQUESTS) == alone[name]


@pytest.mark.parametrize("name", KINDS)
def test_a_prefix_hit_equals_a_miss(name: str, alone: dict[str, dict[str, list[int]]]) -> None:
    one = engine(name)
    run(one, REQUESTS)
    for request_id, tokens in REQUESTS.items():
        one.add_request(tokens, GREEDY, request_id)
    outputs, records = steps(one)
    assert [
        sum(r.num_cached_tokens for record in records for r in record.requests if r.request_id == key) for key in "abc"
    ] == [
        20,
        28,
        8,
    ]
    again = {key: [t for o in outputs if o.request_id == key for t in o.new_token_ids] for key in REQUESTS}
    assert again == alone[name]


@pytest.mark.parametrize("name", KINDS)
def test_preempted_equals_not(name: str, alone: dict[str, dict[str, list[int]]]) -> None:
    one = engine(name, blocks=TIGHT[name], max_num_batched_tokens=32)
    for request_id, tokens in REQUESTS.items():
        one.add_request(tokens, GREEDY, request_id)
    outputs, records = steps(one)
    assert sum(len(record.preempted) for record in records) > 0
    tokens = {key: [t for o in outputs if o.request_id == key for t in o.new_token_ids] for key in REQUESTS}
    assert tokens == alone[name]


@pytest.mark.parametrize("name", KINDS)
def test_paged_equals_dense(name: str, alone: dict[str, dict[str, list[int]]]) -> None:
    model = ours(SMALL[name], backend=DenseAttention())
    one = Engine(model, EngineConfig(block_size=4, num_blocks=128, scheduler=SHORT))
    assert run(one, REQUESTS) == alone[name]


@pytest.mark.parametrize("name", SMALL)
def test_64_greedy_tokens_equal_those_of_transformers(name: str) -> None:
    """transformers reads all that we wrote at once: each of our tokens must be its likeliest successor of those before."""
    params = SamplingParams(max_tokens=64, temperature=0.0, ignore_eos=True)
    ours_next = run(engine(name), {"a": REQUESTS["a"]}, params)["a"]
    theirs_next = reference_logits(theirs(SMALL[name]), REQUESTS["a"] + ours_next)[20:-1].argmax(dim=-1)
    assert ours_next == theirs_next.tolist()


def test_outputs_of_one_prompt_share_its_blocks_and_draw_for_themselves() -> None:
    params = SamplingParams(max_tokens=6, temperature=1.0, seed=5, n=3, ignore_eos=True)
    one = engine()
    one.add_request(prompt(1, 18), params, "a")
    one.step()
    one.manager.check()
    # 18 tokens in blocks of 4 are 5 blocks; three holders of each.
    assert one.manager.num_held == 5
    assert [one.manager.share(sequence) for sequence in one.scheduler.running] == pytest.approx([5 / 3] * 3)
    outputs, _ = steps(one)
    assert one.manager.num_held == 0
    texts = [tuple(t for o in outputs if o.index == i for t in o.new_token_ids) for i in range(3)]
    assert len(set(texts)) == 3


def test_greedy_forks_equal_their_parent(alone: dict[str, dict[str, list[int]]]) -> None:
    params = SamplingParams(max_tokens=8, temperature=0.0, n=2, ignore_eos=True)
    one = engine()
    one.add_request(REQUESTS["a"], params, "a")
    outputs, _ = steps(one)
    for index in range(2):
        assert [t for o in outputs if o.index == index for t in o.new_token_ids] == alone["llama"]["a"]


class TestMutants:
    """Faults that the harness of these tests (answers, and the books after each step) must see."""

    def test_a_wrong_reference_count_is_seen(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(BlockManager, "_reference", lambda self, block_id: None)  # a hit is not counted
        with pytest.raises(IntegrityError, match="block 0: reference count 1, holders 2"):
            run(engine(max_num_batched_tokens=21), {"a": prompt(1, 21), "b": prompt(1, 22)})

    def test_a_block_table_off_by_one_is_seen(
        self, monkeypatch: pytest.MonkeyPatch, alone: dict[str, dict[str, list[int]]]
    ) -> None:
        right = runner._slots
        monkeypatch.setattr(
            runner, "_slots", lambda table, begin, end, size: right([i + 1 for i in table], begin, end, size)
        )
        assert run(engine(), REQUESTS) != alone["llama"]

    def test_an_unmasked_pad_is_seen(self, monkeypatch: pytest.MonkeyPatch) -> None:
        ragged = {
            "a": prompt(1, 21),
            "b": prompt(2, 22),
            "c": prompt(3, 23),
        }  # 8 blocks each, so one view reads all three
        right = run(engine(), ragged)
        monkeypatch.setattr(torch_paged, "additive", lambda seen, dtype: torch.zeros(seen.shape, dtype=dtype))
        assert run(engine(), ragged) != right

    def test_a_stale_hash_is_seen(self, monkeypatch: pytest.MonkeyPatch) -> None:
        forget = PrefixCache.forget

        def keeps_the_name(self: PrefixCache, block: Block) -> None:
            name = (block.group, block.hash)
            forget(self, block)
            if name[1] is not None:
                self.hash_to_block[name[0], name[1]] = block.block_id

        monkeypatch.setattr(PrefixCache, "forget", keeps_the_name)
        one = engine(blocks=10)
        run(one, {"a": REQUESTS["a"]})
        with pytest.raises(IntegrityError, match="stale hash"):
            run(one, {"b": REQUESTS["b"]})

    def test_a_block_given_to_two_is_seen(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(FreeList, "_next_empty", lambda self, after, owner, count, expected: 0)
        with pytest.raises(IntegrityError, match="block 0"):
            run(engine(), REQUESTS)
