"""Are the logits those of transformers on the same random weights, for every architecture?"""

from __future__ import annotations

from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="the engine's tests need the extra `probe`")
pytest.importorskip("transformers", reason="the comparison needs the extra `probe-test`")

from tests.probe.engine.models.peers import ours, reference_logits, theirs, whole_prompt_logits  # noqa: E402
from tests.probe.engine.models.small import SMALL  # noqa: E402

PROMPT = [(17 * i * i + 5 * i + 3) % 256 for i in range(40)]
BF16_TOLERANCE = 0.04  # of the logits' norm: 8 bits of mantissa, sums in another order, now and then another expert


@pytest.mark.parametrize("name", SMALL)
def test_fp32_logits_equal_within_1e_4(name: str) -> None:
    got = whole_prompt_logits(ours(SMALL[name]), PROMPT)
    wanted = reference_logits(theirs(SMALL[name]), PROMPT)
    assert wanted.std() > 0.3  # logits that could tell models apart
    torch.testing.assert_close(got, wanted, atol=1e-4, rtol=0)


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("qwen3", {"use_sliding_window": True, "sliding_window": 9, "max_window_layers": 1}),
        ("qwen3", {"use_sliding_window": True, "sliding_window": 9}),
        (
            "qwen3",
            {"use_sliding_window": True, "sliding_window": 9, "layer_types": ["sliding_attention", "full_attention"]},
        ),
        ("qwen3_moe", {"use_sliding_window": True, "sliding_window": 9, "max_window_layers": 2}),
        ("qwen3_moe", {"use_sliding_window": True, "sliding_window": 9, "layer_types": ["full_attention"] * 3}),
        ("qwen3_moe", {"sliding_window": 9}),
        ("mistral", {"use_sliding_window": False}),
        ("mistral", {"layer_types": ["full_attention", "sliding_attention"]}),
        ("mixtral", {"sliding_window": 9, "use_sliding_window": False}),
        ("gpt_oss", {"layer_types": None}),
        ("gpt_oss", {"layer_types": ["full_attention", "sliding_attention"]}),
    ],
)
def test_windows_are_read_as_transformers_reads_them(name: str, change: dict[str, Any]) -> None:
    raw = {**SMALL[name], **change}
    got, wanted = whole_prompt_logits(ours(raw), PROMPT), reference_logits(theirs(raw), PROMPT)
    torch.testing.assert_close(got, wanted, atol=1e-4, rtol=0)


ABSENT = [
    (name, field)
    for name in SMALL
    for field in ("rope_theta", "rms_norm_eps", "rope_scaling", "attention_bias", "norm_topk_prob", "topk_method")
    if field in SMALL[name] and (name, field) != ("gpt_oss", "rope_scaling")
]
UNREAD: list[tuple[str, dict[str, Any]]] = [
    ("qwen3", {"mlp_bias": True}),
    ("qwen3_moe", {"mlp_bias": True}),
    ("deepseek_v2", {"rope_interleave": False}),
    ("deepseek_v3", {"rope_interleave": False}),
]
"""Fields that only some architectures read."""


@pytest.mark.parametrize(("name", "field"), ABSENT)
def test_a_field_that_is_absent_has_the_value_that_transformers_gives_it(name: str, field: str) -> None:
    raw = {key: value for key, value in SMALL[name].items() if key != field}
    got, wanted = whole_prompt_logits(ours(raw), PROMPT), reference_logits(theirs(raw), PROMPT)
    torch.testing.assert_close(got, wanted, atol=1e-4, rtol=0)


@pytest.mark.parametrize(("name", "change"), UNREAD)
def test_a_field_counts_where_transformers_reads_it(name: str, change: dict[str, Any]) -> None:
    raw = {**SMALL[name], **change}
    got, wanted = whole_prompt_logits(ours(raw), PROMPT), reference_logits(theirs(raw), PROMPT)
    torch.testing.assert_close(got, wanted, atol=1e-4, rtol=0)


@pytest.mark.parametrize("name", SMALL)
def test_bf16_logits_differ_by_rounding_only(name: str) -> None:
    """transformers' own bf16 logits are 0.008 to 0.024 away from its fp32 ones."""
    got = whole_prompt_logits(ours(SMALL[name], torch.bfloat16), PROMPT)
    wanted = reference_logits(theirs(SMALL[name], torch.bfloat16), PROMPT)
    assert ((got - wanted).norm() / wanted.norm()).item() < BF16_TOLERANCE
