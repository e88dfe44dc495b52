"""Which engine is measured: its model, its options, what it can hold?"""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import msgspec
import torch

from probe.engine.engine import Engine
from probe.engine.models.config import ModelConfig
from probe.fit.model import Experts
from probe.measure.errors import MeasureRefused
from probe.measure.lay import fill
from probe.measure.plan import Limits
from probe.server.build import build_model, engine_config, forward_of, on_device
from probe.server.options import ServeOptions


@dataclass(frozen=True)
class Rig:
    """An engine with a cache full of noise, and the options that it was made of. Attributes: threads: of torch on a CPU."""

    engine: Engine
    options: ServeOptions
    threads: int

    @property
    def config(self) -> ModelConfig:
        return self.engine.runner.model.config

    @property
    def experts(self) -> Experts:
        moe = self.config.routed
        return Experts() if moe is None else Experts(moe.num_experts, moe.num_experts_per_tok)

    @property
    def limits(self) -> Limits:
        manager, options = self.engine.manager, self.options
        return Limits(
            num_blocks=manager.num_blocks // len(manager.windows),
            block_size=manager.block_size,
            token_budget=options.max_num_batched_tokens,
            max_model_len=options.max_model_len,
            max_num_seqs=options.max_num_seqs,
            moe=self.config.routed is not None,
        )


def build_rig(options: ServeOptions, threads: int | None = None) -> Rig:
    """An engine as `tokencogs probe serve` would run it. Raises MeasureRefused for what a sweep can't hold still: speculation changes
    what a step computes from one to the next."""
    if options.speculative_method != "none":
        raise MeasureRefused("speculative_method", options.speculative_method, "a sweep measures plain steps")
    if threads is not None:
        torch.set_num_threads(threads)
    options, device = on_device(options)
    model = build_model(options, options.model, device)
    engine = Engine(model, engine_config(options), forward=forward_of(options, model))
    fill(engine)
    return Rig(engine, options, torch.get_num_threads())


def options_of(rig: Rig) -> dict[str, Any]:
    """The options as plain values, for the result file: `rig_of` makes the same rig of them."""
    kept = {one.name: getattr(rig.options, one.name) for one in fields(rig.options) if one.name not in _OF_A_SERVER}
    return {name: list(v) if isinstance(v, tuple) else v for name, v in kept.items()} | {"threads": rig.threads}


def rig_of(options: dict[str, Any]) -> Rig:
    """The rig that options of a result file describe. Raises MeasureRefused naming an option that isn't one, or is missing."""
    known = {one.name for one in fields(ServeOptions)} - _OF_A_SERVER
    unknown = sorted(set(options) - known - {"threads"})
    if unknown:
        raise MeasureRefused("engine.options", unknown[0], "isn't an option of the built-in engine")
    if "model" not in options:
        raise MeasureRefused(
            "engine.options", None, "`model` is missing: this was not measured by `tokencogs probe run`"
        )
    values = {name: value for name, value in options.items() if name != "threads"}
    if values.get("kv_cache_memory_bytes") is not None:
        values["gpu_memory_utilization"] = None  # the bytes decide; files of a CPU once had a share beside them
    threads = options.get("threads")
    if threads is not None and (not isinstance(threads, int) or threads < 1):
        raise MeasureRefused("engine.options.threads", threads, "a whole number from 1 is expected")
    try:
        given = msgspec.convert(values, ServeOptions)
    except msgspec.ValidationError as wrong:
        why, _, at = str(wrong).partition(" - at `$")
        name = at.rstrip("`") or f".{why.split(':')[0]}"
        raise MeasureRefused(f"engine.options{name}", values.get(name[1:]), why) from None
    return build_rig(given, threads)


_OF_A_SERVER = {"served_model_name", "tokenizer", "ledger"}


def folder_of(options: ServeOptions) -> Path | None:
    """The model's folder, where it was given as one."""
    folder = Path(options.model)
    return folder if (folder / "config.json").exists() else None
