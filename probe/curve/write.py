"""What does the curve file of a result say: header, domain, parameters or table, and whether the setup changes answers?"""

from __future__ import annotations

from typing import Any

from probe.curve.curve import FILE_VERSION
from probe.curve.errors import CurveRefused
from probe.curve.grid import Grid
from probe.curve.schema import Error, Point, Quality, ResultFile
from probe.curve.setup_shape import PLAIN, memory_of
from probe.curve.terms import Terms

_UNQUANTISED = (None, "none")
_UNQUANTISED_KV = (None, "auto", "none", *PLAIN)
_REPORTED = ("leave_one_batch", "leave_one_point", "leave_one_context", "in_sample")


def behaviour_changing(result: ResultFile) -> bool:
    """Quantised weights or KV cache, token eviction or truncation: the distribution of answers is another one."""
    engine = result.engine
    return (
        result.model.quantization not in _UNQUANTISED
        or engine.kv_cache_dtype not in _UNQUANTISED_KV
        or bool(engine.token_eviction)
        or bool(engine.prompt_truncation)
    )


def step_file(result: ResultFile, points: list[Point], terms: Terms, residual: Grid | None) -> dict[str, Any]:
    """Curve file of form=step. Raises CurveRefused where a term would bill at 0 what was not measured."""
    decode = [p for p in points if p.kind == "decode"]
    prefill = [p for p in points if p.new]
    if not decode:
        raise CurveRefused("points", "no decode", "a step curve needs measured decode steps")
    if not prefill:
        raise CurveRefused("points", "no prefill", "a step curve without measured prompts would bill them at 0")
    if terms.t_0 <= 0:
        raise CurveRefused(
            "parameters.t_0", terms.t_0, "a step takes some time whatever is in it; measure small batches"
        )
    names = ("t_0", "a", "c", "d", "f", "r", "e", "experts", "experts_per_token")
    contexts = [p.context_sum / p.batch for p in decode]
    domain: dict[str, Any] = {
        "batch": _bounds([p.batch for p in decode]),
        "context": _bounds(contexts),
        "prefill_new": _bounds([p.new for p in prefill]),
        "prefill_cached": _bounds([p.cached for p in prefill]) if any(p.cached for p in prefill) else None,
    }
    return _header(result, "step") | {
        "domain": domain,
        "parameters": {name: getattr(terms, name) for name in names},
        "residual": None if residual is None else residual.as_file(),
        "memory": memory_of(result),
    }


def table_file(result: ResultFile, steps: Grid, first_token: Grid | None) -> dict[str, Any]:
    """Curve file of form=table: served points as they were."""
    return _header(result, "table") | {
        "domain": {"batch": _bounds(steps.batch.tolist()), "context": _bounds(steps.context.tolist())},
        "steps": steps.as_file(),
        "first_token": None if first_token is None else first_token.as_file(),
    }


def _header(result: ResultFile, form: str) -> dict[str, Any]:
    engine = " ".join(part for part in (result.engine.name, result.engine.version) if part)
    error = _error(result)
    return {
        "version": FILE_VERSION,
        "curve_id": result.result_id,
        "form": form,
        "model": result.model.name,
        "engine": engine,
        "gpu": result.device.gpu if result.device.count == 1 else f"{result.device.count}x {result.device.gpu}",
        "dtype": result.model.dtype or "unknown",
        "measured_at": result.run.measured_at,
        "floor": result.run.via == "composed",
        "behaviour_changing": behaviour_changing(result),
        "kl_divergence": _kl(result.quality),
        "errors": {} if error is None else {name: getattr(error, name) for name in ("mape", "bias", "p95", "max")},
    }


def _error(result: ResultFile) -> Error | None:
    errors = {} if result.fit is None else result.fit.errors
    return next((errors[name] for name in _REPORTED if name in errors), None)


def _kl(quality: Quality | None) -> float | None:
    return None if quality is None else quality.kl_mean


def _bounds(values: list[Any]) -> list[float]:
    return [float(min(values)), float(max(values))]
