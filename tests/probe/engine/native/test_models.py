"""Does a model say the same with the kernels and without them?"""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch", reason="the engine's tests need the extra `probe`")
pytest.importorskip("transformers", reason="the small models stand beside transformers' own (the extra `probe-test`)")

from probe.engine.attention.metadata import BatchMetadata, GroupMetadata  # noqa: E402
from probe.engine.kv.cache import LayerCache  # noqa: E402
from probe.engine.linear import linear_factory  # noqa: E402
from probe.engine.linear.packed import PackedLinear, packing_available  # noqa: E402
from probe.engine.linear.panels import PanelLinear  # noqa: E402
from probe.engine.linear.plain import PlainLinear  # noqa: E402
from probe.engine.models.model import Model  # noqa: E402
from probe.engine.native import pool  # noqa: E402
from tests.probe.engine.models.peers import ours  # noqa: E402
from tests.probe.engine.models.small import SMALL  # noqa: E402

needs_kernels = pytest.mark.skipif(not pool.available(), reason="needs numba, and torch with libgomp")
needs_packing = pytest.mark.skipif(not packing_available(), reason="needs oneDNN and a processor with bf16")
WIDE = {name: {**SMALL[name], "head_dim": 64} for name in ("llama", "mistral", "qwen3", "gpt_oss", "mixtral")}
LATENT = {"q_lora_rank": 64, "kv_lora_rank": 96, "qk_nope_head_dim": 32, "qk_rope_head_dim": 32, "v_head_dim": 24}
WIDE |= {name: {**SMALL[name], **LATENT} for name in ("deepseek_v2", "deepseek_v3")}
WIDE["deepseek_v2 lite"] = {**SMALL["deepseek_v2 lite"], **LATENT, "q_lora_rank": None}
STEPS = [11, 3, 1, 1, 2, 1]
# Of the logits' norm. Where a sum is rounded differs, now and then another expert; two orders of sums in transformers: 0.008 to 0.024.
TOLERANCE = 0.04


def logits(model: Model, steps: list[int] = STEPS) -> torch.Tensor:
    """[tokens, vocabulary] of one sequence whose tokens come in steps of so many."""
    tokens, size = [(17 * i * i + 3) % 256 for i in range(sum(steps))], 4
    groups, blocks = len(model.groups), -(-sum(steps) // 4)
    spec = model.config.attention_spec(0)
    caches = [
        LayerCache.allocate(spec, groups * blocks, size, model.dtype, model.device) for _ in model.groups[0].layers
    ]
    found, past = [], 0
    for new in steps:
        at = list(range(past, past + new))
        metadata = []
        for number, one in enumerate(model.groups):
            table = [number * blocks + i for i in range(blocks)]
            slots = torch.tensor([table[i // size] * size + i % size for i in at])
            metadata.append(GroupMetadata(one.window, [table], slots))
        batch = BatchMetadata([new], [past], size, torch.tensor(at), metadata, num_blocks=groups * blocks)
        found.append(model.forward(torch.tensor(tokens[past : past + new]), batch, caches))
        past += new
    return torch.cat(found)


@needs_kernels
@needs_packing
@pytest.mark.parametrize("name", WIDE)
def test_kernels_change_no_more_than_rounding(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    fast = logits(ours(WIDE[name], torch.bfloat16))
    monkeypatch.setattr(pool, "available", lambda: False)
    plain = logits(ours(WIDE[name], torch.bfloat16))
    assert not torch.equal(fast, plain)
    assert ((fast - plain).norm() / plain.norm()).item() < TOLERANCE


@needs_kernels
@pytest.mark.parametrize("name", WIDE)
def test_a_prompt_in_pieces_gives_the_same_bits(name: str) -> None:
    """As a prefix hit or a chunk does. A piece of a single token is summed in another order."""
    model = ours(WIDE[name], torch.bfloat16)
    whole = logits(model, [90])
    assert torch.equal(logits(model, [2, 7, 60, 21]), whole)
    assert torch.equal(logits(model, [71, 19]), whole)


@needs_kernels
def test_float32_is_left_to_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    with_kernels = logits(ours(WIDE["llama"]))
    monkeypatch.setattr(pool, "available", lambda: False)
    assert torch.equal(logits(ours(WIDE["llama"])), with_kernels)


@needs_packing
def test_a_weight_lies_in_panels_where_the_kernel_can_take_it(monkeypatch: pytest.MonkeyPatch) -> None:
    make, even = linear_factory(), torch.ones(3, 66, dtype=torch.bfloat16)
    if pool.available():
        assert type(make(even, None, "w")) is PanelLinear
    assert type(make(torch.ones(4, 65, dtype=torch.bfloat16), None, "w")) is PackedLinear
    monkeypatch.setattr(pool, "available", lambda: False)
    assert type(make(even, None, "w")) is PackedLinear
    assert type(make(even.float(), None, "w")) is PlainLinear
