"""Do the commands state pools and rates, bill their hours, import bills, and refuse what can't be used by field and value?

One GPU-hour costs 3.00. The hour from 05:00 to 06:00 of 1 September 2026 is the one looked at where nothing else is said.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from shlex import split as typed

import pytest

from accounting.storage.curves import record_shared_curve
from api.routes.curves import EXAMPLE_CURVE
from tests.accounting.cli.conftest import Run, runner
from tests.conftest import Database
from tests.step_ledgers import prefill
from tests.step_ledgers import write as write_steps

pytestmark = [pytest.mark.storage, pytest.mark.one_server]

ADD = typed(
    "pools add chat --model m --curve shared-curve --gpu H200 --gpus 2 --token-budget 8192 --max-batch 64 --from 2026-09-01"
)
RATE = typed("pools rates add od --kind on_demand --gpu H200 --price-per-hour 3 --from 2026-09-01")
REPLICA = typed("pools replica add chat r0 --rate od --from 2026-09-01")
RESERVED = typed("pools rates add r --kind reserved --gpu H200 --amount 3 --from 2026-09-01")
HOUR = ("--from", "2026-09-01T05:00:00Z", "--to", "2026-09-01T06:00:00Z")
DAY = ("--from", "2026-09-01", "--to", "2026-09-02")


@pytest.fixture(scope="module", autouse=True)
def curve(database: Database) -> None:
    record_shared_curve(database.owner, json.dumps({**EXAMPLE_CURVE, "curve_id": "shared-curve"}))


@pytest.fixture
def pool(tokencogs: Run, tenant: str) -> Run:
    """A tenant with the pool `chat`: one replica of 2 GPUs at 3.00."""
    for words in (ADD, RATE, REPLICA):
        result = tokencogs(*words)
        assert result.exit_code == 0, result.output
    return tokencogs


@pytest.fixture(scope="module")
def standing(database: Database, curve: None) -> Iterator[Run]:
    """The same pool for tests that change nothing."""
    with pytest.MonkeyPatch.context() as patch:
        run = runner(database, patch)
        assert run("tenant", "create", "standing").exit_code == 0
        for words in (ADD, RATE, REPLICA):
            assert run(*words, "--tenant", "standing").exit_code == 0
        yield lambda *words: run(*words, "--tenant", "standing")


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., str]:
    def write(*lines: str, name: str = "bill.csv") -> str:
        (tmp_path / name).write_text("\n".join(lines) + "\n", encoding="utf-8")
        return str(tmp_path / name)

    return write


def _amounts(run: Run, *words: str) -> list[tuple[str, str, str | None, str]]:
    rows = json.loads(run("pools", "bills", *(words or HOUR), "--json").stdout)
    return [(row["pool_id"], row["amount"], row["gpu_hours"], row["source"]) for row in rows]


def test_an_hour_is_billed_by_schedule_and_rate(pool: Run) -> None:
    told = pool("pools", "bill", *HOUR)
    assert (
        told.stdout
        == "hours: 1 written (0 in place of another bill), 0 as before, 0 imported ones kept; 6 USD in all\n"
    )
    assert _amounts(pool) == [("chat", "6", "2", "schedule")]
    assert pool("pools", "bill", *HOUR).stdout.startswith("hours: 0 written (0 in place of another bill), 1 as before")


def test_a_rate_stated_anew_bills_the_hour_anew(pool: Run) -> None:
    pool("pools", "bill", *HOUR)
    assert pool(*RATE[:-4], "--price-per-hour", "2.50", "--from", "2026-09-01T05:30:00Z").exit_code == 0
    assert "1 written (1 in place of another bill)" in pool("pools", "bill", *HOUR).stdout
    # half an hour at 3.00, half at 2.50, 2 GPUs
    assert _amounts(pool) == [("chat", "5.5", "2", "schedule")]


def test_an_hour_that_lost_its_replica_costs_nothing(pool: Run) -> None:
    pool("pools", "bill", *HOUR)
    assert pool("pools", "replica", "end", "chat", "r0", "--at", "2026-09-01T05:00:00Z").exit_code == 0
    pool("pools", "bill", *HOUR)
    assert _amounts(pool) == [("chat", "0", "0", "schedule")]


def test_a_run_that_ends_inside_an_hour_leaves_its_bill(pool: Run) -> None:
    pool("pools", "bill", *HOUR)
    assert pool("pools", "bill", "--from", "2026-09-01T04:00:00Z", "--to", "2026-09-01T05:30:00Z").exit_code == 0
    assert _amounts(pool) == [("chat", "6", "2", "schedule")]


def test_hours_that_have_not_ended_are_not_billed(pool: Run) -> None:
    told = pool("pools", "bill", "--from", "2199-01-01", "--to", "2199-01-02")
    assert (told.exit_code, told.stdout.split(";")[0]) == (
        0,
        "hours: 0 written (0 in place of another bill), 0 as before, 0 imported ones kept",
    )


def test_an_hour_without_a_rate_has_no_bill_and_says_why(pool: Run) -> None:
    pool("pools", "replica", "add", "chat", "r1", "--from", "2026-09-01")
    told = pool("pools", "bill", *HOUR)
    assert (told.exit_code, told.stderr) == (1, "chat: 1 hours without a bill: no_rate (r1)\n")
    assert _amounts(pool) == []


def test_capacity_nobody_used_is_its_own_line(pool: Run) -> None:
    reserved = (
        "pools rates add res --kind reserved --gpu H200 --gpus 4 --amount 48 --from 2026-09-01 --until 2026-09-02"
    )
    assert pool(*reserved.split()).exit_code == 0
    assert pool("pools", "replica", "add", "chat", "r1", "--rate", "res", "--from", "2026-09-01").exit_code == 0
    pool("pools", "bill", *HOUR)
    # 2 an hour for 4 GPUs: 1 for the replica's 2, 1 for the others
    assert _amounts(pool) == [("chat", "7", "4", "schedule")]
    [line] = json.loads(pool("pools", "unused", *HOUR, "--json").stdout)
    assert (line["rate_id"], line["amount"], line["gpu_hours"]) == ("res", "1", "2")


def test_an_imported_bill_stands_before_the_schedule(pool: Run, write: Callable[..., str]) -> None:
    pool("pools", "bill", *HOUR)
    file = write("pool,hour,gpu_hours,cost,currency", "chat,2026-09-01T05:00:00Z,1.5,4.25,USD")
    assert "1 written (1 in place of another bill)" in pool("pools", "import-bills", file).stdout
    assert "1 as before" in pool("pools", "import-bills", file).stdout
    assert "1 imported ones kept" in pool("pools", "bill", *HOUR).stdout
    assert _amounts(pool) == [("chat", "4.25", "1.5", "csv")]
    pool("pools", "bill", *HOUR, "--replace-imported")
    assert _amounts(pool) == [("chat", "6", "2", "schedule")]


def test_a_longer_total_is_spread_over_scheduled_gpu_hours(pool: Run, write: Callable[..., str]) -> None:
    # On the 1st: 24 hours of 2 GPUs, and 2 more in the last two hours: 52 GPU-hours; 1 / 52 = 0.019230769230769230(77)
    pool("pools", "replica", "add", "chat", "r1", "--rate", "od", "--from", "2026-09-01T22:00:00Z")
    file = write("pool,from,until,cost,currency", "chat,2026-09-01,2026-09-02,1,USD")
    assert pool("pools", "import-bills", file).exit_code == 0
    found = _amounts(pool, *DAY)
    assert len(found) == 24
    # 2/52 = 0.038461538461538461538..., 4/52 = 0.076923076923076923076...; 22 x ...461 + 2 x ...923 leaves 1 + ... = 12 units,
    # remainders .538 (22 hours) and .077 (2): the first 12 hours get one more.
    assert [found[at][1] for at in (0, 11, 12, 21, 22, 23)] == [
        "0.038461538461538462",
        "0.038461538461538462",
        "0.038461538461538461",
        "0.038461538461538461",
        "0.076923076923076923",
        "0.076923076923076923",
    ]
    assert "1 USD" in pool("pools", "bills", *DAY).stdout.splitlines()[-1]


def test_rows_of_an_import_that_can_not_be_used_are_named_and_the_others_kept(
    pool: Run, write: Callable[..., str]
) -> None:
    good = "chat,2026-09-01T05:00:00Z,,1,USD"
    bad = {
        "other,2026-09-01T05:00:00Z,,1,USD": "pool='other': no such pool",
        "chat,2026-09-01T05:00:00Z,,1,EUR": "currency='EUR': the pool 'chat' is billed in USD",
        "chat,2026-09-01T05:00:00Z,,1,XXQ": "currency='XXQ': no such currency",
        "chat,2026-09-01T05:30:00Z,,1,USD": "hour='2026-09-01T05:30:00Z': a full hour is expected",
        "chat,2026-09-01T05:00:00Z,,NaN,USD": "cost='NaN': a number is expected",
        "chat,2026-09-01T05:00:00Z,,-1,USD": "cost='-1': can't be negative",
        "chat,2026-09-01T05:00:00Z,-2,1,USD": "gpu_hours='-2': a number from 0",
        "chat,soon,,1,USD": "hour='soon': a moment such as",
    }
    told = pool("pools", "import-bills", write("pool,hour,gpu_hours,cost,currency", good, *bad))
    assert told.exit_code == 1
    for line, said in enumerate(bad.values(), start=3):
        assert any(f"line {line}: {said}" in row for row in told.stderr.splitlines()), (line, said, told.stderr)
    assert _amounts(pool) == [("chat", "1", "2", "csv")]


def test_a_total_with_no_scheduled_hour_has_no_place(pool: Run, write: Callable[..., str]) -> None:
    told = pool("pools", "import-bills", write("pool,from,until,cost,currency", "chat,2026-08-01,2026-09-01,7.5,USD"))
    assert (told.exit_code, told.stderr) == (1, "chat: 7.5 has no place: not_scheduled (lines 2)\n")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([*ADD[:5], "--curve", "unheard", *ADD[7:]], "curve_id='unheard': the tenant"),
        ([*ADD, "--gpus", "0"], "gpus_per_replica=0: a whole number from 1"),
        ([*ADD, "--gpus", "-1"], "gpus_per_replica=-1: a whole number from 1"),
        ([*ADD, "--max-batch", "9000"], "max_batch=9000: a step can't hold more requests than its 8192 tokens"),
        ([*ADD, "--ttft-ms", "nan"], "ttft_target_ms=nan: milliseconds, finite and above 0"),
        ([*ADD, "--until", "2026-09-01"], "must be after effective_from"),
        ([*ADD, "--currency", "GPU"], "billing_currency='GPU': no such currency"),
        ([*ADD, "--from", "2026-09-01T05:00"], "--from='2026-09-01T05:00': a time of day needs its offset"),
        ([*ADD, "--from", "0001-01-01T00:00:00+02:00"], "--from='0001-01-01T00:00:00+02:00': lies beyond the calendar"),
        ([*RATE, "--price-per-hour", "NaN"], "price_per_hour='NaN'"),
        ([*RATE, "--price-per-hour", "-3"], "price_per_hour="),
        ([*RATE, "--amount", "3"], "amount='3': says nothing of a rate of kind on_demand"),
        ([*RESERVED], "effective_until=None: a reserved term has an end"),
        (["pools", "replica", "add", "chat", "r0", "--from", "2026-09-01", "--until", "2026-08-01"], "effective_until="),
        (["pools", "replica", "add", "nosuch", "r0", "--from", "2026-09-01"], "pool_id='nosuch': no such pool"),
        (["pools", "replica", "add", "chat", "r0", "--from", "2026-09-05"], "replica='r0': is in the pool 'chat' from 2026-09-01"),
        (["pools", "bill", "--from", "2026-09-02", "--to", "2026-09-01"], "until='2026-09-01"),
        (
            ["pools", "replica", "add", "chat", "r1", "--rate", "nosuch", "--from", "2026-09-01"],
            "rate_id='nosuch': no rate of this id",
        ),
        (["pools", "rates", "approve", "nosuch"], "rate_id='nosuch': no candidate"),
        (["pools", "show", "nosuch"], "pool_id='nosuch': no such pool"),
    ],
)  # fmt: skip
def test_what_can_not_be_used_is_refused_by_field_and_value(standing: Run, words: list[str], said: str) -> None:
    told = standing(*words)
    assert told.exit_code in (1, 2)
    assert said in told.stderr, told.stderr


def test_a_term_is_not_cut_short_by_the_next_one(pool: Run) -> None:
    term = ["pools", "rates", "add", "res", "--kind", "reserved", "--gpu", "H200", "--gpus", "4", "--amount", "48"]
    assert pool(*term, "--from", "2026-09-01", "--until", "2026-09-03").exit_code == 0
    cut = pool(*term, "--from", "2026-09-02", "--until", "2026-09-04")
    assert "lasts until 2026-09-03" in cut.stderr
    assert pool(*term, "--from", "2026-09-03", "--until", "2026-09-04").exit_code == 0


def test_imported_prices_are_candidates_until_a_person_approves_them(pool: Run, write: Callable[..., str]) -> None:
    file = write(
        "region,instance,gpu_model,gpu_count,price_usd_per_instance_hour,price_usd_per_gpu_hour,first_seen,last_seen",
        "us-east-1,p5.48xlarge,H100,8,98.32,12.29,2023-09-18,2025-04-28",
        "us-east-1,p5.48xlarge,H100,8,55.04,6.88,2025-06-23,2026-07-20",
        "us-east-1,g5.xlarge,A10G,0,1.006,1.006,2023-09-18,2026-07-20",
        name="history.csv",
    )
    told = pool("pools", "rates", "import", file)
    assert (told.exit_code, told.stdout) == (1, "new=2 known=0 differs=0 rejected=1\n")
    assert "line 4: gpus='0': a whole number from 1" in told.stderr
    assert pool("pools", "rates", "import", file).stdout == "new=0 known=2 differs=0 rejected=1\n"
    rate = "aws/us-east-1/p5.48xlarge/on-demand"
    assert rate not in pool("pools", "rates", "list").stdout
    candidates = json.loads(pool("pools", "rates", "candidates", "--json").stdout)
    shown = ("price_per_gpu_hour", "effective_from", "checked_on", "source")
    assert [tuple(one[name] for name in shown) for one in candidates] == [
        ("12.29", "2023-09-18T00:00:00Z", "2025-04-28", "history.csv"),
        ("6.88", "2025-06-23T00:00:00Z", "2026-07-20", "history.csv"),
    ]
    assert pool("pools", "rates", "approve", rate).exit_code == 0
    assert pool("pools", "rates", "candidates").stdout == ""
    assert pool("pools", "rates", "list").stdout.count(rate) == 2


def test_of_many_rejected_prices_ten_are_named_and_the_others_counted(pool: Run, write: Callable[..., str]) -> None:
    heading = "region,instance,gpu_model,gpu_count,price_usd_per_instance_hour,first_seen,last_seen"
    file = write(heading, *["us-east-1,g5,A10G,0,1,2026-07-20,2026-07-20"] * 12)
    told = pool("pools", "rates", "import", file)
    assert (told.exit_code, told.stdout) == (1, "new=0 known=0 differs=0 rejected=12\n")
    assert told.stderr.splitlines()[9:] == [
        "line 11: gpus='0': a whole number from 1 to 100000 is expected",
        "and 2 more lines rejected",
    ]


@pytest.mark.parametrize("words", [("import-bills",), ("rates", "import")])
def test_a_file_that_is_no_utf8_is_refused_by_name(standing: Run, tmp_path: Path, words: tuple[str, ...]) -> None:
    file = tmp_path / "bill.csv"
    file.write_bytes("pool,hour,cost,currency\nchät".encode("latin-1"))
    told = standing("pools", *words, str(file))
    assert (told.exit_code, told.stderr) == (2, "Error: file='bill.csv': is no UTF-8 text\n")


def test_hours_in_two_currencies_are_counted_and_added_apart(pool: Run, write: Callable[..., str]) -> None:
    assert pool(*ADD[:2], "other", *ADD[3:], "--currency", "EUR").exit_code == 0
    rows = ["chat,2026-09-01T05:00:00Z,1,USD", "chat,2026-09-01T06:00:00Z,2,USD", "other,2026-09-01T05:00:00Z,5,EUR"]
    assert pool("pools", "import-bills", write("pool,hour,cost,currency", *rows)).exit_code == 0
    assert pool("pools", "bills", *DAY).stdout.splitlines()[-2:] == ["total\t1 hours\t5 EUR", "total\t2 hours\t3 USD"]


def test_what_was_done_stands_in_the_log(pool: Run) -> None:
    log = pool("audit").stdout
    assert all(act in log for act in ("pool.record", "pool.replica", "gpu_rate.record"))


def test_a_step_ledger_is_kept_listed_and_withdrawn(pool: Run, tmp_path: Path) -> None:
    file = write_steps(
        tmp_path / "steps.arrow", [("2026-09-01T05:00:00.100+00:00", 31_000_000, False, [prefill("a", 9)])]
    )
    words = ("pools", "steps", "import", str(file), "--pool", "chat", "--replica", "r0")
    said = "1 steps of 1 requests, 2026-09-01T05:00:00.100000+00:00 to 2026-09-01T05:00:00.131000+00:00: "
    assert pool(*words).stdout == said + "1 hours written, 0 unchanged\n"
    assert pool(*words).stdout == said + "0 hours written, 1 unchanged\n"
    listed = pool("pools", "steps", "list", "--pool", "chat", *HOUR).stdout
    assert listed.startswith("2026-09-01T05:00:00Z\tr0\t1 steps\t1 requests\t")
    assert (
        pool("pools", "steps", "withdraw", "--pool", "chat", "--replica", "r0", *HOUR).stdout
        == "1 hours of r0 withdrawn\n"
    )
    assert pool("pools", "steps", "list", "--pool", "chat", *HOUR).stdout == ""


def test_what_is_no_step_ledger_is_refused_by_name(standing: Run, write: Callable[..., str]) -> None:
    told = standing("pools", "steps", "import", write("{}"), "--pool", "chat", "--replica", "r0")
    assert (told.exit_code, told.stderr) == (2, "Error: ledger='{}\\n': no Arrow stream\n")
