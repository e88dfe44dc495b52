"""Are a step's estimated bytes and FLOPs those of its shapes, by hand?"""

from __future__ import annotations

import math

import pytest

torch = pytest.importorskip("torch", reason="the engine's tests need the extra `probe`")
pytest.importorskip("transformers", reason="the small models come with the extra `probe-test`")

from probe.engine.attention.quantised import QuantisedAttention  # noqa: E402
from probe.engine.attention.torch_paged import TorchPagedAttention  # noqa: E402
from probe.engine.engine import Engine  # noqa: E402
from probe.engine.estimate import Part, StepEstimator, _pairs  # noqa: E402
from probe.engine.interfaces import Work  # noqa: E402
from probe.engine.models.shapes import weight_shapes  # noqa: E402
from probe.engine.options import EngineConfig  # noqa: E402
from probe.engine.spec.draft_model import DraftModelProposer  # noqa: E402
from tests.probe.engine.models.peers import ours  # noqa: E402
from tests.probe.engine.models.small import SMALL  # noqa: E402
from tests.probe.engine.serving import GREEDY, SHORT, engine, prompt  # noqa: E402


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
