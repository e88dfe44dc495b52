"""How does an engine with its server come from the command's options? Model, backend, cache, speculation, tokenizer."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from fastapi import FastAPI

from probe.engine.attention.choose import attention_backend
from probe.engine.attention.quantised import QuantisedAttention
from probe.engine.engine import Engine
from probe.engine.errors import ProbeError
from probe.engine.interfaces import AttentionBackend, Proposer, Sampler
from probe.engine.kv.capacity import block_bytes, kv_budget
from probe.engine.kv.groups import num_blocks_for
from probe.engine.ledger import LedgerWriter
from probe.engine.linear import linear_factory
from probe.engine.models.config import ModelConfig
from probe.engine.models.hf_config import load_config
from probe.engine.models.model import Model
from probe.engine.models.presets import preset
from probe.engine.models.scale import scaled
from probe.engine.models.weights import RandomWeights, SafetensorsWeights, Weights, weight_files
from probe.engine.native import calls, pool
from probe.engine.options import EngineConfig
from probe.engine.runner import Forward
from probe.engine.scheduler import SchedulerConfig
from probe.engine.spec.draft_model import DraftModelProposer
from probe.engine.spec.ngram import NgramProposer
from probe.engine.spec.sampler import SpeculativeSampler
from probe.engine.spec.synthetic import RandomProposer, SyntheticAcceptance
from probe.server.app import Served, create_app
from probe.server.options import ServeOptions
from probe.server.text import Text

CPU_BYTES = 1 << 30  # of KV cache, where nothing is said
DRAFT_SHARE = 4  # the draft model's cache gets a quarter of the budget; on a GPU the target's gets what is left then


def build(options: ServeOptions) -> FastAPI:
    """The application, its engine ready. Errors: ProbeError and ValueError naming what can't be."""
    options, device = on_device(options)
    model = build_model(options, options.model, device)
    if pool.takes(model.embedding):
        calls.compile_all()
    config = engine_config(options)
    text = _text(options)
    ledger = LedgerWriter(options.ledger, _run(options, device)) if options.ledger else None
    engine = Engine(
        model,
        config,
        sampler=_sampler(options),
        proposer=_proposer(options, model),
        ledger=ledger,
        forward=forward_of(options, model),
    )
    name = options.served_model_name or options.model
    served = Served(
        engine, name, model.config.vocab_size, options.max_model_len, text, ledger.close if ledger else None
    )
    return create_app(served)


def on_device(options: ServeOptions) -> tuple[ServeOptions, torch.device]:
    """The device, and the options with what was left open there. Errors: ProbeError for an option that the device has no use for."""
    device = torch.device(options.device or ("cuda" if torch.cuda.is_available() else "cpu"))
    if device.type == "cuda":
        if options.kv_cache_memory_bytes is None and options.gpu_memory_utilization is None:
            options = replace(options, gpu_memory_utilization=EngineConfig.gpu_memory_utilization)
        return options, device
    for name in ("cuda_graphs", "gpu_memory_utilization"):
        if (given := getattr(options, name)) not in (None, False):
            raise ProbeError(f"{name}: {given}, and the device is {device.type}: it is for a GPU")
    if options.kv_cache_memory_bytes is None:
        options = replace(options, kv_cache_memory_bytes=CPU_BYTES)
    return options, device


def _run(options: ServeOptions, device: torch.device) -> dict[str, Any]:
    """What the ledger says of its run."""
    names = ("model", "scale", "seed", "dtype", "quantization", "kv_cache_dtype", "attention_backend", "block_size")
    return {name: getattr(options, name) for name in names} | {"device": str(device)}


def build_model(options: ServeOptions, name: str, device: torch.device) -> Model:
    """A model of a folder or a preset, with its linear and attention backends."""
    if device.type == "cuda" and not torch.cuda.is_available():
        raise ProbeError(f"device: {str(device)!r}, and torch {torch.__version__} sees no CUDA device")
    dtype = getattr(torch, options.dtype)
    folder = Path(name)
    in_folder = (folder / "config.json").exists()
    config = scaled(load_config(folder / "config.json") if in_folder else preset(name), options.scale)
    return Model(
        config,
        _weights(options, config, folder if in_folder else None, dtype, device),
        linear_factory(options.quantization, device),
        _backend(options, config, dtype, device),
        dtype=dtype,
        device=device,
        max_model_len=options.max_model_len,
    )


def engine_config(options: ServeOptions) -> EngineConfig:
    scheduler = SchedulerConfig(
        max_num_batched_tokens=options.max_num_batched_tokens,
        max_num_seqs=options.max_num_seqs,
        max_model_len=options.max_model_len,
        policy="prefill_first" if options.policy == "prefill_first" else "decode_first",
    )
    share = options.gpu_memory_utilization
    return EngineConfig(
        block_size=options.block_size,
        kv_cache_bytes=options.kv_cache_memory_bytes,
        gpu_memory_utilization=EngineConfig.gpu_memory_utilization if share is None else share,
        enable_prefix_caching=options.enable_prefix_caching,
        kv_cache_dtype=options.kv_cache_dtype,
        seed=options.seed,
        scheduler=scheduler,
    )


def _weights(
    options: ServeOptions, config: ModelConfig, folder: Path | None, dtype: torch.dtype, device: torch.device
) -> Weights:
    if folder is None or not weight_files(folder):
        return RandomWeights(config, options.seed, dtype, device)
    if options.scale != 1.0:
        raise ValueError(f"scale: {options.scale} shrinks random weights only, {folder} has real ones")
    return SafetensorsWeights(config, folder, dtype, device)


def _backend(options: ServeOptions, config: ModelConfig, dtype: torch.dtype, device: torch.device) -> AttentionBackend:
    """What attends; around it, where the cache is in eight bits, what dequantises."""
    packed = options.kv_cache_dtype != "auto"
    found = attention_backend(
        options.attention_backend,
        dtype,
        device,
        mla=config.mla is not None,
        graphs=options.cuda_graphs,
        packed=packed,
    )
    return QuantisedAttention(found) if packed else found


def forward_of(options: ServeOptions, model: Model) -> Forward | None:
    """Decode steps replayed from CUDA graphs where that was asked for; None: the model's own."""
    if not options.cuda_graphs:
        return None
    from probe.engine.graphs import GraphedModel  # noqa: PLC0415 (the extra `gpu`)

    return GraphedModel(model).forward


def _sampler(options: ServeOptions) -> Sampler:
    sampler = SpeculativeSampler(options.seed)
    return SyntheticAcceptance(options.synthetic_acceptance, sampler) if options.synthetic_acceptance else sampler


def _proposer(options: ServeOptions, model: Model) -> Proposer | None:
    k = options.num_speculative_tokens
    if options.speculative_method == "ngram":
        return NgramProposer(k)
    if options.speculative_method == "random":
        return RandomProposer(k, model.config.vocab_size, options.seed)
    if options.speculative_method == "draft_model":
        assert options.speculative_model is not None
        plain = replace(options, kv_cache_dtype="auto")  # a wrong draft costs a step, so its cache is kept exact
        draft = build_model(plain, options.speculative_model, model.device)
        if draft.config.vocab_size != model.config.vocab_size:
            sizes = f"{draft.config.vocab_size} words, the model {model.config.vocab_size}"
            raise ValueError(f"speculative_model: {options.speculative_model!r} has {sizes}")
        budget = kv_budget(draft, engine_config(plain)) // DRAFT_SHARE
        blocks = num_blocks_for(budget, block_bytes(draft, engine_config(plain)))
        return DraftModelProposer(draft, k, blocks, options.block_size, options.seed)
    return None


def _text(options: ServeOptions) -> Text | None:
    beside = Path(options.model) / "tokenizer.json"
    file = options.tokenizer or (beside if beside.exists() else None)
    return None if file is None else Text(file)
