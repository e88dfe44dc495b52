"""Can an admin of one tenant hand out keys and take them back, and nobody else's?"""

from __future__ import annotations

import httpx
import pytest

from tests.api.serving import Running, make_keys
from tests.conftest import Database

pytestmark = [pytest.mark.storage, pytest.mark.one_server]


@pytest.fixture(scope="module")
def stranger(database: Database) -> str:
    """An admin key of another tenant."""
    return make_keys(database, "globex")["admin"]


def test_a_new_key_works_at_once_and_its_secret_is_told_once(api: Running, admin: httpx.Client) -> None:
    made = admin.post("/v1/keys", json={"scope": "analyst", "label": "notebook"}).json()
    assert made["key"].startswith("tc_acme_" + made["key_id"])
    with api.client(made["key"]) as client:
        assert client.get("/v1/me").json()["scope"] == "analyst"
    listed = admin.get("/v1/keys")
    assert made["key"] not in listed.text
    [own] = [row for row in listed.json()["keys"] if row["key_id"] == made["key_id"]]
    assert (own["label"], own["revoked_at"], own["asking"]) == ("notebook", None, False)


def test_an_ended_key_ends_at_once_and_stays_in_the_list(api: Running, admin: httpx.Client) -> None:
    made = admin.post("/v1/keys", json={"scope": "viewer"}).json()
    assert admin.delete(f"/v1/keys/{made['key_id']}").json() == {"key_id": made["key_id"]}
    with api.client(made["key"]) as client:
        assert client.get("/v1/me").status_code == 401
    [own] = [row for row in admin.get("/v1/keys").json()["keys"] if row["key_id"] == made["key_id"]]
    assert own["revoked_at"] is not None


def test_the_key_that_asks_can_not_end_itself(admin: httpx.Client, keys: dict[str, str]) -> None:
    key_id = keys["admin"].removeprefix("tc_acme_")[:8]
    answer = admin.delete(f"/v1/keys/{key_id}")
    assert (answer.status_code, answer.json()["error"]) == (409, "Conflict")
    assert admin.get("/v1/me").status_code == 200


def test_a_half_of_a_surrogate_pair_is_refused_by_name_and_not_a_fault(admin: httpx.Client) -> None:
    answer = admin.post(
        "/v1/keys", content=b'{"scope": "viewer", "label": "\\ud800"}', headers={"Content-Type": "application/json"}
    )
    assert (answer.status_code, answer.json()["field"], answer.json()["value"]) == (400, "label", "\\ud800")


def test_a_scope_there_is_not_is_named(admin: httpx.Client) -> None:
    answer = admin.post("/v1/keys", json={"scope": "root"})
    assert (answer.status_code, answer.json()["field"], answer.json()["value"]) == (400, "scope", "root")


def test_no_admin_sees_or_ends_another_tenants_keys(
    api: Running, admin: httpx.Client, keys: dict[str, str], stranger: str
) -> None:
    key_id = keys["viewer"].removeprefix("tc_acme_")[:8]
    with api.client(stranger) as client:
        assert key_id not in client.get("/v1/keys").text
        assert client.delete(f"/v1/keys/{key_id}").status_code == 404
    assert key_id in admin.get("/v1/keys").text


def test_me_says_what_there_is_of_a_tenant_without_usage(admin: httpx.Client) -> None:
    me = admin.get("/v1/me").json()
    assert (me["tenant"], me["scope"], me["reporting_tz"], me["billing_currency"]) == ("acme", "admin", "UTC", "USD")
    assert me["reaches"] == ["ingest", "viewer", "analyst", "admin"]
    assert (me["first_day"], me["last_day"], me["billing_currencies"], me["convertible"]) == (None, None, [], [])
    assert set(me["periods"][0]) == {"name", "label", "from", "to"}


def test_without_a_provider_nobody_is_let_in_by_one(admin: httpx.Client) -> None:
    assert admin.get("/v1/logins").json() == {"issuer": None, "logins": []}
    assert admin.put("/v1/logins", json={"subject": "s", "scope": "viewer"}).status_code == 409
