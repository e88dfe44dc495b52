"""Does a browser show what the API says: pages without errors, figures to the cent, links, files, and nobody else's data?"""

from __future__ import annotations

import csv
import io
from decimal import Decimal

import pytest
from openpyxl import load_workbook
from playwright.sync_api import expect

from accounting.ledger.rollups import rebuild
from accounting.storage.engine import transaction
from tests.dashboard.browser.reading import Reader
from tests.dashboard.browser.stack import OCTOBER, Stack

pytestmark = [pytest.mark.storage, pytest.mark.one_server, pytest.mark.browser]

TITLES = {
    "overview": "Overview",
    "explorer": "Cost explorer",
    "users": "Users and accounts",
    "plans": "Plans",
    "bridge": "Margin bridge",
    "workload": "Workload",
    "selfhosted": "Self-hosted",
    "quality": "Data quality",
    "prices": "Prices",
    "administration": "Administration",
}


def cents(exact: str) -> str:
    """A dollar amount to the cent, as pages write it; amounts of these tests are neither negative nor below a cent."""
    return f"${Decimal(exact):,.2f}"


@pytest.mark.parametrize("name", sorted(TITLES))
def test_a_page_loads_without_an_error(reader: Reader, name: str) -> None:
    reader.errors.clear()
    reader.follow(TITLES[name])
    wrong = reader.page.get_by_test_id("stException").or_(reader.page.get_by_test_id("stAlertContentError"))
    assert wrong.all_inner_texts() == []
    assert reader.undefined() == []
    assert reader.unsourced() == []
    reader.picture(name)
    assert reader.errors == []


def test_margins_are_the_apis_to_the_last_digit(reader: Reader, made: Stack) -> None:
    report = made.get("/v1/reports/margin", **OCTOBER, limit="50").json()
    reader.follow("Users and accounts")
    (total,) = [row for row in report["totals"] if row["row"] == "total_free_tier_in"]
    assert reader.metric("Gross margin") == cents(total["gross_margin"])
    said = {row["User"]: row["Gross margin"] for row in reader.table("Margins by user")}
    details = [row for row in report["rows"] if row["row"] == "detail"]
    assert len(details) == 50
    assert all(said[row["user_id"]] == f"{row['gross_margin']} USD" for row in details)


def test_plans_steps_and_workload_are_the_apis_to_the_last_digit(reader: Reader, made: Stack) -> None:
    for title, name, caption, key, column in (
        ("Plans", "plan-profitability", "Plans, USD", "plan", "provider_cost"),
        ("Margin bridge", "margin-bridge", "Steps, USD", "step", "margin"),
        ("Workload", "workload", "Cost, USD", "key", "effective_cost"),
    ):
        report = made.get(f"/v1/reports/{name}", **OCTOBER).json()
        reader.follow(title)
        heading = {"plan": "Plan", "step": "Step", "key": "Feature"}[key]
        if title == "Workload":
            reader.page.get_by_role("tab", name="Cost", exact=True).click()
        rows = reader.table(caption)
        said = {row[heading]: row[column.replace("_", " ").capitalize()] for row in rows}
        wanted = {
            str(row[key]).replace("_", " "): f"{row[column]} USD" for row in report["rows"] if row["row"] == "detail"
        }
        assert wanted
        assert wanted == {name: amount for name, amount in said.items() if name in wanted}


def test_a_pools_bill_is_the_apis_and_its_curve_is_drawn(reader: Reader, made: Stack) -> None:
    report = made.get("/v1/reports/pool-bill", **OCTOBER, group_by="pool,day").json()
    (total,) = report["totals"]
    reader.follow("Self-hosted")
    assert reader.metric("Bill") == cents(total["bill"])
    said = {row["Period"]: row["Idle"] for row in reader.table("Pools' bills")}
    assert {row["period"]: f"{row['idle']} USD" for row in report["rows"]}.items() <= said.items()
    for topic, title in (("token", "What a token costs"), ("buy", "Make or buy"), ("curve", "Measured curves")):
        reader.choose("Show", title, f"topic={topic}")
        reader.drawn()
        if topic != "buy":  # nobody sells the demo's model
            expect(reader.page.get_by_test_id("stPlotlyChart").first).to_be_visible()
        assert reader.undefined() == []
        assert reader.unsourced() == []
        reader.picture(f"selfhosted-{topic}")
    reader.choose("Show", "The bill: busy and idle", "topic=bill")


def test_a_filter_lives_in_the_link_and_another_reader_sees_the_same(
    reader: Reader, window: Reader, made: Stack
) -> None:
    reader.follow("Users and accounts")
    reader.choose("Margins by", "Account", "by=account")
    reader.choose("Period", "September 2026", "from=2026-09-01")
    url = reader.page.url
    shown = reader.table("Margins by account")
    window.open(url.removeprefix(made.dashboard), made.key)
    assert window.table("Margins by account") == shown
    reader.choose("Period", "October 2026", "from=2026-10-01")
    assert reader.table("Margins by account") != shown
    reader.choose("Margins by", "User", "by=user")


def test_a_losing_user_is_one_link_away_from_the_plans(reader: Reader, made: Stack) -> None:
    reader.follow("Plans")
    report = made.get("/v1/reports/plan-profitability", **OCTOBER, limit="100").json()
    (section,) = [one for one in report["sections"] if one["name"] == "loss_making"]
    worst = section["rows"][0]["user_id"]
    reader.page.get_by_role("link", name=f"Why does {worst} lose money?").click()
    expect(reader.page.get_by_role("heading", level=2, name=worst)).to_be_visible()
    reader.drawn()
    spent = made.get(f"/v1/users/{worst}", **OCTOBER).json()["spent"]
    rows = reader.table(f"Requests of {worst}")
    assert [row["Effective cost"] for row in rows] == [
        "not known" if line["effective_cost"] is None else f"{line['effective_cost']} USD" for line in spent
    ]


def test_files_are_the_apis_and_a_chart_is_a_picture(reader: Reader, made: Stack) -> None:
    reader.follow("Margin bridge")
    wanted = made.get("/v1/reports/margin-bridge", **OCTOBER, format="csv").content
    assert reader.download("CSV") == wanted
    assert list(csv.DictReader(io.StringIO(wanted.decode())))
    book = load_workbook(io.BytesIO(reader.download("XLSX")))
    assert book.sheetnames
    chart = reader.page.get_by_test_id("stPlotlyChart").first
    chart.hover()
    with reader.page.expect_download() as begun:
        chart.locator("[data-title='Download plot as a PNG'], [data-title*='PNG']").first.click()
    with open(begun.value.path(), "rb") as file:
        assert file.read(8) == b"\x89PNG\r\n\x1a\n"


def test_period_and_zone_of_a_link_hold_on_the_next_page(window: Reader, made: Stack) -> None:
    window.open("/?from=2026-09-01&to=2026-10-01&tz=Asia/Kathmandu", made.key)
    window.follow("Users and accounts")
    assert "from=2026-09-01&to=2026-10-01" in window.page.url
    assert "Kathmandu" in window.page.url
    assert "Kathmandu" in window.page.get_by_role("combobox", name="Time zone").input_value()
    assert window.page.get_by_role("combobox", name="Period").input_value() == "September 2026"


def test_a_table_wider_than_its_page_has_a_shadow_where_more_is_hidden(reader: Reader) -> None:
    reader.follow("Overview")
    table = reader.page.get_by_role("region", name="The period, its complete days").first
    assert table.evaluate("one => one.scrollWidth > one.clientWidth")
    # The shadow stays at the table's edge, the paper that hides it moves with its content.
    attached = table.evaluate("one => getComputedStyle(one).backgroundAttachment")
    assert attached == "local, local, scroll, scroll"


def test_two_tenants_never_meet(reader: Reader, window: Reader, made: Stack) -> None:
    window.open("/users", made.other)
    assert [row["User"] for row in window.table("Margins by user")][:1] == ["globex-secret-user"]
    assert "user-0" not in window.page.content()
    reader.follow("Users and accounts")
    assert "globex" not in reader.page.content()
    window.page.goto(f"{made.dashboard}/users?user=user-0001&from=2026-10-01&to=2026-11-01")
    window.sign_in(made.other)
    expect(window.page.get_by_text("Not found")).to_be_visible()


def test_a_wrong_key_is_told_and_no_key_is_in_the_link(window: Reader, made: Stack) -> None:
    window.page.goto(made.dashboard)
    window.sign_in("tc_demo_wrong")
    expect(window.page.get_by_text("missing, malformed, unknown or revoked")).to_be_visible()
    window.sign_in(made.key)
    window.drawn()
    expect(window.page.get_by_role("button", name="Sign in")).to_have_count(0)
    assert made.key not in window.page.url
    assert made.key not in window.page.content()
    window.page.get_by_role("button", name="Sign out").click()
    expect(window.page.get_by_test_id("stTextInputField")).to_be_visible()


def test_one_changed_charge_shows_on_page_file_and_api_alike(reader: Reader, made: Stack) -> None:
    """5 dollars more on one call of the dearest user raise its cost by 5 everywhere, and nobody else's."""
    asked = {**OCTOBER, "limit": "1"}
    (before,) = [row for row in made.get("/v1/reports/margin", **asked).json()["rows"] if row["row"] == "detail"]
    user = before["user_id"]
    with transaction(made.database.owner, "demo") as connection:
        changed = connection.exec_driver_sql(
            "UPDATE usage_events SET contracted_cost_e15 = contracted_cost_e15 + 5000000000000000 WHERE event_id = "
            "(SELECT event_id FROM usage_events WHERE user_id = %s AND charge_status = 'priced' AND purpose <> 'eval' "
            "AND occurred_at >= '2026-10-01' LIMIT 1)",
            (user,),
        )
        assert changed.rowcount == 1
        rebuild(connection, "demo", "UTC")
    wanted = Decimal(before["provider_cost"]) + 5
    (after,) = [row for row in made.get("/v1/reports/margin", **asked).json()["rows"] if row["row"] == "detail"]
    assert (after["user_id"], Decimal(after["provider_cost"])) == (user, wanted)
    reader.follow("Users and accounts")
    reader.page.get_by_role("button", name="Refresh").click()
    reader.shows("Margins by user", user, f"{after['provider_cost']} USD")
    said = {row["User"]: row["Provider cost"] for row in reader.table("Margins by user")}
    assert said[user] == f"{after['provider_cost']} USD"
    file = list(csv.DictReader(io.StringIO(reader.download("CSV").decode())))
    assert [row["provider_cost"] for row in file if row["user_id"] == user] == [after["provider_cost"]]
