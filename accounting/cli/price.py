"""What do events in a file cost, without a database?"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from datetime import UTC, datetime

import click
import msgspec

from accounting.cli.group import FAILURE, example
from accounting.cli.lines import batches, opened
from accounting.ledger.first_charge import REFUSED, rate_input
from accounting.pricing.book import PriceBook
from accounting.pricing.charge import charge
from accounting.pricing.genai_prices_source import load_list_tariffs
from accounting.pricing.rate import rate
from accounting.usage.columns import Prepared, prepare

Finding = tuple[int, str]


@click.command(
    epilog=example("tokencogs price events.jsonl > charges.jsonl", "zcat events.jsonl.gz | tokencogs price - | head")
)
@click.argument("file", type=click.Path(exists=True, dir_okay=False, allow_dash=True))
def price(file: str) -> None:
    """Price native events of FILE (- for standard input) by the list prices that come with tokencogs; needs no database.

    Reads JSON Lines (plain, .gz or .zst), writes one charge a line in the same order, in memory that doesn't grow with the file.
    The same line twice is priced twice. Lines that can't be used are named on stderr, the rest is priced, and the exit code is 1.
    """
    tariffs, aliases, _ = load_list_tariffs()
    book = PriceBook(tariffs, aliases)
    out = sys.stdout.buffer
    encoder = msgspec.json.Encoder()
    all_good = True
    with opened(file) as (reader, _):
        for batch in batches(reader, file, arrays=False):
            prepared = prepare(batch.body, ndjson=True, now=datetime.now(UTC))
            charges, refused = charges_of(book, prepared)
            out.write(encoder.encode_lines(charges))
            for index, reason in sorted([*refused, *_rejected(prepared)]):
                all_good = False
                click.echo(f"line {batch.lines[index]}: {reason}", err=True)
    if not all_good:
        sys.exit(FAILURE)


def charges_of(book: PriceBook, prepared: Prepared) -> tuple[list[dict[str, object]], list[Finding]]:
    """Charges in the order of the rows, and (index, reason) of those that no ledger would book."""
    inp = rate_input(prepared.batch)
    rated = rate(book, inp)
    event_ids = prepared.batch["event_id"].to_pylist()
    deployments = prepared.batch["deployment"].to_pylist()
    charges: list[dict[str, object]] = []
    refused: list[Finding] = []
    for row, (event_id, deployment) in enumerate(zip(event_ids, deployments, strict=True)):
        why = REFUSED.get(int(rated.reason[row])) if deployment is None else None
        if why is None:
            charges.append(charge(book, inp, rated, row, event_id, deployment))
        else:
            refused.append((prepared.indexes[row], f"usage: {why}"))
    return charges, refused


def _rejected(prepared: Prepared) -> Iterator[Finding]:
    for row in prepared.rejected:
        shown = row.field if row.value is None else f"{row.field}={row.value!r}"
        yield row.index, f"{shown}: {row.reason}"
