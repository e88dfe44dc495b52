"""Does a decode step computed on fixed buffers give the logits and the cache of a plain one? (The recording itself needs a GPU.)"""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch", reason="the engine's tests need the extra `probe`")
pytest.importorskip("triton", reason="the Triton kernels need the extra `gpu`")

from probe.engine.attention.dense import DenseAttention  # noqa: E402
from probe.engine.attention.metadata import BatchMetadata, GroupMetadata  # noqa: E402
from probe.engine.attention.triton_backend import TritonAttention  # noqa: E402
from probe.engine.engine import Engine, drain  # noqa: E402
from probe.engine.errors import ProbeError  # noqa: E402
from probe.engine.graphs import GraphedModel  # noqa: E402
from probe.engine.interfaces import AttentionBackend, SamplingParams  # noqa: E402
from probe.engine.kv.cache import LayerCache  # noqa: E402
from probe.engine.linear import linear_factory  # noqa: E402
from probe.engine.models.hf_config import parse_config  # noqa: E402
from probe.engine.models.model import Model  # noqa: E402
from probe.engine.models.weights import RandomWeights  # noqa: E402
from probe.engine.options import EngineConfig  # noqa: E402
from probe.engine.scheduler import SchedulerConfig  # noqa: E402

RAW = {
    "model_type": "llama",
    "num_hidden_layers": 1,
    "hidden_size": 32,
    "num_attention_heads": 2,
    "num_key_value_heads": 1,
    "head_dim": 16,
    "intermediate_size": 32,
    "vocab_size": 24,
    "rms_norm_eps": 1e-5,
    "max_position_embeddings": 64,
}
TABLES = [[5, 2, 7], [1, 6, 3]]


def model(backend: AttentionBackend, **changes: object) -> Model:
    config = parse_config({**RAW, **changes})
    return Model(config, RandomWeights(config), linear_factory(), backend, max_model_len=64)


def cache() -> list[LayerCache]:
    return [
        LayerCache.allocate(model(DenseAttention()).config.attention_spec(0), 8, 4, torch.float32, torch.device("cpu"))
    ]


def batch(num_new: list[int], num_past: list[int]) -> BatchMetadata:
    at = [range(past, past + new) for past, new in zip(num_past, num_new, strict=True)]
    slots = [table[i // 4] * 4 + i % 4 for table, positions in zip(TABLES, at, strict=False) for i in positions]
    group = GroupMetadata(None, TABLES[: len(num_new)], torch.tensor(slots))
    return BatchMetadata(num_new, num_past, 4, torch.tensor([i for p in at for i in p]), [group], 8)


def test_replayed_steps_equal_plain_ones_step_after_step() -> None:
    plain, graphed = model(DenseAttention()), GraphedModel(model(TritonAttention()))
    ours, theirs = cache(), cache()
    tokens = torch.tensor([1, 2, 3, 4, 5, 6, 7])
    first = batch([5, 2], [0, 0])
    torch.testing.assert_close(
        graphed.forward(tokens, first, ours), plain.forward(tokens, batch([5, 2], [0, 0]), theirs), atol=1e-4, rtol=1e-4
    )
    for step in range(4):
        now = torch.tensor([8 + step, 20 - step])
        got = graphed.forward(now, batch([1, 1], [5 + step, 2 + step]), ours)
        want = plain.forward(now, batch([1, 1], [5 + step, 2 + step]), theirs)
        torch.testing.assert_close(got, want, atol=1e-4, rtol=1e-4)
    torch.testing.assert_close(ours[0].key, theirs[0].key, atol=1e-4, rtol=1e-4)
    assert graphed.num_graphs == 2  # contexts of 6, 7 and 8 tokens share one; 9 tokens begin the next power of two


def test_an_engine_on_graphs_answers_what_a_plain_one_answers() -> None:
    """Prompts of 5 and 9 tokens; the second joins while the first decodes."""
    answers = []
    for forward in (None, GraphedModel(model(TritonAttention())).forward):
        config = EngineConfig(block_size=4, num_blocks=16, scheduler=SchedulerConfig(max_model_len=64))
        one = Engine(model(DenseAttention()), config, forward=forward)
        one.add_request([1, 2, 3, 4, 5], SamplingParams(max_tokens=6, temperature=0.0), "a")
        one.step()
        one.add_request([9, 8, 7, 6, 5, 4, 3, 2, 1], SamplingParams(max_tokens=4, temperature=0.0), "b")
        answers.append(drain(one))
    assert answers[0] == answers[1]
    assert [len(tokens) for tokens in answers[1].values()] == [5, 4]  # the first token of a came before


def test_each_batch_size_has_its_own_graph() -> None:
    graphed, ours = GraphedModel(model(TritonAttention())), cache()
    graphed.forward(torch.tensor([1]), batch([1], [4]), ours)
    graphed.forward(torch.tensor([1, 2]), batch([1, 1], [4, 4]), ours)
    graphed.forward(torch.tensor([2]), batch([1], [5]), ours)
    assert graphed.num_graphs == 2


def test_a_backend_that_plans_on_the_host_is_refused() -> None:
    with pytest.raises(ProbeError, match="cuda_graphs: needs the Triton backend, got DenseAttention"):
        GraphedModel(model(DenseAttention()))


def test_a_model_with_experts_is_refused() -> None:
    experts = {"num_local_experts": 4, "num_experts_per_tok": 2}
    with pytest.raises(ProbeError, match="cuda_graphs: a model with experts"):
        GraphedModel(model(TritonAttention(), model_type="mixtral", **experts))
