"""What does each number mean? One sentence each, shown where a reader hovers over it."""

from __future__ import annotations

DEFINITIONS = {
    "effective_cost": "What usage cost after discounts and commitments, by the price in force at its time (FOCUS EffectiveCost).",
    "list_cost": "What the same usage costs at list prices (FOCUS ListCost).",
    "contracted_cost": "What it costs at the prices of the contract, before credits (FOCUS ContractedCost).",
    "billed_cost": "What the seller invoices; 0 for usage that a prepaid commitment covers (FOCUS BilledCost).",
    "cost_of_revenue": "Effective cost of requests that serve paying users: what the income statement calls cost of revenue.",
    "net_revenue": "What was earned on the days of the period: subscriptions, invoice lines and use, less discounts and refunds.",
    "recognised_revenue": "What was earned on the days of the period: subscriptions, invoice lines and use, less discounts and refunds.",
    "gross_margin": "Recognised revenue less the effective cost of users' own requests, free and trial use included.",
    "gross_margin_pct": "Gross margin as a share of recognised revenue; unknown without revenue.",
    "gross_margin_free_tier_out": "The same, leaving out what free and trial users cost: how paying users alone do.",
    "gross_margin_free_tier_out_pct": "That margin as a share of recognised revenue.",
    "free_tier_cost": "Effective cost of requests whose purpose is free or trial.",
    "run_rate": "Month to date x days of the month / days elapsed: the month, if it goes on as it began.",
    "coverage": "Share of events whose cost is known. What is not priced is in no total; unknown is never 0.",
    "margin": "Recognised revenue less effective cost.",
    "margin_pct": "Margin as a share of recognised revenue; unknown without revenue.",
    "events": "Model calls booked in the period.",
    "unpriced_events": "Calls without a known price; they are in no total.",
    "pending_events": "Calls on own machines that wait for their pool's bill; they are in no total.",
    "tokens": "Input and output tokens, reads and writes of caches included.",
    "event_share": "Share of all events of the period.",
    "token_share": "Share of all tokens of the period.",
    "statement_line": "Where the purpose of a call belongs on the income statement.",
    "seller": "Who is paid for the call.",
    "model": "The model that answered, by the name of the price list.",
    "purpose": "Why the call was made: production, free, trial, eval, internal or training.",
    "category": "Usage, purchase, credit, tax or adjustment (FOCUS ChargeCategory).",
    "charge_status": "priced; unpriced: no price is known; pending_settlement: waits for a pool's bill.",
    "charge_id": "The ledger line; lines are appended, never changed.",
    "basis": "What the cost stands on: a price list, a contract, the provider's own statement or a measured curve.",
    "billing_currency": "The currency in which the seller bills.",
    "uncached_input_tokens": "Input tokens that no cache held.",
    "cache_read_tokens": "Input tokens read from the provider's cache.",
    "cache_write_tokens": "Input tokens written to the provider's cache.",
    "output_tokens": "Tokens that the model wrote, reasoning included.",
    "effective_from": "First moment at which the price holds.",
    "effective_until": "First moment at which it no longer holds; empty: still in force.",
    "unit_price": "Per million tokens, or per thousand of counted things.",
    "source": "Who states the price.",
    "checked_on": "The day on which somebody last compared it with the seller's page.",
    "exceptions": "Bodies whose counts contradict themselves or what is booked; in no total until somebody decides.",
    "usage_missing": "Calls whose body carries no usage at all, as a stream that broke.",
    "late": "Booked in another month than it was incurred in, as that month was closed or over.",
    "estimated": "Cost of calls on own machines whose share of the bill rests on estimated times.",
    "unmatched_revenue": "Invoice lines that belong to no known user, account or plan.",
}
"""Name of a column or figure -> its definition."""


def define(name: str) -> str | None:
    """The definition of a figure; None where its name says it all."""
    return DEFINITIONS.get(name)


def label(name: str) -> str:
    """A column's name for people."""
    text = name.replace("_pct", " %").replace("_", " ")
    return text[:1].upper() + text[1:]
