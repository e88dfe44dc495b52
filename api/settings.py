"""Within which limits does the server work?"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Settings:
    """Limits of one API process; the database is the environment's (`DATABASE_URL`, else the embedded server).

    Attributes:
        max_sent: bytes of a request body as sent, compressed or not.
        max_inflated: bytes of a request body after decompression.
        max_requests: ingesting requests in work at once; one more is answered 429.
        max_waiting_events: events waiting for the writer; more are answered 429.
        parsers: threads that decompress and parse; each holds one inflated body at most. More than one gain nothing: they
            share the interpreter lock.
        threads: threads for everything else. With parsers, writer and chores they fit the 16 connections of the pool.
        settlement_seconds: time between two settlement runs in this process; None runs none.
        price_seconds: how long a price book is used before the process looks whether prices changed.
        alert_seconds: time between two looks for models without a price; None looks for none.
        operator: tenant whose admin keys may change the list prices of all; needs the owner's login. None: no key may.
        oidc_issuer, oidc_audience: identity provider whose tokens are taken beside keys, and our client id there; None takes none.
    """

    max_sent: int = 10_000_000
    max_inflated: int = 64_000_000
    max_requests: int = 32
    max_waiting_events: int = 200_000
    parsers: int = 1
    threads: int = 8
    settlement_seconds: float | None = None
    price_seconds: float = 3.0
    alert_seconds: float | None = 60.0
    operator: str | None = None
    oidc_issuer: str | None = None
    oidc_audience: str | None = None
