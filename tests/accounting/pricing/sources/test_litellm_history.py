"""Do LiteLLM's eleven dated tables, read in order, answer what each model cost on any day between?

The oracle is `price_changes.csv`, made of the same tables by other means: each price that differs between two neighbouring tables.
"""

from __future__ import annotations

import csv
import gzip
import re
from datetime import UTC, datetime
from decimal import Decimal

import pytest

from accounting.pricing.sources.keys import uses
from accounting.pricing.sources.litellm import parts, read_table
from accounting.pricing.sources.statement import SourceFindings
from accounting.pricing.succession import Succession, succeed
from accounting.pricing.tariff import Tariff
from tests.shared_data import shared

FLOAT_NOISE = Decimal("1e-9")
"""The oracle's texts are floats; a price of ours has no digits beyond the ninth."""
HISTORY = tuple[dict[str, list[Tariff]], dict[str, SourceFindings], list[Succession]]


@pytest.fixture(scope="module")
def history() -> HISTORY:
    """Rows by model after all eleven tables, findings by day, and what each table changed."""
    known: dict[int, Tariff] = {}
    findings: dict[str, SourceFindings] = {}
    changes: list[Succession] = []
    for path in sorted(shared("litellm-prices").glob("model_prices_before_*.json.gz")):
        named = re.fullmatch(r"model_prices_before_(\d{4}-\d\d-\d\d)_v(.*)\.json\.gz", path.name)
        assert named is not None
        statement = read_table(gzip.decompress(path.read_bytes()), named[2])
        day = datetime.fromisoformat(named[1]).replace(tzinfo=UTC)
        changed = succeed(known.values(), statement.rows, day, whole=True)
        known |= {row.sku_price_id: row for row in (*changed.new, *changed.ended)}
        findings[named[1]] = statement.findings
        changes.append(changed)
    rows: dict[str, list[Tariff]] = {}
    for row in known.values():
        rows.setdefault(row.model, []).append(row)
    return rows, findings, changes


def test_each_table_only_adds_and_ends_rows(history: HISTORY) -> None:
    assert len(history[2]) == 11
    assert [len(one.withdrawn) for one in history[2]] == [0] * 11
    assert (len(history[2][0].new), history[2][0].unchanged) == (141, 0)


def test_every_change_of_a_price_between_two_tables_is_answered(history: HISTORY) -> None:
    rows, findings, _ = history
    compared, unheld, wrong = 0, 0, []
    with shared("litellm-prices/price_changes.csv").open(encoding="utf-8") as lines:
        for change in csv.DictReader(lines):
            for value, day in (
                ("old_usd_per_mtok", "last_seen_old_before"),
                ("new_usd_per_mtok", "first_seen_new_before"),
            ):
                stated, held = change[value], _price(rows, change["model"], change["field"], change[day])
                compared += 1
                if not stated:
                    if not _means_another_key(rows, change["model"], change["field"], change[day], held):
                        wrong.append((change["model"], change["field"], change[day], stated, held))
                elif held is None or abs(held - Decimal(stated)) > Decimal(stated) * FLOAT_NOISE:
                    if held is None and _named(findings[change[day]], change["model"]):
                        unheld += 1
                    else:
                        wrong.append((change["model"], change["field"], change[day], stated, held))
    assert wrong == []
    assert (compared, unheld) == (4918, 21)


def _price(rows: dict[str, list[Tariff]], model: str, field: str, day: str) -> Decimal | None:
    """Price of a million tokens of a model on a day, for a request just above the field's threshold."""
    key, use = parts(field), uses("litellm")[parts(field).base]
    at = datetime.fromisoformat(day).replace(tzinfo=UTC)
    holding = [
        row
        for row in rows.get(model, [])
        if (row.service_tier, row.region) == (key.tier, None)
        and row.above_input_tokens <= key.above
        and row.effective_from is not None
        and row.effective_from <= at
        and (row.effective_until is None or at < row.effective_until)
    ]
    if not holding:
        return None
    price = max(holding, key=lambda row: row.above_input_tokens).prices.get(use.token_class)
    return None if price is None else Decimal(price) / 10**9


def _named(findings: SourceFindings, model: str) -> bool:
    """Whether the import said by name what of this model it could not hold."""
    return model in findings.models or any(one[0] == model for one in findings.withheld)


def _means_another_key(rows: dict[str, list[Tariff]], model: str, field: str, day: str, held: Decimal | None) -> bool:
    """Whether an absent key has no price, or the one of another key: above a threshold that below it; of a cache hit its older name."""
    if held is None or field == "cache_read_input_token_cost":
        return True
    return "_above_" in field and held == _price(rows, model, field.partition("_above_")[0], day)
