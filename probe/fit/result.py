"""What curve comes out of a result file: of its steps, or of its served runs where it has none?"""

from __future__ import annotations

import msgspec

from probe.curve.errors import CurveRefused
from probe.curve.schema import ResultFile, undated
from probe.curve.write import step_file, table_file
from probe.fit.fit import fit
from probe.fit.model import Experts
from probe.fit.table import fit_table
from probe.fit.within_peak import served_within_peak, within_peak


def with_curve(result: ResultFile) -> ResultFile:
    """The file with fit and curve. Raises CurveRefused when neither steps nor served runs are enough for one. That nobody stated when it
    was measured is a note."""
    found = _fitted(result)
    if found.fit is None or not undated(result):
        return found
    note = "date not stated: how old these figures are can't be told"
    return msgspec.structs.replace(found, fit=msgspec.structs.replace(found.fit, notes=[note, *found.fit.notes]))


def _fitted(result: ResultFile) -> ResultFile:
    if any(p.kind == "decode" for p in result.points):
        return _steps(result)
    if result.served:
        table = fit_table(result.served)
        report = msgspec.structs.replace(table.report, notes=[*table.report.notes, *served_within_peak(result)])
        fitted = msgspec.structs.replace(result, fit=report)
        return msgspec.structs.replace(fitted, curve=table_file(fitted, table.steps, table.first_token))
    raise CurveRefused("points", len(result.points), "neither measured decode steps nor served runs")


def experts_of(result: ResultFile) -> Experts:
    """Experts and how many a token uses, from the architecture's own fields; 0 and 0 for dense models."""
    known = result.model.architecture
    count = next(
        (int(known[name]) for name in ("num_experts", "num_local_experts", "n_routed_experts") if known.get(name)), 0
    )
    return Experts(count, int(known.get("num_experts_per_tok") or 0)) if count else Experts()


def _steps(result: ResultFile) -> ResultFile:
    points, limits = within_peak(result)
    found = fit(points, experts_of(result))
    report = msgspec.structs.replace(found.report, notes=[*limits, *found.report.notes])
    if result.run.via == "composed":
        note = "floor: kernels only; served steps take about twice as long at saturation; never a price by itself"
        report = msgspec.structs.replace(report, notes=[note, *report.notes])
    fitted = msgspec.structs.replace(result, fit=report)
    file = step_file(fitted, found.points, found.model.terms, found.model.residual)
    return msgspec.structs.replace(fitted, curve=file)
