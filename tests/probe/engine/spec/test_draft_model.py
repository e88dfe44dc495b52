"""Does a draft model draft from what was really said, roll back what was refused, and agree with a target equal to itself?"""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch", reason="the engine's tests need the extra `probe`")

from probe.engine.attention.dense import DenseAttention  # noqa: E402
from probe.engine.attention.metadata import BatchMetadata, GroupMetadata  # noqa: E402
from probe.engine.interfaces import SamplingParams, Work  # noqa: E402
from probe.engine.kv.cache import LayerCache  # noqa: E402
from probe.engine.kv.sequence import Sequence  # noqa: E402
from probe.engine.linear import linear_factory  # noqa: E402
from probe.engine.models.hf_config import parse_config  # noqa: E402
from probe.engine.models.model import Model  # noqa: E402
from probe.engine.models.weights import RandomWeights  # noqa: E402
from probe.engine.spec.draft_model import DraftModelProposer  # noqa: E402
from probe.engine.spec.sampler import SpeculativeSampler  # noqa: E402

SHAPE = {
    "num_hidden_layers": 2,
    "hidden_size": 32,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 8,
    "intermediate_size": 48,
    "vocab_size": 40,
    "rms_norm_eps": 1e-5,
    "max_position_embeddings": 128,
}
LLAMA = {"model_type": "llama", **SHAPE}
MISTRAL = {"model_type": "mistral", "sliding_window": 6, **SHAPE}


def model(raw: dict[str, object], seed: int = 0) -> Model:
    config = parse_config(raw)
    return Model(config, RandomWeights(config, seed), linear_factory(), DenseAttention(), max_model_len=128)


def logits_of(target: Model, tokens: list[int], rows: int) -> torch.Tensor:
    """The target's logits at the last `rows` tokens, from a cache made for the purpose."""
    device, blocks = torch.device("cpu"), -(-len(tokens) // 4)
    layers = target.groups[0].layers
    caches = [LayerCache.allocate(target.config.attention_spec(i), blocks, 4, torch.float32, device) for i in layers]
    groups = [GroupMetadata(g.window, [list(range(blocks))], torch.arange(len(tokens))) for g in target.groups]
    batch = BatchMetadata([len(tokens)], [0], 4, torch.arange(len(tokens)), groups)
    return target.forward(torch.tensor(tokens), batch, caches)[-rows:]


def speculate(target: Model, proposer: DraftModelProposer, sequences: list[Sequence], steps: int) -> list[int]:
    """Verify steps for all sequences; returns how many drafts were kept in each step of each sequence."""
    sampler, kept = SpeculativeSampler(), []
    for _ in range(steps):
        for sequence, draft in zip(sequences, proposer.propose(sequences), strict=True):
            logits = logits_of(target, [*sequence.token_ids, *draft.token_ids], len(draft.token_ids) + 1)
            emitted = sampler(logits, sequence, draft)
            kept.append(len(emitted) - 1)
            sequence.token_ids += emitted
        proposer.check()
    return kept


def sequences(temperature: float) -> list[Sequence]:
    params = SamplingParams(max_tokens=60, temperature=temperature)
    return [Sequence("a", [1, 2, 3], params), Sequence("b", list(range(5, 16)), params)]


@pytest.mark.parametrize("raw", [pytest.param(LLAMA, id="llama"), pytest.param(MISTRAL, id="window")])
@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_a_draft_equal_to_the_target_is_kept_whole(raw: dict[str, object], temperature: float) -> None:
    target = model(raw)
    proposer = DraftModelProposer(model(raw), k=3, num_blocks=64, block_size=4)
    assert speculate(target, proposer, sequences(temperature), steps=6) == [3] * 12


@pytest.mark.parametrize("raw", [pytest.param(LLAMA, id="llama"), pytest.param(MISTRAL, id="window")])
def test_greedy_speculation_with_another_model_says_what_the_target_says(raw: dict[str, object]) -> None:
    target, pair = model(raw), sequences(0.0)
    proposer = DraftModelProposer(model(raw, seed=1), k=3, num_blocks=64, block_size=4)
    kept = speculate(target, proposer, pair, steps=8)
    assert min(kept) < 3, "a draft was refused, so roll back has been tried"
    for sequence in pair:
        alone = sequence.token_ids[: sequence.num_prompt_tokens]
        while len(alone) < sequence.num_tokens:
            alone.append(int(logits_of(target, alone, 1).argmax()))
        assert sequence.token_ids == alone


def test_a_rolled_back_cache_drafts_what_a_fresh_one_does() -> None:
    target, used = model(LLAMA), sequences(1.0)
    proposer = DraftModelProposer(model(LLAMA, seed=1), k=3, num_blocks=64, block_size=4)
    speculate(target, proposer, used, steps=5)
    fresh = DraftModelProposer(model(LLAMA, seed=1), k=3, num_blocks=64, block_size=4)
    for one, other in zip(proposer.propose(used), fresh.propose(used), strict=True):
        assert one.token_ids == other.token_ids
        assert one.probs is not None
        assert other.probs is not None
        torch.testing.assert_close(one.probs, other.probs, atol=1e-6, rtol=1e-4)


def test_without_room_a_sequence_gets_no_draft() -> None:
    proposer = DraftModelProposer(model(LLAMA), k=3, num_blocks=3, block_size=4)
    first, second = proposer.propose(sequences(0.0))
    assert len(first.token_ids) == 3
    assert second.token_ids == ()


def test_nothing_is_drafted_beyond_the_draft_models_positions() -> None:
    """It was made for 128: of a sequence of 127 tokens it drafts from the last two places, of one of 129 from none."""
    proposer = DraftModelProposer(model(LLAMA), k=3, num_blocks=99, block_size=4)
    made = [Sequence(str(n), [1] * n, SamplingParams(max_tokens=60)) for n in (127, 129)]
    assert [len(draft.token_ids) for draft in proposer.propose(made)] == [2, 0]
    proposer.check()


def test_a_forgotten_request_gives_its_blocks_back() -> None:
    proposer = DraftModelProposer(model(LLAMA), k=3, num_blocks=64, block_size=4)
    proposer.propose(sequences(0.0))
    proposer.forget("a")
    proposer.forget("b")
    proposer.check()
    assert proposer._manager.num_free == 64


def test_nothing_is_drafted_beyond_the_last_token_wanted() -> None:
    proposer = DraftModelProposer(model(LLAMA), k=3, num_blocks=64, block_size=4)
    [draft] = proposer.propose([Sequence("a", [1, 2], SamplingParams(max_tokens=2))])
    assert len(draft.token_ids) == 1


def test_the_work_of_the_last_drafts_by_hand() -> None:
    """Two layers whose row is keys and values of 2 heads of 8 in fp32. What the target kept of the drafts is not computed again."""
    draft = model(LLAMA)
    proposer, one = DraftModelProposer(draft, k=2, num_blocks=64, block_size=4), sequences(0.0)[0]
    row = 2 * 2 * (2 * 8) * 4
    [first] = proposer.propose([one])  # the 3 tokens of the prompt, then the first drafted one
    assert proposer.work.read_bytes == 2 * draft.dense_bytes + row * (3 + 4)
    assert proposer.work.write_bytes == row * (3 + 1)
    one.token_ids += [*first.token_ids, 7]
    proposer.propose([one])  # the second drafted one and the target's, then one more
    assert proposer.work.read_bytes == 2 * draft.dense_bytes + row * (6 + 7)
    assert proposer.work.write_bytes == row * (2 + 1)
    layer = 2 * 32 * 32 + 2 * 32 * 16 + 3 * 32 * 48 + 2 * 32  # q and o, k and v, gate up down, norms
    pairs = 4 * 2 * 2 * (8 + 8)  # FLOPs of scores and values a pair of tokens, 4 heads, 2 layers
    seen = (5 + 6) + 7
    assert proposer.work.flops == 3 * 2 * (2 * layer + 32) + 2 * (2 * 32 * 40) + pairs * seen


def test_without_sequences_to_draft_for_there_is_no_work() -> None:
    proposer = DraftModelProposer(model(LLAMA), k=2, num_blocks=64, block_size=4)
    proposer.propose(sequences(0.0))
    proposer.propose([])
    assert proposer.work == Work()
