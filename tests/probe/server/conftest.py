"""Which tokenizer do the server's tests use? A byte-level one made on the spot: every text has ids, nothing is downloaded."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(scope="package")
def tokenizer_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A `tokenizer.json` of 256 bytes, id = rank of the byte among the byte-level characters."""
    tokenizers = pytest.importorskip("tokenizers", reason="texts need the extra `probe`")
    letters = sorted(tokenizers.pre_tokenizers.ByteLevel.alphabet())
    tokenizer = tokenizers.Tokenizer(tokenizers.models.BPE({letter: i for i, letter in enumerate(letters)}, []))
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = tokenizers.decoders.ByteLevel()
    path = tmp_path_factory.mktemp("tokenizer") / "tokenizer.json"
    tokenizer.save(str(path))
    return path
