"""How are reports fetched? Each figure on a screen is one of these URLs."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query, Response
from fastapi.responses import HTMLResponse, JSONResponse

from accounting.reports import REPORTS, run
from accounting.reports.html import to_html
from accounting.reports.query import ReportQuery
from accounting.reports.xlsx import MEDIA_TYPE as XLSX
from accounting.reports.xlsx import to_xlsx
from api.deps import ServiceDep, ViewerKey
from api.openapi import problems
from api.schemas import ReportEntry, ReportList, ReportParameters

router = APIRouter(prefix="/v1/reports", tags=["reports"])


@router.get("", responses=problems())
def get_reports(principal: ViewerKey) -> ReportList:
    """The reports there are, and what each may be grouped by."""
    entries = [
        ReportEntry(
            name=name,
            description=report.description,
            group_by=list(report.group_by),
            filters=list(report.filters),
            converts=report.converts,
        )
        for name, report in REPORTS.items()
    ]
    return ReportList(reports=entries)


@router.get(
    "/{name}",
    responses={
        200: {
            "content": {"text/csv": {}, "text/html": {}, XLSX: {}},
            "model": dict[str, Any],
            "description": "The report.",
        },
        **problems(400, 404),
    },
)
def get_report(
    name: str, service: ServiceDep, principal: ViewerKey, asked: Annotated[ReportParameters, Query()]
) -> Response:
    """One report for [from, to) with its totals, coverage and control totals; money at full precision."""
    zone = asked.tz or principal.context.reporting_tz
    query = ReportQuery.parse(asked.start, asked.end, zone, asked.group_by, asked.limit, asked.currency, asked.filter)
    report = run(service.engine, principal.context, name, query)
    if asked.format == "csv":
        disposition = {"Content-Disposition": f'attachment; filename="{report.name}.csv"'}
        return Response(report.to_csv(), media_type="text/csv", headers=disposition)
    if asked.format == "html":
        return HTMLResponse(to_html(report))
    if asked.format == "xlsx":
        disposition = {"Content-Disposition": f'attachment; filename="{report.name}.xlsx"'}
        return Response(to_xlsx(report), media_type=XLSX, headers=disposition)
    return JSONResponse(report.to_json())
