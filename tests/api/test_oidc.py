"""Is a token taken only from the configured provider, for us, in its time, from somebody who was let in?"""

from __future__ import annotations

import base64
import hmac
import json
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import httpx
import pytest
from joserfc.jwk import RSAKey

from accounting.errors import ConfigurationError, StorageUnavailable
from accounting.storage.logins import grant
from api.oidc import Provider, Tokens
from api.settings import Settings
from tests.api.serving import Running, make_keys, running
from tests.conftest import Database
from tests.identity_provider import AUDIENCE, Issuer, provider, signed

pytestmark = [pytest.mark.storage, pytest.mark.one_server]


@dataclass(frozen=True)
class World:
    """Attributes: api; issuer: address of the provider; key: its private key; admin: of the tenant acme."""

    api: Running
    issuer: str
    key: RSAKey
    admin: str

    def token(self, key: RSAKey | None = None, **changes: Any) -> str:
        return signed(key or self.key, self.issuer, **changes)

    def me(self, token: str) -> httpx.Response:
        with self.api.client(token) as client:
            return client.get("/v1/me")


@pytest.fixture(scope="module")
def world(database: Database) -> Iterator[World]:
    admin = make_keys(database, "acme")["admin"]
    make_keys(database, "globex")
    with provider() as (issuer, key):
        grant(database.app, "acme", issuer, "ada", "analyst", "Ada")
        grant(database.app, "globex", issuer, "gus", "admin", "Gus")
        with running(database, Settings(oidc_issuer=issuer, oidc_audience=AUDIENCE)) as api:
            yield World(api, issuer, key, admin)


def part(value: object) -> str:
    """A part of a token."""
    return base64.urlsafe_b64encode(json.dumps(value).encode()).rstrip(b"=").decode()


def test_a_good_token_has_the_tenant_and_scope_of_its_subject(world: World) -> None:
    ada, gus = world.me(world.token()).json(), world.me(world.token(sub="gus")).json()
    assert (ada["tenant"], ada["scope"]) == ("acme", "analyst")
    assert (gus["tenant"], gus["scope"]) == ("globex", "admin")


@pytest.mark.parametrize(
    "changes",
    [
        {"iss": "https://other.example.com"},
        {"aud": "another-client"},
        {"exp": 1_700_000_000},
        {"exp": None},
        {"aud": None},
        {"iss": None},
        {"sub": None},
        {"sub": ""},
        {"sub": "nobody-let-in"},
        {"nbf": 4_000_000_000},
    ],
    ids=str,
)
def test_a_token_that_is_not_for_us_now_is_refused(world: World, changes: dict[str, Any]) -> None:
    assert world.me(world.token(**changes)).status_code == 401


def test_a_token_signed_by_another_key_is_refused(world: World) -> None:
    assert world.me(world.token(RSAKey.generate_key(2048, {"kid": "k1"}))).status_code == 401


def test_a_token_signed_with_the_public_key_as_a_secret_is_refused(world: World) -> None:
    claims = {"iss": world.issuer, "aud": AUDIENCE, "sub": "ada", "exp": int(time.time()) + 600}
    signed = f"{part({'alg': 'HS256', 'kid': 'k1'})}.{part(claims)}"
    mac = hmac.new(world.key.as_pem(private=False), signed.encode(), "sha256").digest()
    token = f"{signed}.{base64.urlsafe_b64encode(mac).rstrip(b'=').decode()}"
    assert world.me(token).status_code == 401


HEADERS: list[object] = [
    {"alg": "RS256", "kid": "k1", "crit": 5},
    {"alg": "RS256", "kid": {}},
    {"alg": ["RS256"]},
    [],
    None,
]


@pytest.mark.parametrize(
    "token",
    [
        "a.b.c",
        "..",
        "eyJhbGciOiJub25lIn0.eyJzdWIiOiJhZGEifQ.",
        *(f"{part(header)}.{part({'sub': 'ada'})}.c2ln" for header in HEADERS),
    ],
)
def test_what_is_no_token_or_unsigned_is_refused(world: World, token: str) -> None:
    assert world.me(token).status_code == 401


def test_keys_work_beside_tokens_and_an_admin_lets_people_in_and_out(world: World) -> None:
    assert world.me(world.token(sub="eve")).status_code == 401
    with world.api.client(world.admin) as client:
        listed = client.put("/v1/logins", json={"subject": "eve", "scope": "viewer", "label": "Eve"}).json()
        assert listed["issuer"] == world.issuer
        assert [row["subject"] for row in listed["logins"]] == ["ada", "eve"]
        assert world.me(world.token(sub="eve")).json()["scope"] == "viewer"
        assert client.put("/v1/logins", json={"subject": "eve", "scope": "analyst"}).status_code == 200
        assert client.delete("/v1/logins", params={"subject": "eve"}).status_code == 200
        acts = client.get("/v1/audit", params={"subject": "eve", "kind": "login"}).json()["acts"]
    who = f"key:{world.admin.split('_')[2][:8]}"
    assert [(act["actor"], act["action"], act["before"], act["after"]) for act in acts] == [
        (who, "login.revoke", {"scope": "analyst"}, None),
        (who, "login.grant", {"scope": "viewer"}, {"scope": "analyst"}),
        (who, "login.grant", None, {"scope": "viewer"}),
    ]
    assert world.me(world.token(sub="eve")).status_code == 401


def test_a_subject_of_another_tenant_can_not_be_taken_over(world: World) -> None:
    with world.api.client(world.admin) as client:
        assert client.put("/v1/logins", json={"subject": "gus", "scope": "viewer"}).status_code == 409
        assert client.delete("/v1/logins", params={"subject": "gus"}).status_code == 404
        assert "gus" not in client.get("/v1/logins").text


def test_the_providers_keys_are_fetched_once_for_many_tokens(world: World) -> None:
    world.me(world.token())
    before = Issuer.fetched
    for _ in range(3):
        assert world.me(world.token()).status_code == 200
    assert Issuer.fetched == before


def test_a_key_that_the_provider_changed_is_fetched_after_a_while(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("api.oidc.RETRY_SECONDS", -1.0)
    tokens = Tokens(Provider(world.issuer, AUDIENCE))
    assert tokens.subject(world.token()) == "ada"
    new = RSAKey.generate_key(2048, {"kid": "k1"})
    monkeypatch.setattr(Issuer, "keys", {"keys": [new.as_dict(private=False)]})
    assert tokens.subject(world.token(new)) == "ada"


@pytest.mark.parametrize("told", [{}, [], {"keys": 5}, {"keys": [5]}], ids=str)
def test_a_provider_without_keys_is_asked_once_for_many_tokens(
    world: World, monkeypatch: pytest.MonkeyPatch, told: object
) -> None:
    monkeypatch.setattr(Issuer, "keys", told)
    tokens, before = Tokens(Provider(world.issuer, AUDIENCE)), Issuer.fetched
    for _ in range(3):
        with pytest.raises(StorageUnavailable, match="can't be had"):
            tokens.subject(world.token())
    assert Issuer.fetched == before + 1


def test_known_keys_stay_good_while_the_provider_fails(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("api.oidc.RETRY_SECONDS", -1.0)
    tokens = Tokens(Provider(world.issuer, AUDIENCE))
    assert tokens.subject(world.token()) == "ada"
    monkeypatch.setattr(Issuer, "keys", {})
    with pytest.raises(StorageUnavailable):
        tokens.subject(world.token(RSAKey.generate_key(2048, {"kid": "k2"})))
    assert tokens.subject(world.token()) == "ada"


def test_keys_of_more_than_an_hour_are_not_trusted(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    tokens = Tokens(Provider(world.issuer, AUDIENCE))
    assert tokens.subject(world.token()) == "ada"
    now = time.monotonic()
    monkeypatch.setattr(Issuer, "keys", {})
    monkeypatch.setattr("api.oidc.time.monotonic", lambda: now + 3_599)
    assert tokens.subject(world.token()) == "ada"
    monkeypatch.setattr("api.oidc.time.monotonic", lambda: now + 3_601)
    with pytest.raises(StorageUnavailable):
        tokens.subject(world.token())


def test_half_a_configuration_is_refused() -> None:
    assert Provider.from_texts(None, None) is None
    with pytest.raises(ConfigurationError, match="belong together"):
        Provider.from_texts("https://accounts.example.com", None)
