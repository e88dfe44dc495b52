"""Are the good lines of a subscriptions file kept and the bad ones named?"""

from __future__ import annotations

from pathlib import Path

import pytest

from accounting.errors import InvalidInput
from accounting.revenue.imports import import_subscriptions_csv
from accounting.revenue.plans import list_subscriptions, put_plan
from accounting.storage.tenants import context, create_tenant
from accounting.tenant import TenantContext
from tests.conftest import Database

pytestmark = pytest.mark.storage
HEADING = "subscription_id,plan,user_id,account_id,monthly_price,currency,starts_on,ends_on\n"


@pytest.fixture(scope="module")
def tenant(database: Database) -> TenantContext:
    create_tenant(database.owner, "acme", "Acme")
    found = context(database.app, "acme")
    put_plan(database.app, found, "pro")
    return found


def _file(folder: Path, text: str) -> Path:
    path = folder / "subscriptions.csv"
    path.write_bytes(text.encode())
    return path


def test_good_lines_are_kept_and_each_bad_one_is_named(
    database: Database, tenant: TenantContext, tmp_path: Path
) -> None:
    lines = [
        "s1,pro,u1,,20.00,USD,2026-01-01,",
        "s2,gold,u2,,20.00,USD,2026-01-01,",
        "s3,pro,u3,acct,twenty,USD,2026-01-01,",
        "s4,pro,u4,,20.00,USD,2026-02-01,2026-01-01",
        "s1,pro,u5,,20.00,USD,2026-01-01,",
        "s6,pro,u6,,0,USD,2026-01-01,2026-02-01,extra",
        "s7,pro,u7,acct-7,0,USD,2026-01-01,2026-02-01",
    ]
    result = import_subscriptions_csv(database.app, tenant, _file(tmp_path, HEADING + "\r\n".join(lines)))
    assert result.imported == 2
    assert [(row["line"], row["field"], row["value"]) for row in result.rejected] == [
        (3, "plan", "gold"),
        (4, "monthly_price", "twenty"),
        (5, "ends_on", "2026-01-01"),
        (6, "subscription_id", "s1"),
        (7, "line", ["extra"]),
    ]
    kept = {
        row["subscription_id"]: (row["user_id"], row["account_id"]) for row in list_subscriptions(database.app, tenant)
    }
    assert kept == {"s1": ("u1", None), "s7": ("u7", "acct-7")}


def test_the_same_file_again_replaces_its_own_lines(database: Database, tenant: TenantContext, tmp_path: Path) -> None:
    path = _file(tmp_path, "\ufeff" + HEADING + "again,pro,u1,,20.00,USD,2026-01-01,\n")
    assert [import_subscriptions_csv(database.app, tenant, path).imported for _ in range(2)] == [1, 1]
    assert [row["subscription_id"] for row in list_subscriptions(database.app, tenant)].count("again") == 1


def test_optional_columns_may_be_left_out(database: Database, tenant: TenantContext, tmp_path: Path) -> None:
    text = "plan,subscription_id,user_id,monthly_price,currency,starts_on\npro,slim,u1,20,USD,2026-01-01\n"
    assert import_subscriptions_csv(database.app, tenant, _file(tmp_path, text)).imported == 1


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("subscription_id,plan\n", "no column user_id"),
        (HEADING.replace("\n", ",price\n"), "'price' is unknown"),
        (HEADING.replace("\n", ",plan\n"), "'plan' is unknown or there twice"),
        ("", "no column subscription_id"),
    ],
)
def test_a_file_of_another_shape_is_refused(
    database: Database, tenant: TenantContext, tmp_path: Path, text: str, reason: str
) -> None:
    with pytest.raises(InvalidInput, match=reason):
        import_subscriptions_csv(database.app, tenant, _file(tmp_path, text))


def test_bytes_that_are_no_text_are_refused(database: Database, tenant: TenantContext, tmp_path: Path) -> None:
    path = tmp_path / "subscriptions.csv"
    path.write_bytes(HEADING.encode() + b"s1,pro,\xff\xfe,,20,USD,2026-01-01,\n")
    with pytest.raises(InvalidInput, match="UTF-8"):
        import_subscriptions_csv(database.app, tenant, path)
