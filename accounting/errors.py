"""What can go wrong, as one tree: failures are raised, findings in data are returned."""

from __future__ import annotations

from datetime import date


class TokencogsError(Exception):
    """Base of every error this project raises on purpose; the message names the field and the value."""


class ConfigurationError(TokencogsError):
    """The environment or a setting can't be used as it is."""


class InvalidInput(TokencogsError):
    """A value from outside can't be used: the message names the field, the value and the reason."""

    def __init__(self, field: str, value: object, reason: str) -> None:
        self.field = field
        self.value = value
        self.reason = reason
        super().__init__(f"{field}={value!r}: {reason}")


class MoneyError(InvalidInput):
    """An amount or a price that the money scale can't hold exactly."""


class NoPriceInForce(TokencogsError):
    """No tariff row applies to an event where a caller asked for a price and not for a status."""


class MissingRate(InvalidInput):
    """No exchange rate is known for a currency on a day; the message names both."""

    def __init__(self, currency: str, on: date, days_back: int) -> None:
        reason = (
            f"no exchange rate is known for {on.isoformat()} or the {days_back} days before it; "
            "load those of the package with `tokencogs fx import`, newer ones with `tokencogs fx import --file eurofxref-hist.zip`, a file "
            "that the European Central Bank renews each working day: https://www.ecb.europa.eu/stats/eurofxref/eurofxref-hist.zip"
        )
        super().__init__("currency", f"{currency} on {on.isoformat()}", reason)


class PriceBookError(TokencogsError):
    """A tariff row or a set of rows that can't be used."""


class NotFound(TokencogsError):
    """The named thing does not exist for this tenant."""


class Conflict(TokencogsError):
    """The act contradicts what is already recorded; what is recorded stays."""


class Unauthenticated(TokencogsError):
    """No key, a malformed key, an unknown key or a revoked one."""


class Forbidden(TokencogsError):
    """The key is good, its scope does not reach this."""


class TooLarge(TokencogsError):
    """A body beyond the stated limit."""


class Busy(TokencogsError):
    """Too much work in hand; try again after `retry_after` seconds."""

    def __init__(self, message: str, retry_after: int = 1) -> None:
        self.retry_after = retry_after
        super().__init__(message)


class StorageUnavailable(TokencogsError):
    """The database can't be reached or went away; nothing of the act was kept."""
