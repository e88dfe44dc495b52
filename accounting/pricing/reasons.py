"""Why has an event no price?"""

from __future__ import annotations

from accounting.usage.classes import PRICED_CLASSES

PRICED = 0
UNKNOWN_SELLER = 1
UNKNOWN_MODEL = 2
NO_TOKEN_PRICE = 3
NO_PRICE_FOR_TIER = 4
NO_PRICE_FOR_SURFACE = 5
NO_PRICE_FOR_REGION = 6
NO_PRICE_IN_FORCE = 7
CACHE_READ_UNKNOWN = 8
INCONSISTENT = 9
OVER_LIMIT = 10
NO_PRICE_FOR_CLASS = 11

MATCH_REASONS = 8
"""Codes below this one are decided by names and date alone."""

REASONS = (
    "",
    "unknown_seller",
    "unknown_model",
    "no_token_price",
    "no_price_for_tier",
    "no_price_for_surface",
    "no_price_for_region",
    "no_price_in_force",
    "cache_read_unknown",
    "inconsistent",
    "over_limit",
    *(f"no_price_for_class:{name}" for name in PRICED_CLASSES),
)
"""Text of each code; code 0 is a priced event. What they mean, in the order in which they are tested:

- unknown_seller, unknown_model: the name is in no price list, exactly or without a calendar date at its end.
- no_token_price: the model is listed, but priced only in units that an event does not carry, or without any price.
- no_price_for_tier: the seller states no price of the model for this service tier; the default price is never taken instead.
- no_price_for_surface, no_price_for_region: all prices of the model and tier are for other surfaces or regions than the event's.
- no_price_in_force: there are prices, none at the event's time.
- cache_read_unknown: the log does not say how many input tokens came from a cache.
- inconsistent: a negative count, or parts larger than their whole.
- no_price_for_class:CLASS: tokens of a class for which the row has neither a price nor a fallback.
- over_limit: more than 9,000 currency units, or a count of 2^50 or more.
"""


def class_reason(token_class: str) -> int:
    """Code of `no_price_for_class:token_class`."""
    return NO_PRICE_FOR_CLASS + PRICED_CLASSES.index(token_class)
