"""Re-pricing, explanation and impact over HTTP: the answers have the documented shapes."""

from __future__ import annotations

import httpx
import pytest

from api.schemas_explain import Explanation
from api.schemas_impact import ImpactAnswer
from api.schemas_reprice import RepriceAnswer
from tests.events import body, event

pytestmark = pytest.mark.storage

YEAR = {"from": "2026-01-01", "to": "2027-01-01"}


@pytest.fixture(scope="module", autouse=True)
def _booked(admin: httpx.Client) -> None:
    assert admin.post("/v1/usage/events", content=body([event("e1", user_id="u1")])).json()["accepted"] == 1


def test_nothing_changes_while_prices_stay(admin: httpx.Client) -> None:
    found = RepriceAnswer.model_validate(admin.post("/v1/prices/reprice", json=YEAR | {"apply": True}).json())
    assert (found.events_read, found.events_changed, found.charges) == (1, 0, 0)
    assert found.run_id is not None


@pytest.mark.parametrize(
    ("changes", "field"), [({"where": "colour=red"}, "where"), ({"to": "2026-01-01"}, "to"), ({"from": "July"}, "from")]
)
def test_what_can_not_be_asked_names_the_field(admin: httpx.Client, changes: dict[str, str], field: str) -> None:
    answer = admin.post("/v1/prices/reprice", json=YEAR | changes)
    assert (answer.status_code, answer.json()["field"]) == (400, field)


def test_an_event_is_explained(admin: httpx.Client) -> None:
    found = Explanation.model_validate(admin.get("/v1/usage/events/e1/explain").json())
    assert found.outcome.contracted_cost == "0.0028"
    assert [part.contracted_cost for part in found.components] == ["0.002", "0.0008"]
    assert found.list_price is not None
    assert found.list_price.source.startswith("genai-prices")
    assert admin.get("/v1/usage/events/nobody/explain").status_code == 404


def test_the_impact_of_another_model_carries_its_warning(admin: httpx.Client) -> None:
    asked = {"days": "3660", "model": "o3", "by": "gpt-5.4"}
    found = ImpactAnswer.model_validate(admin.get("/v1/prices/impact", params=asked).json())
    assert (found.events_affected, len(found.warnings)) == (1, 1)
    # gpt-5.4 costs 2.5 in and 15 out: 0.0025 + 0.0015.
    assert [(line.cost_now, line.cost_then) for line in found.lines] == [("0.0028", "0.004")]
    assert admin.get("/v1/prices/impact", params={"model": "o3"}).json()["field"] == "by"
