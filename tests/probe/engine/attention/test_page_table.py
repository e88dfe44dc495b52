"""Which pages does FlashInfer get to see, and what do sinks make of its answer?"""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch", reason="the engine's tests need the extra `probe`")

from probe.engine.attention.flash import with_sinks  # noqa: E402
from probe.engine.attention.flashinfer_backend import FlashInferAttention  # noqa: E402
from probe.engine.attention.metadata import BatchMetadata, GroupMetadata  # noqa: E402
from probe.engine.attention.page_table import PageTable, page_table  # noqa: E402
from probe.engine.errors import ProbeError  # noqa: E402


def test_rows_of_pages_by_hand() -> None:
    """Block size 4: 8 + 1 tokens fill 3 pages (1 in the last), 0 + 4 fill one; the spare block of the second isn't named."""
    group = GroupMetadata(None, [[7, 2, 5], [3, 9]], torch.tensor([20, 12, 13, 14, 15]))
    batch = BatchMetadata([1, 4], [8, 0], 4, torch.zeros(5, dtype=torch.long), [group])
    assert page_table(batch, group) == PageTable([0, 1, 5], [0, 3, 4], [7, 2, 5, 3], [1, 4])


def test_a_passed_window_keeps_its_place() -> None:
    group = GroupMetadata(4, [[-1, 2, 5]], torch.tensor([20]))
    batch = BatchMetadata([1], [8], 4, torch.zeros(1, dtype=torch.long), [group])
    assert page_table(batch, group).kv_indices == [0, 2, 5]


def test_a_sink_takes_its_share_of_the_softmax() -> None:
    """Two scores of 0 with values 4 and 8, lse = ln 2; a sink of logit ln 2 takes half: 6 becomes 3."""
    out, lse, sink = torch.tensor([[[6.0]]]), torch.tensor([[0.6931472]]), torch.tensor([0.6931472])
    assert with_sinks((out, lse), sink).item() == pytest.approx(3.0)


@pytest.mark.skipif(torch.cuda.is_available(), reason="a CUDA device is at hand")
def test_without_library_or_device_the_backend_is_refused_by_name() -> None:
    with pytest.raises(ProbeError, match="attention_backend: 'flashinfer'"):
        FlashInferAttention()
