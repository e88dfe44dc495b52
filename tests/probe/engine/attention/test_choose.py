"""Which backend attends on which device, and what is said of one that can't?"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="the engine's tests need the extra `probe`")

from probe.engine.attention import choose, flashinfer_backend  # noqa: E402
from probe.engine.attention.choose import attention_backend  # noqa: E402
from probe.engine.errors import ProbeError  # noqa: E402
from probe.server.options import ATTENTION_BACKENDS  # noqa: E402

CPU, GPU = torch.device("cpu"), torch.device("cuda")


def made(name: str, device: Any, **more: bool) -> str:
    return type(attention_backend(name, torch.bfloat16, device, **more)).__name__


def test_a_cpu_has_torchs_and_the_one_that_is_named() -> None:
    assert (made("auto", CPU), made("torch", CPU), made("triton", CPU)) == (
        "TorchPagedAttention",
        "TorchPagedAttention",
        "TritonAttention",
    )
    with pytest.raises(ProbeError, match="attention_backend: 'flashinfer'"):
        attention_backend("flashinfer", torch.bfloat16, CPU)


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A library of FlashInfer's name and a device: which class is made can be told without either; nothing runs on it."""
    monkeypatch.setitem(sys.modules, "flashinfer", ModuleType("flashinfer"))
    monkeypatch.setattr(choose, "find_spec", lambda name: name)
    monkeypatch.setattr(flashinfer_backend.torch.cuda, "is_available", lambda: True)


@pytest.mark.usefixtures("installed")
def test_a_gpu_has_flashinfers_where_it_is_installed_and_can_run_the_model() -> None:
    assert made("auto", GPU) == "FlashInferAttention"
    for kind in ("mla", "graphs", "packed"):
        assert made("auto", GPU, **{kind: True}) == "TritonAttention"
        with pytest.raises(ProbeError, match="use 'triton'"):
            attention_backend("flashinfer", torch.bfloat16, GPU, **{kind: True})
    assert made("triton", GPU) == "TritonAttention"


def test_a_gpu_without_the_library_has_tritons(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(choose, "find_spec", lambda _: None)
    assert made("auto", GPU) == "TritonAttention"


@pytest.mark.usefixtures("installed")
def test_what_the_commands_offer_is_made() -> None:
    found = {name: made(name, GPU) for name in ATTENTION_BACKENDS}
    assert found == {
        "auto": "FlashInferAttention",
        "torch": "TorchPagedAttention",
        "triton": "TritonAttention",
        "flashinfer": "FlashInferAttention",
    }
