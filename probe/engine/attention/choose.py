"""Which attention backend runs here? The one that was named, else the best that the device and its libraries allow."""

from __future__ import annotations

from importlib.util import find_spec

import torch

from probe.engine.attention.torch_paged import TorchPagedAttention
from probe.engine.errors import ProbeError
from probe.engine.interfaces import AttentionBackend


def attention_backend(
    name: str,
    dtype: torch.dtype,
    device: torch.device,
    *,
    mla: bool = False,
    graphs: bool = False,
    packed: bool = False,
) -> AttentionBackend:
    """The backend `auto`, `torch`, `triton` or `flashinfer`.

    auto: Torch's on a CPU; on a GPU FlashInfer's where it is installed, but Triton's for MLA layers, which FlashInfer's paged kernels
    don't run, for steps replayed from CUDA graphs, which its plan of a step isn't part of, and for a cache in eight bits.

    Args: packed: the KV cache is in eight bits.

    Raises ProbeError for a backend that can't run here, naming why.
    """
    if name == "auto":
        spare = find_spec("flashinfer") is not None and not (mla or graphs or packed)
        name = "torch" if device.type != "cuda" else "flashinfer" if spare else "triton"
    if name == "torch":
        return TorchPagedAttention(dtype)
    if name == "triton":
        return _triton(device)
    for there, why in ((mla, "MLA layers"), (graphs, "CUDA graphs"), (packed, "a cache in eight bits")):
        if there:
            raise ProbeError(f"attention_backend: 'flashinfer' doesn't run {why}; use 'triton'")
    from probe.engine.attention.flashinfer_backend import FlashInferAttention  # noqa: PLC0415 (the extra `gpu`)

    return FlashInferAttention(device)


def _triton(device: torch.device) -> AttentionBackend:
    try:
        from probe.engine.attention.triton_backend import TritonAttention  # noqa: PLC0415 (the extra `gpu`)
        from probe.engine.attention.triton_dot import INTERPRETED  # noqa: PLC0415
    except ImportError as missing:
        raise ProbeError("attention_backend: 'triton', and the library isn't installed (extra `gpu`)") from missing
    if device.type != "cuda" and not INTERPRETED:
        raise ProbeError(f"attention_backend: 'triton' on {device} needs TRITON_INTERPRET=1")
    return TritonAttention()
