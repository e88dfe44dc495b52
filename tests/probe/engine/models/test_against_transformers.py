"""Are the logits those of transformers on the same random weights, for every architecture?"""

from __future__ import annotations

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


@pytest.mark.parametrize("name", SMALL)
def test_bf16_logits_differ_by_rounding_only(name: str) -> None:
    """transformers' own bf16 logits are 0.008 to 0.024 away from its fp32 ones."""
    got = whole_prompt_logits(ours(SMALL[name], torch.bfloat16), PROMPT)
    wanted = reference_logits(theirs(SMALL[name], torch.bfloat16), PROMPT)
    assert ((got - wanted).norm() / wanted.norm()).item() < BF16_TOLERANCE
