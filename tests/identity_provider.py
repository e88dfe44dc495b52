"""An identity provider on the loopback: how do tests sign in as people do? Discovery, authorization code flow, published keys."""

from __future__ import annotations

import json
import secrets
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from html import escape
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar
from urllib.parse import parse_qs, urlencode, urlsplit

from joserfc import jwt
from joserfc.jwk import RSAKey

AUDIENCE = "tokencogs-client"
SECRET = "told to the dashboard alone"
SUBJECT = "ada"
"""Who signs in on the provider's page."""


class Issuer(BaseHTTPRequestHandler):
    """A provider with one published key.

    Attributes: keys: what is published. fetched: how often. signing: the private key. codes: nonce by code that is not used yet.
    """

    keys: ClassVar[Any] = {}
    fetched: ClassVar[int] = 0
    signing: ClassVar[RSAKey]
    codes: ClassVar[dict[str, str]] = {}

    def do_GET(self) -> None:
        at = urlsplit(self.path)
        if at.path == "/keys":
            type(self).fetched += 1
            self._tell(self.keys)
        elif at.path == "/authorize":
            self._ask({name: values[0] for name, values in parse_qs(at.query).items()})
        else:
            own = self._own()
            self._tell(
                {
                    "issuer": own,
                    "authorization_endpoint": f"{own}/authorize",
                    "token_endpoint": f"{own}/token",
                    "jwks_uri": f"{own}/keys",
                }
            )

    def do_POST(self) -> None:
        """The token of a code, once."""
        form = parse_qs(self.rfile.read(int(self.headers["Content-Length"])).decode())
        claims = {"nonce": self.codes.pop(form["code"][0]), "sub": SUBJECT}
        token = signed(self.signing, self._own(), **claims)
        self._tell({"access_token": "not for us", "token_type": "Bearer", "expires_in": 600, "id_token": token})

    def _ask(self, asked: dict[str, str]) -> None:
        """The page on which a person agrees."""
        code = secrets.token_hex(8)
        self.codes[code] = asked["nonce"]
        back = f"{asked['redirect_uri']}?{urlencode({'code': code, 'state': asked['state']})}"
        self._send(f'<a href="{escape(back, quote=True)}">Continue as {SUBJECT}</a>'.encode(), "text/html")

    def _own(self) -> str:
        return f"http://{self.headers['Host']}"

    def _tell(self, told: Any) -> None:
        self._send(json.dumps(told).encode(), "application/json")

    def _send(self, body: bytes, kind: str) -> None:
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        pass


def signed(key: RSAKey, issuer: str, **changes: Any) -> str:
    """An identity token for us, good for ten minutes; a claim that is None is left out."""
    now = int(time.time())
    claims = {"iss": issuer, "aud": AUDIENCE, "sub": SUBJECT, "exp": now + 600, "iat": now} | changes
    claims = {name: value for name, value in claims.items() if value is not None}
    return jwt.encode({"alg": "RS256", "kid": "k1"}, claims, key, algorithms=["RS256"])


@contextmanager
def provider() -> Iterator[tuple[str, RSAKey]]:
    """A running provider: its address, and the private key of its tokens."""
    key = RSAKey.generate_key(2048, {"kid": "k1"})
    Issuer.keys, Issuer.signing = {"keys": [key.as_dict(private=False)]}, key
    server = ThreadingHTTPServer(("127.0.0.1", 0), Issuer)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", key
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
