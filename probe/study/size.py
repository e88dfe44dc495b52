"""How large are a study's models, batches and contexts?"""

from __future__ import annotations

from dataclasses import dataclass

from probe.engine.models.config import ModelConfig, RopeConfig


@dataclass(frozen=True)
class Size:
    """One set of sizes for all studies.

    Attributes:
        layers, hidden, heads, kv_heads, head_dim, ffn, vocabulary: of the dense model that others are made from.
        short, long: tokens of contexts and prompts; many: sequences of a large batch.
        steps: repetitions of which the median is one measurement.
        dtype: of weights and cache.
    """

    layers: int
    hidden: int
    heads: int
    kv_heads: int
    head_dim: int
    ffn: int
    vocabulary: int
    short: int
    long: int
    many: int
    steps: int
    dtype: str = "bfloat16"

    @property
    def config(self) -> ModelConfig:
        """The dense model."""
        return ModelConfig(
            model_type="llama",
            vocab_size=self.vocabulary,
            hidden_size=self.hidden,
            num_hidden_layers=self.layers,
            num_attention_heads=self.heads,
            num_key_value_heads=self.kv_heads,
            head_dim=self.head_dim,
            intermediate_size=self.ffn,
            rope=RopeConfig(10000.0),
            windows=(None,) * self.layers,
        )


# A step of the first takes milliseconds on a few CPU cores; the second only shows that a study runs.
CPU = Size(4, 512, 8, 2, 64, 2048, 8192, short=64, long=1024, many=16, steps=3)
TINY = Size(2, 32, 4, 2, 16, 64, 256, short=8, long=48, many=4, steps=1, dtype="float32")
# Llama-3.1-8B's layer, a quarter of its depth: for one GPU.
GPU = Size(8, 4096, 32, 8, 128, 14336, 32768, short=256, long=8192, many=64, steps=10)
SIZES = {"cpu": CPU, "tiny": TINY, "gpu": GPU}
