"""What are the studies called? Known without torch, for the command's help."""

from __future__ import annotations

NAMES = (
    "attention",
    "batching",
    "chunked-prefill",
    "length",
    "moe",
    "paging",
    "prefix-caching",
    "quantisation",
    "speculation",
)
