"""Which measured curves may a tenant use, and how does the probe hand one over?"""

from __future__ import annotations

import json
from typing import Annotated, Any

from fastapi import APIRouter, Body, Path, Query

from accounting.selfhosted.curve_json import load_curve
from accounting.selfhosted.evaluate import evaluate
from accounting.storage import curves
from api.deps import AdminKey, ServiceDep, ViewerKey
from api.halves import refuse_halves
from api.openapi import problems
from api.schemas_curves import CurveCell, CurveEvaluation, CurveFile, CurveList, CurveRecorded, CurveRow

Numbers = Annotated[
    str,
    Query(
        description="whole numbers with commas between; default: what was measured",
        pattern=r"^([0-9]{1,9}(,[0-9]{1,9})*)?$",
    ),
]
CurveId = Annotated[str, Path(pattern=r"^[^\x00]*$", examples=["qwen3-8b-h200"])]
EXAMPLE_CURVE: dict[str, Any] = {
    "version": 1,
    "curve_id": "qwen3-8b-h200",
    "form": "step",
    "model": "Qwen3-8B",
    "engine": "vllm 0.24.0",
    "gpu": "NVIDIA H200",
    "dtype": "bfloat16",
    "measured_at": "2026-10-01",
    "domain": {"batch": [1, 256], "context": [128, 65536]},
    "parameters": {"t_0": 0.0049, "a": 9.4e-6, "c": 3.4e-8, "d": 1.2e-5, "f": 1.9e-9, "r": 0},
}

router = APIRouter(prefix="/v1/curves", tags=["self-hosted"])


@router.post("", responses=problems(400, 409, 413))
def post_curve(
    body: Annotated[dict[str, Any], Body(examples=[EXAMPLE_CURVE])], service: ServiceDep, principal: AdminKey
) -> CurveRecorded:
    """Records a curve file (accounting/selfhosted/README.md, "The file"); the same file again changes nothing, another one of the
    same id is refused: charges name the curve that made them."""
    refuse_halves("curve", body)
    text = json.dumps(body)
    return CurveRecorded(**curves.record_curve(service.engine, principal.context, text, principal.key_id))


@router.get("", responses=problems())
def get_curves(service: ServiceDep, principal: ViewerKey) -> CurveList:
    """Own and shared curves by id, without their numbers."""
    return CurveList(curves=[CurveRow(**row) for row in curves.list_curves(service.engine, principal.context)])


@router.get("/{curve_id}", responses=problems(404))
def get_curve(curve_id: CurveId, service: ServiceDep, principal: ViewerKey) -> CurveFile:
    """The file of one curve."""
    return CurveFile(curve=curves.curve_file(service.engine, principal.context, curve_id))


@router.get("/{curve_id}/evaluate", responses=problems(400, 404))
def get_evaluation(
    curve_id: CurveId, service: ServiceDep, principal: ViewerKey, batch: Numbers = "", context: Numbers = ""
) -> CurveEvaluation:
    """Throughput and times of a curve over batch and context, with the measured points beside it."""
    file = curves.curve_file(service.engine, principal.context, curve_id)
    curve = load_curve(json.dumps(file))
    cells = evaluate(curve, file, _numbers(batch), _numbers(context))
    return CurveEvaluation(form=curve.form, cells=[CurveCell(**vars(cell)) for cell in cells], **vars(curve.header))


def _numbers(text: str) -> list[int]:
    return [int(part) for part in text.split(",") if part]
