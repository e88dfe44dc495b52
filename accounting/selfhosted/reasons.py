"""Why does a request carry no charge, and how good is the one it carries? Codes of int8 columns; the place in the tuple is the code."""

from __future__ import annotations

REASONS = (
    "charged",
    "no_evidence_of_steps",
    "cached_tokens_unknown",
    "times_unknown",
    "times_contradict",
    "outside_measured_range",
    "replica_not_billed",
    "not_in_step_ledger",
)
"""0 is charged. `no_evidence_of_steps` has share 0, its time stays in the gap as unproven work; all others are unpriced: share null.
`not_in_step_ledger`: the log says that it had steps, and the ledger of its replica, which covers that time, names none."""

(
    CHARGED,
    NO_EVIDENCE,
    CACHED_UNKNOWN,
    TIMES_UNKNOWN,
    TIMES_CONTRADICT,
    OUTSIDE,
    NOT_BILLED,
    NOT_IN_LEDGER,
) = range(len(REASONS))

QUALITIES = ("exact", "measured", "estimated")
"""exact: step ledger. measured: replica, first token, end and cached tokens logged. estimated: some of it was filled in."""

EXACT, MEASURED, ESTIMATED = range(len(QUALITIES))
