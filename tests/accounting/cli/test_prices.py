"""Do the commands about prices do what they say, end to end on a real database?"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.accounting.cli.conftest import Run
from tests.events import event, lines

pytestmark = [pytest.mark.storage, pytest.mark.one_server]

TABLE = {"rare-1": {"litellm_provider": "rare", "input_cost_per_token": 1e-06, "output_cost_per_token": 4e-06}}


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "model_prices.json"
    path.write_text(json.dumps(TABLE))
    return path


def test_a_table_is_imported_listed_and_its_history_told(tokencogs: Run, table: Path) -> None:
    shown = tokencogs("prices", "diff", "litellm", str(table), "--as-of", "2026-01-01")
    assert shown.stdout.endswith("1 new, 0 ended, 0 withdrawn\n")
    done = tokencogs("prices", "import", "litellm", str(table), "--as-of", "2026-01-01")
    assert done.exit_code == 0, done.output
    assert (
        "litellm as of 2026-01-01: 1 new, 0 ended, 0 withdrawn, 0 unchanged, 0 proposed, 0 disagreements" in done.stdout
    )
    again = tokencogs("prices", "import", "litellm", str(table), "--as-of", "2026-01-01")
    assert "is recorded already; nothing changed" in again.stdout
    (row,) = json.loads(tokencogs("prices", "list", "--model", "rare-1", "--json").stdout)
    assert (row["prices"], row["effective_from"]) == ({"output": "4", "uncached_input": "1"}, "2026-01-01T00:00:00Z")
    history = tokencogs("prices", "history", "rare-1", "--on", "2026-02-01").stdout
    assert history.startswith("* ")
    assert "rare/rare-1 default\t[2026-01-01T00:00:00Z, open)\tUSD output=4 uncached_input=1" in history
    assert tokencogs("prices", "imports").stdout.count("litellm\tmodel_prices.json\t2026-01-01") == 1


def test_a_price_by_hand_is_added_and_withdrawn(tokencogs: Run, tenant: str) -> None:
    words = ("prices", "add", "acme", "chat", "uncached_input=2", "--set", "effective_from=2026-01-01")
    added = tokencogs(*words, "--for-tenant", tenant)
    assert added.exit_code == 0, added.output
    assert "acme/chat default\t[2026-01-01T00:00:00Z, open)\tUSD uncached_input=2" in added.stdout
    gone = tokencogs("prices", "withdraw", added.stdout.split("\t")[0], "--for-tenant", tenant)
    assert gone.exit_code == 0
    assert tokencogs("prices", "list", "--seller", "acme").stdout == ""
    acts = [line.split("\t")[3] for line in tokencogs("audit", "--limit", "2").stdout.splitlines()]
    assert acts == ["prices.withdraw", "prices.add"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("prices", "add", "acme", "chat", "output=-1", "--set", "effective_from=2026-01-01"), "output='-1'"),
        (("prices", "add", "acme", "chat", "output=1"), "effective_from=None"),
        (("prices", "approve", "xyz"), "sku_price_id='xyz': 16 hex digits are expected"),
        (("prices", "approve"), "name either ids or a source, seller or model"),
        (("prices", "list", "--on", "soon"), "on='soon'"),
        (("prices", "assign", "m"), "either --like or --file is expected"),
        (("prices", "import", "csv"), "FILE=None: csv is read from a file"),
        (("prices", "hook", "set", "ftp://x"), "url='ftp://x'"),
    ],
)
def test_what_can_not_be_used_is_told_by_field_and_value(
    tokencogs: Run, tenant: str, words: tuple[str, ...], message: str
) -> None:
    result = tokencogs(*words)
    assert (result.exit_code, message in result.stderr) == (2, True), result.output


def test_a_contract_of_a_file_is_recorded_shown_and_withdrawn(tokencogs: Run, tenant: str, tmp_path: Path) -> None:
    path = tmp_path / "signed.yaml"
    path.write_text(
        "contract_id: c1\nseller: openai\ncurrency: USD\neffective_from: 2026-01-01T00:00:00Z\n"
        "rules:\n- {rule_id: all, kind: discount, value: 0.10}\n- {rule_id: new, kind: fixed, value: 2, scope: {models: [gpt-9]}}\n"
        "credits:\n- {credit_id: k, amount: 100, priority: 1, valid_from: 2026-01-01T00:00:00Z}\n"
    )
    done = tokencogs("prices", "contract", "add", str(path))
    assert (done.exit_code, done.stdout) == (0, "contract c1 recorded\n"), done.output
    assert "openai lists no model 'gpt-9'" in done.stderr
    assert (
        tokencogs("prices", "contract", "add", str(path)).stdout == "contract c1 is recorded already; nothing changed\n"
    )
    shown = json.loads(tokencogs("prices", "contract", "show", "c1").stdout)
    assert (shown["tenant"], shown["rules"][0]["value"], shown["credits"][0]["amount"]) == (tenant, "0.10", "100")
    assert "rules=2 volume_tiers=0 commitments=0 credits=1" in tokencogs("prices", "contract", "list").stdout
    assert tokencogs("prices", "contract", "withdraw", "c1").exit_code == 0
    assert tokencogs("prices", "contract", "list").stdout == ""


def test_one_command_prices_the_backlog_of_an_unpriced_model(tokencogs: Run, tenant: str, tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    path.write_bytes(lines([event("e1", model="o3-corp"), event("e2", model="o3-corp")]))
    assert tokencogs("ingest", str(path)).exit_code == 0
    assert tokencogs("prices", "unpriced").stdout.startswith(
        "openai/o3-corp\tunknown_model\t2 events\t2000 in 200 out\t1 days"
    )
    shown = tokencogs("prices", "assign", "o3-corp", "--like", "openai/o3", "--leave-backlog")
    assert shown.stdout == "openai/o3-corp is openai/o3\nwould price 2 of 2 events\n", shown.output
    done = tokencogs("prices", "assign", "o3-corp", "--like", "openai/o3")
    assert done.stdout == "openai/o3-corp is openai/o3\npriced 2 of 2 events\n", done.output
    assert tokencogs("prices", "unpriced").stdout == "every event has a price\n"
    assert tokencogs("check").exit_code == 0


def test_the_template_is_a_file_that_import_takes(tokencogs: Run, tenant: str, tmp_path: Path) -> None:
    path = tmp_path / "ours.csv"
    path.write_text(tokencogs("prices", "template", "csv").stdout)
    done = tokencogs("prices", "import", "csv", str(path), "--for-tenant", tenant)
    assert "1 new" in done.stdout, done.output
    assert tokencogs("prices", "hook", "show").stdout == "no address is set\n"


def test_rows_of_a_source_are_shown_and_counted_before_they_are_approved(tokencogs: Run, tmp_path: Path) -> None:
    """A first table states 1 and 4, a second source 2: two models are proposed, nothing happens without a yes."""
    cheap = {"litellm_provider": "doubt", "input_cost_per_token": 1e-06, "output_cost_per_token": 4e-06}
    table, csv = tmp_path / "table.json", tmp_path / "ours.csv"
    table.write_text(
        json.dumps(
            {
                "doubt-1": cheap,
                "doubt-2": cheap | {"cache_read_input_token_cost": 1e-07, "input_cost_per_request": 0.01},
            }
        )
    )
    csv.write_text(
        "seller,model,uncached_input,output,effective_from\n"
        + "".join(f"doubt,doubt-{n},2,4,2026-02-01\n" for n in (1, 2))
    )
    assert tokencogs("prices", "import", "litellm", str(table), "--as-of", "2026-01-01").exit_code == 0
    assert "2 proposed" in tokencogs("prices", "import", "csv", str(csv), "--as-of", "2026-02-01").stdout
    asked = tokencogs("prices", "approve", "--seller", "doubt", stdin="n\n")
    assert (asked.exit_code, asked.stdout) == (1, "")
    assert "uncached_input 2; litellm has 1 for doubt-2" in asked.stderr
    assert "approve these 2 rows? [y/N]" in asked.stderr
    assert asked.stderr.count("  once approved: cache_read at the price of uncached_input\n") == 1
    assert asked.stderr.count("  once approved: requests without a price\n") == 1
    assert asked.stderr.count("once approved") == 2
    assert tokencogs("prices", "refuse", "--model", "doubt-2", "--yes").stdout.count("\trefused\t") == 1
    done = tokencogs("prices", "approve", "--seller", "doubt", stdin="y\n")
    assert (done.exit_code, done.stdout.count("\n"), "doubt/doubt-1" in done.stdout) == (0, 1, True)
    none = tokencogs("prices", "approve", "--seller", "doubt")
    assert (none.exit_code, none.stdout, none.stderr) == (0, "", "0 rows are proposed\n")
