"""Do sources come into the list in two times: eleven dated tables in order, disagreements that wait for a person, July as known then?"""

from __future__ import annotations

import gzip
import hashlib
import re
from datetime import UTC, date, datetime
from typing import Any

import pytest

from accounting.errors import InvalidInput, NotFound
from accounting.pricing.sources import read
from accounting.storage.engine import read_only
from accounting.storage.price_decisions import decide, disagreements, proposals
from accounting.storage.price_imports import Outcome, import_statement, plan_import
from accounting.storage.price_views import difference, history, imports, prices
from accounting.storage.tariffs import load_book, read_tariffs
from tests.conftest import Database
from tests.shared_data import shared

pytestmark = [pytest.mark.storage, pytest.mark.one_server, pytest.mark.slow]


def _import(database: Database, source: str, content: bytes, day: str, **options: Any) -> Outcome:
    statement = read(source, content, options.pop("version", "v1"))
    file_hash = hashlib.sha256(content).hexdigest()
    return import_statement(database.owner, statement, file_hash, "ann", as_of=date.fromisoformat(day), **options)


@pytest.fixture(scope="module")
def imported(database: Database) -> Database:
    """All eleven LiteLLM tables in the order of their days, then Langfuse's."""
    for path in sorted(shared("litellm-prices").glob("model_prices_before_*.json.gz")):
        named = re.fullmatch(r"model_prices_before_(\d{4}-\d\d-\d\d)_v(.*)\.json\.gz", path.name)
        assert named is not None
        _import(database, "litellm", gzip.decompress(path.read_bytes()), named[1], version=named[2])
    _import(database, "langfuse", shared("langfuse/default-model-prices.json").read_bytes(), "2026-08-22")
    return database


# Read by hand from the tables before and after the day: price of a million tokens.
BETWEEN = [
    ("command-light", "cohere", "2024-06-01", {"uncached_input": "15", "output": "15"}),
    ("command-light", "cohere", "2025-02-01", {"uncached_input": "0.3", "output": "0.6"}),
    ("chatdolphin", "nlp_cloud", "2024-06-30", {"uncached_input": "20", "output": "20"}),
    ("chatdolphin", "nlp_cloud", "2025-01-05", {"uncached_input": "0.5", "output": "0.5"}),
    ("o3", "openai", "2025-05-01", {"uncached_input": "10", "cache_read": "2.5", "output": "40"}),
    ("o3", "openai", "2025-08-01", {"uncached_input": "2", "cache_read": "0.5", "output": "8"}),
    ("gpt-5.6-luna", "openai", "2026-09-01", {"uncached_input": "0.2", "cache_read": "0.02"}),
]


@pytest.mark.parametrize(("model", "seller", "day", "wanted"), BETWEEN)
def test_a_model_has_the_price_of_the_table_before_the_day(
    imported: Database, model: str, seller: str, day: str, wanted: dict[str, str]
) -> None:
    at = datetime.fromisoformat(day).replace(tzinfo=UTC)
    rows = history(imported.app, "", model, seller=seller, on=at)
    (row,) = [
        one
        for one in rows
        if one["region"] is None
        and (one["model"], one["list_source"], one["service_tier"], one["above_input_tokens"])
        == (model, "litellm", "default", 0)
    ]
    assert {name: row["prices"].get(name) for name in wanted} == wanted


def test_a_model_that_left_the_table_keeps_its_history(imported: Database) -> None:
    rows = [row for row in history(imported.app, "", "chatdolphin") if row["list_source"] == "litellm"]
    assert [(row["effective_from"], row["prices"]["output"]) for row in rows] == [
        ("2024-01-15T00:00:00Z", "20"),
        ("2025-01-05T00:00:00Z", "0.5"),
    ]
    gone = [row for row in history(imported.app, "", "gpt-4-32k", seller="openai") if row["list_source"] == "litellm"]
    assert gone[-1]["effective_until"] is not None


def test_what_the_first_source_does_not_know_is_served_from_the_next_one(imported: Database) -> None:
    (row,) = prices(imported.app, "", model="chatdolphin", on=datetime(2024, 6, 30, tzinfo=UTC))
    assert (row["source"], row["source_version"], row["prices"]["output"]) == ("litellm", "1.14.4", "20")


def test_the_first_source_rules_what_it_prices(imported: Database) -> None:
    rows = prices(imported.app, "", seller="openai", model="gpt-4o")
    assert {row["source"] for row in rows} == {"genai-prices"}


def test_the_whole_list_is_a_book_whose_rows_are_all_stored(imported: Database) -> None:
    book = load_book(imported.app, "")
    assert len(book.rows) > 8_000
    with read_only(imported.app, "") as connection:
        known = connection.exec_driver_sql("SELECT sku_price_id FROM tariffs").scalars().all()
    assert {row.sku_price_id for row in book.rows} <= set(known)


def test_the_same_file_as_of_the_same_day_changes_nothing(imported: Database) -> None:
    before = len(imports(imported.app, ""))
    again = _import(
        imported, "langfuse", shared("langfuse/default-model-prices.json").read_bytes(), "2026-08-22", version="other"
    )
    assert (again.repeated, again.plan, len(imports(imported.app, ""))) == (True, None, before)


def test_a_table_older_than_one_imported_is_refused_by_name(imported: Database) -> None:
    table = b'{"m": {"litellm_provider": "openai", "input_cost_per_token": 1e-06}}'
    with pytest.raises(
        InvalidInput, match=r"as_of='2026-08-01': import \d+ of litellm as of 2026-11-28 is recorded already"
    ):
        _import(imported, "litellm", table, "2026-08-01")


def test_a_later_day_of_the_same_table_says_the_same(imported: Database) -> None:
    path = shared("litellm-prices/model_prices_before_2026-11-28_v1.110.2.json.gz")
    plan = plan_import(imported.owner, read("litellm", gzip.decompress(path.read_bytes()), "x"), date(2026, 12, 1))
    assert {name: plan.counts[name] for name in ("new", "ended", "withdrawn", "proposed")} == {
        "new": 0,
        "ended": 0,
        "withdrawn": 0,
        "proposed": 0,
    }


def test_an_import_says_by_name_what_it_could_not_take_over(imported: Database) -> None:
    newest = next(row for row in imports(imported.app, "", findings=True) if row["source"] == "litellm")
    assert newest["findings"]["keys"]["output_cost_per_image"] == 346
    assert newest["findings"]["models"]["aiml/dall-e-2"] == "states no price of a token that can be held"


def test_sources_that_disagree_are_listed_with_both_prices(imported: Database) -> None:
    found = [row for row in disagreements(imported.app, "", model="o3") if row["model"] == "o3"]
    output = [row for row in found if row["token_class"] == "output"]
    assert [(row["unit_price"], row["other_source"], row["other_unit_price"]) for row in output] == [
        ("40", "genai-prices", "8")
    ]
    (waiting,) = proposals(imported.app, "", source="litellm", seller="openai", model="o3")
    assert {one["token_class"] for one in waiting["disagreements"]} == {"uncached_input", "cache_read", "output"}


def test_an_approved_row_replaces_the_first_sources_and_what_was_known_before_stays(imported: Database) -> None:
    (waiting,) = proposals(imported.app, "", source="litellm", seller="openai", model="o3")
    may = datetime(2025, 6, 12, tzinfo=UTC)

    def output(known_at: datetime | None) -> list[str]:
        rows = prices(imported.app, "", seller="openai", model="o3", on=may, known_at=known_at)
        return [row["prices"]["output"] for row in rows if row["service_tier"] == "default"]

    before = datetime.now(UTC)
    assert output(None) == ["8"]
    (decided,) = decide(imported.owner, "approve", "cli:ann", [waiting["sku_price_id"]])
    assert (decided["state"], decided["approved_by"]) == ("stated", "cli:ann")
    assert output(None) == ["40"]
    assert output(before) == ["8"]
    changed = difference(imported.app, "", before, seller="openai")
    assert waiting["sku_price_id"] in {row["sku_price_id"] for row in changed["new"]}
    with pytest.raises(NotFound):
        decide(imported.owner, "approve", "cli:ann", [waiting["sku_price_id"]])


def test_a_moment_before_the_first_record_is_refused(imported: Database) -> None:
    with pytest.raises(InvalidInput, match="no price was recorded before"):
        read_tariffs(imported.app, "", datetime(2020, 1, 1, tzinfo=UTC))
