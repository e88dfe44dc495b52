"""What was measured on what: model, engine and device as the result file names them."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import shutil
import subprocess
from dataclasses import asdict
from importlib import metadata
from pathlib import Path
from typing import Any

import torch

from probe.curve.peaks import nominal_bandwidth, nominal_flops
from probe.curve.schema import DeviceInfo, EngineInfo, ModelInfo
from probe.curve.setup_shape import shape_in_file
from probe.engine.kv.capacity import block_bytes
from probe.engine.models.shapes import num_parameters
from probe.engine.models.weights import weight_files
from probe.measure.ceilings import Measured
from probe.measure.rig import Rig, folder_of, options_of
from probe.server.build import engine_config


def model_info(rig: Rig) -> ModelInfo:
    """Name, hash and shape. A scaled model says so in its name, as its times are not those of the model it is shaped like."""
    options, config = rig.options, rig.config
    folder = folder_of(options)
    random_weights = folder is None or not weight_files(folder)
    name = options.model if folder is None else folder.name
    shape = shape_in_file(config)
    return ModelInfo(
        name=name if options.scale == 1.0 else f"{name} x{options.scale:g}",
        model_hash=model_hash(rig, None if random_weights else folder),
        architecture=shape.fields,
        attention=shape.attention,
        sliding_window=shape.sliding_window,
        dtype=options.dtype,
        quantization=options.quantization,
        random_weights=random_weights,
        parameters=num_parameters(config),
    )


def model_hash(rig: Rig, folder: Path | None) -> str:
    """sha256 of the configuration and of the weights: the bytes of the files, or the seed and dtype that random ones are drawn from."""
    digest = hashlib.sha256(json.dumps(asdict(rig.config), sort_keys=True).encode())
    if folder is None:
        digest.update(f"random seed={rig.options.seed} dtype={rig.options.dtype}".encode())
    for file in weight_files(folder) if folder else ():
        with file.open("rb") as opened:
            digest.update(hashlib.file_digest(opened, "sha256").digest())
    return digest.hexdigest()


def engine_info(rig: Rig) -> EngineInfo:
    """This project's engine. `options` is enough to build the same again."""
    options = rig.options
    return EngineInfo(
        name="tokencogs",
        version=metadata.version("tokencogs"),
        commit=_commit(),
        block_size=options.block_size,
        kv_cache_dtype=options.kv_cache_dtype,
        max_num_seqs=options.max_num_seqs,
        max_num_batched_tokens=options.max_num_batched_tokens,
        prefix_caching=options.enable_prefix_caching,
        token_eviction=False,
        prompt_truncation=False,
        options=options_of(rig) | {"torch": str(torch.__version__)},
    )


def device_info(rig: Rig, measured: Measured | None = None) -> DeviceInfo:
    """The GPU, or the processor with the threads that were used; figures that the system doesn't tell are None."""
    device = rig.engine.runner.model.device
    kv_bytes = rig.engine.manager.num_blocks * block_bytes(rig.engine.runner.model, engine_config(rig.options))
    reached = {} if measured is None else asdict(measured)
    if device.type != "cuda":
        name = f"{processor()}, {rig.threads} of {os.cpu_count()} threads"
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
        clock = _number(_cpuinfo("cpu MHz") or "")
        return DeviceInfo(
            gpu=name, driver=platform.release(), clock_mhz=clock, memory_bytes=memory, kv_bytes=kv_bytes, **reached
        )
    properties = torch.cuda.get_device_properties(device)
    driver, clock, power = _nvidia_smi(device.index or 0)
    return DeviceInfo(
        gpu=properties.name,
        driver=driver,
        clock_mhz=clock,
        power_limit_w=power,
        memory_bytes=properties.total_memory,
        kv_bytes=kv_bytes,
        peak_bytes_per_second=nominal_bandwidth(properties.name),
        peak_flops=nominal_flops(properties.name, rig.options.dtype),
        **reached,
    )


def memory_info(rig: Rig) -> dict[str, Any]:
    """The curve file's part on the KV cache, from the engine's own groups: latent and windowed layers too."""
    model, config = rig.engine.runner.model, engine_config(rig.options)
    size = block_bytes(model, config)
    a_layer = size // (config.block_size * len(model.groups[0].layers))
    return {
        "kv_bytes": rig.engine.manager.num_blocks * size,
        "block_size": config.block_size,
        "groups": [{"layers": len(g.layers), "bytes_per_token": a_layer, "window": g.window} for g in model.groups],
        "replication": 1,
    }


def processor() -> str:
    """The processor's name as Linux has it, else as Python does."""
    return _cpuinfo("model name") or platform.processor() or platform.machine()


def _cpuinfo(field: str) -> str | None:
    """Of the first processor; None where the system doesn't say."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text(encoding="ascii", errors="replace").splitlines() if info.exists() else []
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith(field)), None)


def _nvidia_smi(index: int) -> tuple[str | None, float | None, float | None]:
    """Driver, streaming clock in MHz, power limit in W; None where the tool isn't there or doesn't say."""
    if shutil.which("nvidia-smi") is None:
        return None, None, None
    wanted = "--query-gpu=driver_version,clocks.sm,power.limit"
    command = ["nvidia-smi", f"--id={index}", wanted, "--format=csv,noheader,nounits"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=20)
    fields = [field.strip() for field in done.stdout.strip().split(",")]
    if done.returncode != 0 or len(fields) != 3:
        return None, None, None
    return fields[0], _number(fields[1]), _number(fields[2])


def _number(text: str) -> float | None:
    return float(text) if text.replace(".", "", 1).isdigit() else None


def _commit() -> str | None:
    """Of the checkout that this file lies in; None for an installed package."""
    here = Path(__file__).resolve().parent
    if shutil.which("git") is None:
        return None
    command = ["git", "-C", str(here), "rev-parse", "HEAD"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=20)
    return done.stdout.strip() or None if done.returncode == 0 else None
