"""Single users over HTTP. Model o3: 1,000 tokens in at 2 a million and 100 out at 8 are 0.0028."""

from __future__ import annotations

import httpx
import pytest

from tests.events import event

pytestmark = [pytest.mark.storage, pytest.mark.one_server]

PERIOD = {"from": "2026-07-01", "to": "2026-07-03"}


@pytest.fixture(scope="module", autouse=True)
def _usage(ingest: httpx.Client) -> None:
    assert ingest.post("/v1/usage/events", json=[event("e1", user_id="a/b")]).json()["accepted"] == 1


def test_users_are_told_by_day(admin: httpx.Client) -> None:
    found = admin.get("/v1/user-days", params={**PERIOD, "user_id": ["a/b", "nobody"]}).json()
    own = {"user_id": "a/b", "billing_currency": "USD", "effective_cost": ["0.0028", "0"], "events": [1, 0]}
    assert found == {"days": ["2026-07-01", "2026-07-02"], "users": [own]}


def test_one_user_is_told_whatever_its_name(admin: httpx.Client) -> None:
    found = admin.get("/v1/users/a%2Fb", params=PERIOD).json()
    assert found["margin"][0]["gross_margin"] == "-0.0028"
    assert found["spent"][0]["effective_cost"] == "0.0028"


@pytest.mark.parametrize(("path", "status"), [("/v1/users/nobody", 404), ("/v1/user-days", 400)])
def test_what_can_not_be_told_is_refused(admin: httpx.Client, path: str, status: int) -> None:
    assert admin.get(path, params=PERIOD).status_code == status
