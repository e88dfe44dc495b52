"""Is this token one that the configured identity provider gave out for us, and whose is it?

The signature, issuer, audience and times are checked here, with the provider's published keys; who signed in elsewhere is nobody here.
"""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass
from typing import Any

import httpx
from joserfc import jwt
from joserfc.errors import JoseError
from joserfc.jwk import KeySet

from accounting.errors import ConfigurationError, StorageUnavailable, Unauthenticated

ALGORITHMS = ["RS256", "RS384", "RS512", "PS256", "ES256", "ES384", "EdDSA"]
"""Signatures with a published key alone: with a shared secret whoever can check a token could make one."""
KEYS_SECONDS = 3600.0
RETRY_SECONDS = 30.0
LEEWAY_SECONDS = 60
TIMEOUT_SECONDS = 5.0
_REFUSED = "the identity token is malformed, not for this service, or no longer good; sign in again"


@dataclass(frozen=True)
class Provider:
    """Attributes: issuer: `iss` of its tokens, and where its metadata are; audience: our client id there."""

    issuer: str
    audience: str

    @classmethod
    def from_texts(cls, issuer: str | None, audience: str | None) -> Provider | None:
        """None where neither is given. Raises ConfigurationError for one without the other."""
        if not issuer and not audience:
            return None
        if not issuer or not audience:
            raise ConfigurationError(
                "TOKENCOGS_OIDC_ISSUER and TOKENCOGS_OIDC_AUDIENCE belong together; one is not set"
            )
        return cls(issuer, audience)


class Tokens:
    """Checks tokens of one provider; its keys are fetched when first needed, hourly, and when a token names another one.

    A provider that fails is asked again after RETRY_SECONDS.
    """

    def __init__(self, provider: Provider) -> None:
        self.provider = provider
        self._claims = jwt.JWTClaimsRegistry(
            leeway=LEEWAY_SECONDS,
            iss={"essential": True, "value": provider.issuer},
            aud={"essential": True, "value": provider.audience},
            sub={"essential": True},
            exp={"essential": True},
        )
        self._lacking = f"the keys of the identity provider {provider.issuer} can't be had"
        self._lock = threading.Lock()
        self._keys: KeySet | None = None
        self._fetched = self._asked = -KEYS_SECONDS

    def subject(self, token: str) -> str:
        """`sub` of a good token. Raises Unauthenticated, StorageUnavailable where the provider's keys can't be had."""
        for fresh in (False, True):
            try:
                found = jwt.decode(token, self._current(fresh), algorithms=ALGORITHMS)
                self._claims.validate(found.claims)
            except (JoseError, ValueError, TypeError) as error:  # a header may hold any JSON
                # A key that is not known may be a new one of the provider's; a wrong signature stays wrong.
                if not fresh and self._old():
                    continue
                raise Unauthenticated(_REFUSED) from error
            subject = found.claims["sub"]
            if not isinstance(subject, str) or not subject:
                raise Unauthenticated(_REFUSED)
            return subject
        raise Unauthenticated(_REFUSED)

    def _old(self) -> bool:
        return time.monotonic() - self._asked > RETRY_SECONDS

    def _current(self, fresh: bool) -> KeySet:
        with self._lock:
            outdated = self._keys is None or time.monotonic() - self._fetched > KEYS_SECONDS
            if (outdated or fresh) and self._old():
                self._asked = time.monotonic()
                self._keys, self._fetched = self._fetch(), self._asked
            elif outdated:  # asked a moment ago in vain: nobody waits for it again, nor holds up those with keys
                raise StorageUnavailable(self._lacking)
            assert self._keys is not None
            return self._keys

    def _fetch(self) -> KeySet:
        where = self.provider.issuer.rstrip("/") + "/.well-known/openid-configuration"
        try:
            with httpx.Client(timeout=TIMEOUT_SECONDS, follow_redirects=True) as client:
                told: dict[str, Any] = client.get(where).raise_for_status().json()
                return KeySet.import_key_set(client.get(told["jwks_uri"]).raise_for_status().json())
        except (httpx.HTTPError, KeyError, ValueError, TypeError, JoseError) as error:
            raise StorageUnavailable(self._lacking) from error
