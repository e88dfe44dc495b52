"""Why did this event cost that? The same derivation as the API's, as a table or JSON."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import click
import msgspec

from accounting.cli.group import example
from accounting.cli.tenant_option import chosen, tenant_option
from accounting.ledger.explain import explain as derive
from accounting.storage.engine import app_engine
from accounting.storage.tenants import context

_COSTS = ("list_cost", "contracted_cost", "effective_cost", "billed_cost")


@click.command(epilog=example("tokencogs explain req-1", "tokencogs explain req-1 --format json"))
@click.argument("event_id")
@click.option("--format", "form", type=click.Choice(["table", "json"]), default="table", show_default=True)
@tenant_option
def explain(event_id: str, form: str, tenant: str | None) -> None:
    """Print how the cost of EVENT_ID came about: names, price rows, thresholds, each token class, and every later charge.

    Nothing is rated again: what is shown made the charge, whatever the price book says today.
    """
    engine = app_engine()
    found = derive(engine, context(engine, chosen(tenant)), event_id)
    if form == "json":
        click.echo(msgspec.json.format(msgspec.json.encode(found)))
    else:
        click.echo("\n".join(_lines(found)))


def _lines(found: dict[str, Any]) -> Iterator[str]:
    event, outcome, matched = found["event"], found["outcome"], found["matched"]
    yield f"event       {event['event_id']} revision {event['revision']}, {event['occurred_at']}"
    yield f"logged      {_named(event, ('provider', 'surface', 'model', 'response_model', 'region', 'service_tier', 'batch'))}"
    reason = f" ({outcome['reason']})" if outcome["reason"] else ""
    yield f"status      {outcome['status']}{reason}, basis {outcome['basis']}"
    if matched["priced_model"] is not None:
        yield f"matched     {matched['logged_model']} is {matched['seller']}/{matched['priced_model']} ({matched['how']})"
    for name in ("list_price", "contracted_price"):
        if found[name] is not None and (name == "list_price" or found[name] != found["list_price"]):
            yield from _price(name.replace("_", " "), found[name])
    if found["conditions"] is not None and found["conditions"]["threshold"]:
        yield f"threshold   {found['conditions']['threshold']}"
    for part in found["components"]:
        fallback = f" (price of {part['fallback']})" if part["fallback"] else ""
        yield (
            f"  {part['token_class']:<16} {part['quantity']:>12,} x {part['contracted_unit_price']} = "
            f"{part['contracted_cost']}{fallback}; list {_shown(part['list_unit_price'])} = {_shown(part['list_cost'])}"
        )
    yield f"cost        {_costs(outcome)} {outcome['billing_currency']}"
    for line in found["lines"]:
        kind = line["class"] or "first charge"
        run = f", run {line['run_id']}" if line["run_id"] else ""
        why = f", {line['reason']}" if line["reason"] else ""
        yield f"line        {line['charge_id']}: {kind}, {line['charge_status']}{why}{run}: {_costs(line)}"
    for part in found["pools"]:
        yield from _pool_hour(part)
    if found["estimate"] is not None:
        estimate = found["estimate"]
        yield (
            f"estimate    {estimate['cost']} {estimate['billing_currency']} in a full batch on curve {estimate['curve_id']}; in no total"
        )
    for line in found["settlement"]:
        yield (
            f"settlement  {line['policy']} ({line['reason']}) on all of the day's usage of this user and model: {_costs(line)}"
        )


def _pool_hour(part: dict[str, Any]) -> Iterator[str]:
    """What one hour of a pool made of the event: its seconds, then its part of the bill."""
    quality = part["quality"] or part["reason"] or "no share"
    yield f"pool        {part['pool_id']} {part['hour']}, curve {part['curve_id']}, policy {part['policy']}, {quality}"
    if part["share_seconds"] is not None:
        yield (
            f"  seconds   {part['share_seconds']:.9g} = own prefill {part['own_prefill_seconds']:.9g} + own decode "
            f"{part['own_decode_seconds']:.9g} + shared {part['shared_seconds']:.9g} + experts {part['expert_seconds']:.9g}"
        )
        yield (
            f"            prefill {part['prefill_seconds']:.9g}, decode {part['decode_seconds']:.9g}; {part['steps']:.6g} steps of "
            f"{part['mean_batch']:.4g} requests, {part['kv_share']:.2%} of the cache held"
        )
    if part["direct_cost"] is not None:
        yield (
            f"  cost      direct {part['direct_cost']} + gap {part['gap_cost']} = attributed {part['attributed_cost']}; "
            f"+ idle {part['idle_cost']} = fully loaded {part['fully_loaded_cost']} {part['billing_currency']}"
        )
    hour = part["pool_hour"]
    if hour is not None:
        yield (
            f"  hour      bill {hour['bill']} = direct {hour['direct']} + gap {hour['gap']} + idle {hour['idle']}; "
            f"{hour['replica_seconds']:g} replica-seconds, {hour['in_flight_seconds']:g} in flight"
        )


def _price(name: str, row: dict[str, Any]) -> Iterator[str]:
    yield (
        f"{name:<11} {row['sku_price_id']} {row['seller']}/{row['model']} {row['service_tier']}, {row['currency']}, "
        f"from {row['effective_from'] or 'the beginning'} until {row['effective_until'] or 'now'}"
    )
    stated = f"{row['source']} {row['source_version']}".strip()
    people = _named(row, ("created_by", "approved_by", "checked_on", "derived_from", "surface", "region"))
    yield f"            {row['layer']} row of {stated}, recorded {row['recorded_at']}{', ' + people if people else ''}"


def _named(values: dict[str, Any], names: tuple[str, ...]) -> str:
    return ", ".join(f"{name} {values[name]}" for name in names if values[name] not in (None, False))


def _costs(values: dict[str, Any]) -> str:
    return ", ".join(f"{name.removesuffix('_cost')} {_shown(values[name])}" for name in _COSTS)


def _shown(amount: str | None) -> str:
    return "unknown" if amount is None else amount
