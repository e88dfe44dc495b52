"""How is an exact amount shown to people? Formatting alone: nothing here adds, splits or converts."""

from __future__ import annotations

from decimal import ROUND_HALF_EVEN, Context, Decimal

UNKNOWN = "—"
"""What stands for a figure that nobody knows; never 0."""
SYMBOLS = {"USD": "$", "EUR": "€", "GBP": "£", "INR": "₹"}
_CENT = Decimal("0.01")
_LEAST = Decimal("0.000000001")
"""Less than this is what rounding of exact fractions left."""
_LEAST_PLAIN = Decimal("0.0001")
"""The least ratio that four decimals show."""
_ALL = Decimal(100)
_THREE_DIGITS = Context(prec=3, rounding=ROUND_HALF_EVEN)
_STEPS = ((9, "bn"), (6, "m"))
_MINUS = "\N{MINUS SIGN}"


def amount(exact: str | None, currency: str | None = None) -> str:
    """An amount in cents with thousands separators; below a cent with two significant digits, below a billionth as nearly 0;
    UNKNOWN for None.

    Args:
        exact: plain decimal text as the API sends it.
        currency: ISO 4217 code; None shows none.
    """
    if exact is None:
        return UNKNOWN
    value = Decimal(exact)
    size = abs(value)
    if size and size < _LEAST:
        return f"\N{ALMOST EQUAL TO}{_signed(Decimal(0), '0.00', currency)}"
    digits = _two_digits(size) if size and size < _CENT else f"{size.quantize(_CENT, ROUND_HALF_EVEN):,f}"
    return _signed(value, digits, currency)


def short(exact: str | None, currency: str | None = None) -> str:
    """The same for a heading: from a million on, three significant digits of millions or billions."""
    if exact is None:
        return UNKNOWN
    value = Decimal(exact)
    for power, name in _STEPS:
        if abs(value) >= Decimal(10) ** power:
            return _signed(value, f"{abs(value).scaleb(-power):,.2f}", currency) + f" {name}"
    return amount(exact, currency)


def percent(exact: str | None) -> str:
    """A percentage with one decimal; one that is nearly nothing or nearly all does not look like it is."""
    if exact is None:
        return UNKNOWN
    value = Decimal(exact)
    digits = f"{abs(value):,.1f}"
    if value and digits == "0.0":
        return "<0.1 %" if value > 0 else f"{_MINUS}<0.1 %"
    if digits == "100.0" and 0 < value < _ALL:
        return ">99.9 %"
    return f"{_signed(value, digits, None)} %"


def count(value: int | None) -> str:
    """A whole number with thousands separators."""
    return UNKNOWN if value is None else f"{value:,}"


def number(exact: str | None) -> str:
    """A ratio or quantity: up to four decimals, no trailing noise; what these would show as 0, with two significant digits."""
    if exact is None:
        return UNKNOWN
    value = Decimal(exact)
    size = abs(value)
    if size and size < _LEAST_PLAIN:
        return _signed(value, _two_digits(size), None)
    places = 2 if size >= 100 else 4
    return _signed(value, f"{size:,.{places}f}".rstrip("0").rstrip("."), None)


def brief(exact: str | None) -> str:
    """A quantity in three significant digits, for the cell of a picture: 12.3k, 4.57m."""
    if exact is None:
        return UNKNOWN
    # Rounded before its unit is chosen, so that 999.9k is 1m.
    value = _THREE_DIGITS.plus(Decimal(exact))
    for power, name in ((9, "bn"), (6, "m"), (3, "k")):
        if abs(value) >= Decimal(10) ** power:
            return _signed(value, f"{abs(value).scaleb(-power).normalize():f}", None) + name
    return _signed(value, f"{abs(value).normalize():f}", None)


def exactly(exact: str | None, currency: str | None = None) -> str:
    """Every digit, for hovering and for those who asked for exact figures."""
    return "not known" if exact is None else " ".join(part for part in (exact, currency) if part)


def _two_digits(size: Decimal) -> str:
    return f"{size.quantize(Decimal(1).scaleb(size.adjusted() - 1), ROUND_HALF_EVEN):f}"


def _signed(value: Decimal, digits: str, currency: str | None) -> str:
    symbol = "" if currency is None else SYMBOLS.get(currency, f"{currency} ")
    return f"{_MINUS if value < 0 and digits.strip('0.,') else ''}{symbol}{digits}"
