"""Which result files do TensorRT-LLM's published static-batch tables make?

A row is a whole run of one batch, prefill and decode together, so no step can be told: there is a fit of two ceilings and its error
on rows left out, and no curve.
"""

from __future__ import annotations

from pathlib import Path

import msgspec

from probe.curve.schema import UNKNOWN, Fit, Metric, ResultFile, Served
from probe.imports.common import Given, setup
from probe.imports.trtllm import MODELS, Ceilings, StaticRun, ceilings, read_runs

_THROUGHPUT = Metric(
    name="output_throughput",
    tool="TensorRT-LLM",
    definition="output tokens over the whole run of one batch, its prompts' pass included",
    unit="tokens/s",
)


def read(path: Path, given: Given) -> list[ResultFile]:
    """One result file a GPU and model; the ceilings are those of all rows of the GPU."""
    runs = read_runs(path)
    by_gpu = {gpu: [run for run in runs if run.gpu == gpu] for gpu in dict.fromkeys(run.gpu for run in runs)}
    found = []
    for gpu, rows in by_gpu.items():
        fitted = ceilings(rows)
        for model in dict.fromkeys(run.model for run in rows):
            found.append(_result(gpu, model, [run for run in rows if run.model == model], fitted, path, given))
    return found


def _result(gpu: str, model: str, runs: list[StaticRun], fitted: Ceilings, path: Path, given: Given) -> ResultFile:
    device, _, dtype = gpu.rpartition("_")
    engine, name = "TensorRT-LLM", f"trtllm-{model}-{gpu}"
    base = setup(name, given, path, model=model, gpu=device, engine=engine, gpus=1, at=UNKNOWN, dtype=dtype)
    described = msgspec.structs.replace(base.model, parameters=MODELS[model].parameters)
    notes = [
        f"two ceilings of {len(fitted.left_out)} rows: {fitted.bytes_per_second / 1e12:.2f} TB/s, "
        f"{fitted.operations_per_second / 1e12:.0f} TFLOP/s",
        *(note for run in runs if (note := _capacity(run)) is not None),
    ]
    report = Fit(chosen="two ceilings", errors={"leave_one_point": fitted.error}, notes=notes)
    served = [_served(run) for run in runs]
    return msgspec.structs.replace(base, model=described, served=served, metrics=[_THROUGHPUT], fit=report)


def _served(run: StaticRun) -> Served:
    return Served(
        input_tokens=run.input_tokens,
        output_tokens=run.output_tokens,
        concurrency=run.batch,
        duration=run.seconds,
        output_tokens_per_second=run.throughput,
        label=f"{run.batch}x{run.input_tokens}/{run.output_tokens}",
    )


def _capacity(run: StaticRun) -> str | None:
    """Nothing of a GPU whose memory is not known."""
    room = run.achievable_batch
    if room is None:
        return None
    said = "" if run.at_capacity else ": not run at capacity"
    return f"{run.input_tokens}/{run.output_tokens}: batch {run.batch}, {room} fit ({room / run.batch:.2f}){said}"
