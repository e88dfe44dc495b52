"""Is a month closed over HTTP as by hand? Model o3 in July: 1,000 tokens in and 100 out cost 0.0028 dollars."""

from __future__ import annotations

import httpx
import pytest

from tests.events import body, event

pytestmark = pytest.mark.storage

JULY = {"month": "2026-07", "note": "signed"}


def test_a_month_is_closed_once_and_a_late_event_leaves_it_as_it_was(admin: httpx.Client) -> None:
    assert admin.post("/v1/usage/events", content=body([event("a")])).json()["accepted"] == 1
    tried = admin.post("/v1/closed-months", json={**JULY, "dry_run": True})
    assert (tried.status_code, admin.get("/v1/closed-months").json()) == (200, {"months": []})
    done = admin.post("/v1/closed-months", json=JULY)
    assert (done.status_code, done.json()["month"], done.json()["coverage"]) == (
        200,
        "2026-07-01",
        {"priced": 1, "exceptions": 0},
    )
    again = admin.post("/v1/closed-months", json=JULY)
    assert (again.status_code, "is closed already; the first open month is 2026-08" in again.text) == (409, True)
    assert admin.get("/v1/closed-months/late").json() == {"lines": []}
    admin.post("/v1/usage/events", content=body([event("late")]))
    assert admin.get("/v1/closed-months/late").json()["lines"] == [
        {
            "month": "2026-07-01",
            "booking_period": "2026-08-01",
            "billing_currency": "USD",
            "events": 1,
            "effective_cost": "0.0028",
        }
    ]
    [month] = admin.get("/v1/closed-months").json()["months"]
    assert month == done.json()
    assert (month["totals"]["USD"]["effective_cost"], month["note"]) == ("0.0028", "signed")


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"month": "2026-13"}, "month"),
        ({"month": "2999-01"}, "is not over in UTC"),
        ({"month": "2026-08", "accept": ["late"]}, "accept"),
        ({"month": "2026-08", "why": "x"}, "why"),
    ],
)
def test_what_is_no_month_that_is_over_is_refused_by_name(
    admin: httpx.Client, asked: dict[str, object], said: str
) -> None:
    answer = admin.post("/v1/closed-months", json=asked)
    assert (answer.status_code, said in answer.text) == (400, True)
