"""How does a contract look as JSON, and which contract does a JSON object state?

Fields have the names of contract.py, without `_text`: `value`, `amount`. Instants are RFC 3339 with a zone, days ISO dates, money
decimal text. A field that is not known is refused by name, so that a misspelt condition never widens a rule.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, date, datetime
from typing import Any, cast

from accounting.errors import InvalidInput
from accounting.pricing.contract import Commitment, Contract, Credit, PriceRule, Scope, VolumeStep, VolumeTier

_PROVENANCE = ("source", "created_by", "approved_by", "recorded_at")
_SCOPE = ("models", "service_tiers", "token_classes", "surfaces", "regions")


def contract_to_json(contract: Contract) -> dict[str, Any]:
    """A JSON object that `contract_from_json` reads back as an equal contract; what is None is left out."""
    plain = {name: getattr(contract, name) for name in ("contract_id", "tenant", "seller", "currency")}
    dates = {name: _instant_text(getattr(contract, name)) for name in ("effective_from", "effective_until")}
    lists = {
        "rules": [_rule_json(rule) for rule in contract.rules],
        "volume_tiers": [_tier_json(tier) for tier in contract.volume_tiers],
        "commitments": [_commitment_json(one) for one in contract.commitments],
        "credits": [_credit_json(credit) for credit in contract.credits],
    }
    provenance = {
        "source": contract.source or None,
        "created_by": contract.created_by,
        "approved_by": contract.approved_by,
        "recorded_at": _instant_text(contract.recorded_at),
    }
    return _stated(plain | dates | {name: rows or None for name, rows in lists.items()} | provenance)


def contract_from_json(value: Mapping[str, Any]) -> Contract:
    """The contract of a JSON object. InvalidInput names the field and the value that can't be used."""
    fields = _object("contract", value)
    contract = Contract(
        contract_id=_text(fields, "contract_id"),
        tenant=_text(fields, "tenant"),
        seller=_text(fields, "seller"),
        currency=_text(fields, "currency"),
        effective_from=_required(_instant, fields, "effective_from"),
        effective_until=_instant(fields, "effective_until"),
        rules=_list(fields, "rules", _rule),
        volume_tiers=_list(fields, "volume_tiers", _tier),
        commitments=_list(fields, "commitments", _commitment),
        credits=_list(fields, "credits", _credit),
        source=_optional_text(fields, "source") or "",
        created_by=_optional_text(fields, "created_by"),
        approved_by=_optional_text(fields, "approved_by"),
        recorded_at=_instant(fields, "recorded_at"),
    )
    _nothing_left(fields)
    return contract


def contract_hash(contract: Contract) -> str:
    """SHA-256, in hex, of what the contract says; who wrote it down and when is left out. The same on every machine."""
    content = {name: one for name, one in contract_to_json(contract).items() if name not in _PROVENANCE}
    return hashlib.sha256(json.dumps(content, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


class _Fields(dict[str, Any]):
    """An object's fields while they are taken out one by one; `where` names the object in errors."""

    where = ""


def _rule(fields: _Fields) -> PriceRule:
    return PriceRule(
        rule_id=_text(fields, "rule_id"),
        kind=cast(Any, _text(fields, "kind")),
        scope=_scope(fields),
        value_text=_decimal_text(fields, "value"),
        effective_from=_instant(fields, "effective_from"),
        effective_until=_instant(fields, "effective_until"),
    )


def _tier(fields: _Fields) -> VolumeTier:
    return VolumeTier(
        tier_id=_text(fields, "tier_id"),
        scope=_scope(fields),
        counted_classes=_names(fields, "counted_classes"),
        steps=_list(fields, "steps", _step),
        period=cast(Any, _optional_text(fields, "period") or "calendar_month"),
    )


def _step(fields: _Fields) -> VolumeStep:
    return VolumeStep(_whole(fields, "from_quantity"), cast(Any, _text(fields, "kind")), _decimal_text(fields, "value"))


def _commitment(fields: _Fields) -> Commitment:
    return Commitment(
        commitment_id=_text(fields, "commitment_id"),
        kind=cast(Any, _text(fields, "kind")),
        amount_text=_decimal_text(fields, "amount"),
        starts_on=_day(fields, "starts_on"),
        ends_on=_day(fields, "ends_on"),
        scope=_scope(fields),
    )


def _credit(fields: _Fields) -> Credit:
    return Credit(
        credit_id=_text(fields, "credit_id"),
        amount_text=_decimal_text(fields, "amount"),
        priority=_whole(fields, "priority"),
        valid_from=_required(_instant, fields, "valid_from"),
        valid_until=_instant(fields, "valid_until"),
        scope=_scope(fields),
    )


def _scope(fields: _Fields) -> Scope:
    stated = _object(f"{fields.where}.scope", fields.pop("scope", None) or {})
    scope = Scope(**{name: _names(stated, name) for name in _SCOPE})
    _nothing_left(stated)
    return scope


def _rule_json(rule: PriceRule) -> dict[str, Any]:
    dates = {name: _instant_text(getattr(rule, name)) for name in ("effective_from", "effective_until")}
    plain = {"rule_id": rule.rule_id, "kind": rule.kind, "value": rule.value_text}
    return _stated(plain | {"scope": _scope_json(rule.scope)} | dates)


def _tier_json(tier: VolumeTier) -> dict[str, Any]:
    steps = [{"from_quantity": step.from_quantity, "kind": step.kind, "value": step.value_text} for step in tier.steps]
    counted = None if tier.counted_classes is None else sorted(tier.counted_classes)
    plain = {"tier_id": tier.tier_id, "counted_classes": counted, "steps": steps, "period": tier.period}
    return _stated(plain | {"scope": _scope_json(tier.scope)})


def _commitment_json(one: Commitment) -> dict[str, Any]:
    plain = {"commitment_id": one.commitment_id, "kind": one.kind, "amount": one.amount_text}
    days = {"starts_on": one.starts_on.isoformat(), "ends_on": one.ends_on.isoformat()}
    return _stated(plain | days | {"scope": _scope_json(one.scope)})


def _credit_json(credit: Credit) -> dict[str, Any]:
    plain = {"credit_id": credit.credit_id, "amount": credit.amount_text, "priority": credit.priority}
    dates = {name: _instant_text(getattr(credit, name)) for name in ("valid_from", "valid_until")}
    return _stated(plain | dates | {"scope": _scope_json(credit.scope)})


def _scope_json(scope: Scope) -> dict[str, Any] | None:
    found = {name: sorted(values) for name in _SCOPE if (values := getattr(scope, name)) is not None}
    return found or None


def _stated(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value is not None}


def _object(where: str, value: object) -> _Fields:
    if not isinstance(value, Mapping):
        raise InvalidInput(where, value, "an object is expected")
    fields = _Fields(value)
    fields.where = where
    return fields


def _nothing_left(fields: _Fields) -> None:
    for name, value in fields.items():
        raise InvalidInput(f"{fields.where}.{name}", value, "no such field")


def _list(fields: _Fields, name: str, make: Callable[[_Fields], Any]) -> tuple[Any, ...]:
    rows = fields.pop(name, None)
    if rows is None:
        return ()
    if not isinstance(rows, Sequence) or isinstance(rows, str):
        raise InvalidInput(f"{fields.where}.{name}", rows, "a list is expected")
    made = []
    for at, row in enumerate(rows):
        inner = _object(f"{fields.where}.{name}[{at}]", row)
        made.append(make(inner))
        _nothing_left(inner)
    return tuple(made)


def _names(fields: _Fields, name: str) -> frozenset[str] | None:
    values = fields.pop(name, None)
    if values is None:
        return None
    if isinstance(values, str) or not isinstance(values, Sequence) or not all(isinstance(one, str) for one in values):
        raise InvalidInput(f"{fields.where}.{name}", values, "a list of names is expected")
    for value in values:
        _check_storable(fields, name, value)
    return frozenset(values)


def _text(fields: _Fields, name: str) -> str:
    value = fields.pop(name, None)
    if not isinstance(value, str) or not value:
        raise InvalidInput(f"{fields.where}.{name}", value, "a text is expected")
    _check_storable(fields, name, value)
    return value


def _check_storable(fields: _Fields, name: str, value: str) -> None:
    if "\x00" in value:
        raise InvalidInput(f"{fields.where}.{name}", value, "holds the character U+0000")


def _optional_text(fields: _Fields, name: str) -> str | None:
    return _text(fields, name) if fields.get(name) is not None else fields.pop(name, None)


def _decimal_text(fields: _Fields, name: str) -> str:
    value = fields.pop(name, None)
    if isinstance(value, bool) or not isinstance(value, (str, int)):
        raise InvalidInput(f"{fields.where}.{name}", value, 'a decimal number as text is expected, such as "2.50"')
    return str(value)


def _whole(fields: _Fields, name: str) -> int:
    value = fields.pop(name, None)
    if isinstance(value, bool) or not isinstance(value, int):
        raise InvalidInput(f"{fields.where}.{name}", value, "a whole number is expected")
    return value


def _instant(fields: _Fields, name: str) -> datetime | None:
    value = fields.pop(name, None)
    if value is None:
        return None
    try:
        moment = value if isinstance(value, datetime) else datetime.fromisoformat(value)
    except (TypeError, ValueError):
        moment = None
    if moment is None or moment.tzinfo is None:
        raise InvalidInput(
            f"{fields.where}.{name}", value, "an instant with its zone is expected (2026-03-13T00:00:00Z)"
        )
    try:
        return moment.astimezone(UTC)
    except OverflowError:
        raise InvalidInput(f"{fields.where}.{name}", value, "lies beyond the calendar") from None


def _day(fields: _Fields, name: str) -> date:
    value = fields.pop(name, None)
    try:
        return value if type(value) is date else date.fromisoformat(cast(str, value))
    except (TypeError, ValueError):
        raise InvalidInput(f"{fields.where}.{name}", value, "a day is expected (2026-03-13)") from None


def _required(read: Callable[[_Fields, str], datetime | None], fields: _Fields, name: str) -> datetime:
    found = read(fields, name)
    if found is None:
        raise InvalidInput(f"{fields.where}.{name}", None, "an instant with its zone is expected")
    return found


def _instant_text(moment: datetime | None) -> str | None:
    return None if moment is None else moment.isoformat().replace("+00:00", "Z")
