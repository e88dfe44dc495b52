"""What does each number mean? One sentence each, shown where a reader hovers over it."""

from __future__ import annotations

import re

from dashboard.definitions_plans import PLANS
from dashboard.definitions_pools import POOLS

_SHORT = ("fx", "gpu", "itl", "kv", "ttft")
_FAMILIES = (
    (re.compile(r"\d{4}-\d{2}"), "Effective cost booked in that month."),
    (re.compile(r"cost_p(\d+)"), r"\1 % of the subscribers cost at most so much."),
    (re.compile(r"top_(\d+)_pct"), r"Share of the cost that the dearest \1 % have."),
    (re.compile(r"queue_ms_p(\d+)"), r"\1 % of the calls waited at most so many milliseconds."),
    (re.compile(r"ttft_ms_p(\d+)"), r"\1 % of the calls had their first token within so many milliseconds."),
    (re.compile(r"itl_ms_p(\d+)"), r"\1 % of the calls had at most so many milliseconds between two tokens."),
    (re.compile(r"\w+_change_pct"), "Change against the same days of the period before."),
)
"""Columns whose names hold a number or another column."""
DEFINITIONS = {
    "effective_cost": "What usage cost after discounts and commitments, by the price in force at its time (FOCUS EffectiveCost).",
    "list_cost": "What the same usage costs at list prices (FOCUS ListCost).",
    "contracted_cost": "What it costs at the prices of the contract, before credits (FOCUS ContractedCost).",
    "billed_cost": "What the seller invoices; 0 for usage that a prepaid commitment covers (FOCUS BilledCost).",
    "cost_of_revenue": "Effective cost of requests that serve paying users: what the income statement calls cost of revenue.",
    "net_revenue": "What was earned on the days of the period: subscriptions, invoice lines and use, less discounts and refunds.",
    "recognised_revenue": "What was earned on the days of the period: subscriptions, invoice lines and use, less discounts and refunds.",
    "gross_margin": "Net revenue less what users' own requests cost, free and trial use, idle machines and payment fees included.",
    "gross_margin_pct": "Gross margin as a share of net revenue; unknown without revenue.",
    "gross_margin_free_tier_out": "The same, leaving out what free and trial users cost: how paying users alone do.",
    "gross_margin_free_tier_out_pct": "That margin as a share of net revenue.",
    "free_tier_cost": "Effective cost of requests whose purpose is free or trial.",
    "run_rate": "Month to date x days of the month / days elapsed: the month, if it goes on as it began.",
    "coverage": "Share of events whose cost is known. What is not priced is in no total; unknown is never 0.",
    "margin": "Revenue less the cost and fees in the columns beside it.",
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
    "provider_cost": "Effective cost of calls that providers bill.",
    "self_hosted_cost": "Share of own machines' bills that falls on these calls, the gap included; idle time is a line of its own.",
    "payment_fees": "What payment systems kept.",
    "contribution_margin": "Net revenue less provider, tools and self-hosted cost and payment fees, without idle machines.",
    "loss_making": "Subscribers whose usage cost and payment fees are more than their net revenue.",
    "loss_making_pct": "Those as a share of the subscribers.",
    "cost_per_subscriber": "Usage cost over the number of subscribers.",
    "net_revenue_per_subscriber": "Net revenue over the number of subscribers.",
    "margin_change": "Gross margin of the period less that of the period before; the steps add up to it exactly.",
    "cache_hit_pct": "Input tokens read from a cache, as a share of all input tokens.",
    "cache_saving": "Cached tokens x (price of fresh input - price of cached input), at the very price row of each call.",
    "failure_cost": "Effective cost of calls that ended in an error, a timeout or a cancellation.",
    "retry_cost": "Effective cost of calls that repeat an earlier one.",
    "blended_per_million": "Effective cost of a million tokens of any kind; it holds for this mix alone.",
    "context_p50": "Half of the calls held at most so many tokens at their first token.",
    "context_p95": "95 % of the calls held at most so many tokens at their first token.",
    "by_calls": "Change of cost since the month before that more or fewer calls made.",
    "by_tokens_per_call": "Change of cost since the month before that longer or shorter calls made.",
    "by_unit_price": "Change of cost since the month before that a dearer or cheaper token made.",
    "cost_per_task": "Effective cost of all calls of a task, on average.",
    "calls_per_task": "Calls of a task, on average.",
    "pool_bill": "GPU-hours of the pool x their dated rate: direct shares + gap + idle, exactly.",
    "pool_direct": "What requests used, by the measured curve: their shares of each hour.",
    "pool_idle": "Time in which nothing was in flight.",
    "gap": "Time in flight that no share explains: host, curve error, unproven work; negative where the curve predicts too much.",
    "underfill": "A part of the shares: what batches below the best measured one cost more than full ones.",
    "utilisation_pct": "Requests' own work at the best measured batch, as a share of the bill.",
    "calibration": "Time in flight over what the curve predicts for it.",
    "plain_per_million": "GPU-hours paid for over the tokens of that time: idle hours included.",
    "full_per_million": "A million tokens if the pool were full all day.",
    "break_even_use": "Use at which an average paying subscriber earns nothing.",
    "tokens_per_second": "Output of one replica, with the measured correction: what prices use.",
    "fitted_tokens_per_second": "By the curve's fitted terms alone.",
    "measured_tokens_per_second": "What the probe measured at this point; unknown where it did not measure.",
    "ttft_seconds": "Time to the first token beside a full batch, without queueing.",
}
"""Name of a column or figure -> its definition."""


def define(name: str) -> str | None:
    """The definition of a figure; None where its name says it all."""
    known = DEFINITIONS.get(name) or PLANS.get(name) or POOLS.get(name)
    if known is not None:
        return known
    return next((found.expand(text) for form, text in _FAMILIES if (found := form.fullmatch(name))), None)


def label(name: str) -> str:
    """A column's name for people: words, short names in capitals."""
    words = name.replace("_pct", " %").replace("_", " ").split(" ")
    text = " ".join(word.upper() if word in _SHORT else word for word in words)
    return text[:1].upper() + text[1:]
