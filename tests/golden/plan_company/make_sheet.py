"""How is every figure of the worked company derived? Writes plan_company.xlsx: inputs as numbers, all else as formulas.

    python -m tests.golden.plan_company.make_sheet && soffice --headless --convert-to xlsx --outdir OUT plan_company.xlsx

The second step lets a spreadsheet program fill in the values; its file is the one that is kept.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from openpyxl import Workbook
from openpyxl.worksheet.worksheet import Worksheet

from tests.golden.plan_company.inputs import (
    COMPED,
    FOLDER,
    GROUPS,
    KEYS,
    MARCH,
    PRICES,
    REVENUE,
    SKUS,
    SUBSCRIBED,
    USERS,
    keys_of,
    keys_of_use,
    plan_of,
    read,
)
from tests.golden.plan_company.sheet_margins import margins, user_margins
from tests.golden.plan_company.sheet_plans import cohorts, plans
from tests.golden.plan_company.sheet_workload import workload


def write(path: Path) -> None:
    """The workbook, without values."""
    book = Workbook()
    figures = book.active
    assert figures is not None
    figures.title = "figures"
    _revenue(book.create_sheet("revenue"))
    _use(book.create_sheet("use"))
    _fees(book.create_sheet("fees"))
    found = _margins(book.create_sheet("margins"))
    for plan in ("free", "pro", "team"):
        found |= _plan(book.create_sheet(plan), plan)
    found |= _bridge(book.create_sheet("bridge"))
    members = {plan: [row[0] for row in REVENUE if row[1] == plan] for plan in SUBSCRIBED}
    by_group = margins(book)
    for sheet in (by_group, user_margins(book, by_group), plans(book, members, by_group), cohorts(book)):
        found |= sheet.figures
    users = [row for row in read("events") if row["purpose"] != "eval"]
    found |= workload(book, users, lambda row: PRICES[row["model"], int(row["occurred_at"][5:7])])
    for number, (name, formula) in enumerate(found.items(), start=1):
        figures.cell(number, 1, name)
        figures.cell(number, 2, formula)
    book.save(path)


def _revenue(sheet: Worksheet) -> None:
    sheet.append(
        ["user", "plan", "price", "seats", "days", "of days", "off", "refund", "gross", "discount", "net", *KEYS]
    )
    for number, row in enumerate(REVENUE, start=2):
        sheet.append(
            [
                *row,
                f"=C{number}*D{number}*E{number}/F{number}",
                f"=-I{number}*G{number}",
                f"=I{number}+J{number}-H{number}",
                *keys_of(row[0], row[1]),
            ]
        )


def _use(sheet: Worksheet) -> None:
    heading = [
        "month",
        "user",
        "plan",
        "input",
        "cached",
        "output",
        "price in",
        "price cached",
        "price out",
        "cost",
        "model",
        "kind",
        "feature",
        "purpose",
        *(f"by {group}" for group in GROUPS),
    ]
    sheet.append(heading)
    number = 1
    for row in read("events"):
        number += 1
        month = int(row["occurred_at"][5:7])
        tokens = [int(row[name]) for name in ("uncached_input", "cache_read", "output")]
        cost = f"=(D{number}*G{number}+E{number}*H{number}+F{number}*I{number})/1000000"
        plan = "eval" if row["purpose"] == "eval" else plan_of(row["user_id"], row["occurred_at"])
        named = [row["model"], "provider", row["feature"], row["purpose"], *keys_of_use(row, plan)]
        sheet.append([month, row["user_id"], plan, *tokens, *PRICES[row["model"], month], cost, *named])
    for row in read("charges"):
        own = [int(row["uncached_input_tokens"]), 0, int(row["output_tokens"]), 0, 0, 0, float(row["cost"])]
        idle = row["basis"] == "idle"
        plan = "idle" if idle else plan_of(row["user_id"], row["charge_period_start"])
        named = [
            row["model"],
            "idle" if idle else "own",
            row["feature"],
            "pool_idle" if idle else "production",
            *keys_of_use(row, plan),
        ]
        sheet.append([4, row["user_id"], plan, *own, *named])


def _fees(sheet: Worksheet) -> None:
    sheet.append(["month", "user", "plan", "fee", *KEYS])
    for row in read("lines"):
        if row["kind"] == "payment_fee":
            user, plan = row["user_id"] or "stray", row["plan"] or "none"
            sheet.append([int(row["booked_on"][5:7]), row["user_id"], plan, float(row["amount"]), *keys_of(user, plan)])


def _sum(sheet: str, column: str, month: int | None, **by: str) -> str:
    where = {"user": "B", "plan": "C"} if sheet != "revenue" else {"user": "A", "plan": "B"}
    parts = [f'{sheet}!${where[name]}$2:${where[name]}$99,"{value}"' for name, value in by.items()]
    parts += [f"{sheet}!$A$2:$A$99,{month}"] if month else []
    return f"SUMIFS({sheet}!${column}$2:${column}$99,{','.join(parts)})"


def _margins(sheet: Worksheet) -> dict[str, str]:
    sheet.append(["key", "net", "cost", "fees", "margin"])
    found = {}
    rows: list[tuple[str, str, dict[str, str]]] = [("margin_by_user", user, {"user": user}) for user in USERS]
    rows += [("margin_by_plan", plan, {"plan": plan}) for plan in ("free", "pro", "team")]
    for number, (group, key, by) in enumerate(rows, start=2):
        sums = [_sum("revenue", "K", None, **by), _sum("use", "J", 4, **by), _sum("fees", "D", 4, **by)]
        sheet.append([key, *(f"={one}" for one in sums), f"=B{number}-C{number}-D{number}"])
        for column, name in zip("BCDE", ("net", "cost", "fees", "margin"), strict=True):
            found[f"{group}.{key}.{name}"] = f"=margins!{column}{number}"
    net, fees = "SUM(revenue!K2:K99)", "SUMIFS(fees!D2:D99,fees!A2:A99,4)"
    cost = "SUMIFS(use!J2:J99,use!A2:A99,4)"
    facing = f"({cost}-{_sum('use', 'J', 4, plan='eval')})"
    free = _sum("use", "J", 4, plan="free")
    found["total.margin"] = f"={net}-{cost}-{fees}"
    found["total_free_tier_in.margin"] = f"={net}-{facing}-{fees}"
    found["total_free_tier_out.margin"] = f"={net}-({facing}-{free})-{fees}"
    found["ledger_total"] = f"={cost}"
    paying = "+".join(f"(margins!B{number}>0)" for number in range(2, 2 + len(USERS)))
    found["free_tier.cost_per_paying_user"] = f"={free}/({paying})"
    return found


def _plan(sheet: Worksheet, plan: str) -> dict[str, str]:
    members = [row[0] for row in REVENUE if row[1] == plan]
    sheet.append(
        ["user", "net", "cost", "fees", "margin", "requests", "tokens", "paying", "bears requests", "bears tokens"]
    )
    for number, user in enumerate(members, start=2):
        by = {"user": user, "plan": plan}
        tokens = "+".join(_sum("use", column, 4, **by) for column in "DEF")
        count = f'COUNTIFS(use!$B$2:$B$99,"{user}",use!$C$2:$C$99,"{plan}",use!$A$2:$A$99,4)'
        sums = [_sum("revenue", "K", None, **by), _sum("use", "J", 4, **by), _sum("fees", "D", 4, **by)]
        bears = [
            f"=IF(B{number}-D{number}>=C{number},1E+15,INT((B{number}-D{number})*{use}{number}/C{number}+0.000001))"
            for use in "FG"
        ]
        sheet.append([user, *(f"={one}" for one in sums), f"=B{number}-C{number}-D{number}", f"={count}", f"={tokens}",
                      0 if user in COMPED else 1, *(["" if user in COMPED else one for one in bears])])  # fmt: skip
    last = len(members) + 1
    cost, count = f"{plan}!C2:C{last}", len(members)
    places = "+".join(f"{place}*SMALL({cost},{place})" for place in range(1, count + 1))
    each = f"SUMPRODUCT({plan}!B2:B{last}-{plan}!D2:D{last},{plan}!H2:H{last})/SUM({plan}!H2:H{last})"
    days = "+".join(str(one) for one in SUBSCRIBED[plan])
    found = {
        "subscribers": f"=COUNTA({plan}!A2:A{last})",
        "average_subscribers": f"=({days})/30",
        "loss_making": f'=COUNTIF({plan}!E2:E{last},"<0")',
        "gross_margin_pct": f'=IF(SUM({plan}!B2:B{last})=0,"none",100*SUM({plan}!E2:E{last})/SUM({plan}!B2:B{last}))',
        "cost_p50": f"=SMALL({cost},ROUNDUP({count}*0.5,0))",
        "cost_p90": f"=SMALL({cost},ROUNDUP({count}*0.9,0))",
        "cost_max": f"=MAX({cost})",
        "gini": f"=2*({places})/({count}*SUM({cost}))-({count}+1)/{count}",
        "top_10_pct": f"=100*MAX({cost})/SUM({cost})",
        "break_even_requests": f"={each}/(SUM({cost})/SUM({plan}!F2:F{last}))",
        "break_even_tokens": f"={each}/(SUM({cost})/SUM({plan}!G2:G{last}))",
    }
    for unit, column in (("requests", "I"), ("tokens", "J")):
        # 95 % of so few are all of them, so the one who bears least decides; 1E+15 stands for all of one's own use.
        bears = ",".join(
            f"{plan}!{column}{number}" for number, user in enumerate(members, start=2) if user not in COMPED
        )
        found[f"cap_95_{unit}"] = f'=IF(MIN({bears})=1E+15,"none",MIN({bears}))'
    return {f"{plan}.{name}": formula for name, formula in found.items()}


def _bridge(sheet: Worksheet) -> dict[str, str]:
    """A line a plan and SKU; stages replace one factor after another: users, plan mix, (price), intensity, token mix, unit price."""
    sheet.append(["plan", "N0", "N1", "R0", "R1", "w0", "w1", "r0", "r1", "tokens0", "tokens1", "I0", "I1"])
    plans = ("free", "pro", "team")
    for number, plan in enumerate(plans, start=2):
        days = "+".join(str(one) for one in SUBSCRIBED[plan])
        sheet.append([plan, MARCH[plan][0], f"=({days})/30", MARCH[plan][1], f"={_sum('revenue', 'K', None, plan=plan)}",
                      f"=B{number}/SUM(B$2:B$4)", f"=C{number}/SUM(C$2:C$4)", f"=D{number}/B{number}", f"=E{number}/C{number}",
                      f"=SUMIFS(C$12:C$40,A$12:A$40,A{number})", f"=SUMIFS(D$12:D$40,A$12:A$40,A{number})",
                      f"=J{number}/B{number}", f"=K{number}/C{number}"])  # fmt: skip
    for stage in range(4):
        users, mix, price = (
            ("SUM(B$2:B$4)" if stage < 1 else "SUM(C$2:C$4)"),
            "F" if stage < 2 else "G",
            "H" if stage < 3 else "I",
        )
        sheet.cell(6, 2 + stage, f"={users}*SUMPRODUCT({mix}2:{mix}4,{price}2:{price}4)")
    sheet.cell(6, 1, "revenue by stage")
    sheet.append([])
    sheet.cell(11, 1, "plan")
    number = 11
    for at, plan in enumerate(plans, start=2):
        for model, column in SKUS:
            number += 1
            letter, price = "DEF"[column - 3], column - 3
            where = f'use!$C$2:$C$99,"{plan}",use!$K$2:$K$99,"{model}"'
            cells = [f"=SUMIFS(use!${letter}$2:${letter}$99,{where},use!$A$2:$A$99,{month})" for month in (3, 4)]
            shares = [f"=IF(J{at}=0,0,C{number}/J{at})", f"=IF(K{at}=0,0,D{number}/K{at})"]
            if plan == "team":
                shares[0], shares[1] = f"=IF(J{at}=0,F{number},C{number}/J{at})", f"=IF(K{at}=0,0,D{number}/K{at})"
            old, new = (PRICES[model, month][price] for month in (3, 4))
            rates = [f"=IF(C{number}=0,{new},{old})", f"=IF(D{number}=0,{old},{new})"]
            sheet.cell(number, 1, plan)
            values: list[Any] = [f"{model} {letter}", *cells, *shares, *rates]
            for place, value in enumerate(values, start=2):
                sheet.cell(number, place, value)
            for stage in range(7):
                users = "SUM($B$2:$B$4)" if stage < 1 else "SUM($C$2:$C$4)"
                mix, use = "F" if stage < 2 else "G", "L" if stage < 4 else "M"
                share, rate = "E" if stage < 5 else "F", "G" if stage < 6 else "H"
                sheet.cell(number, 9 + stage, f"={users}*{mix}${at}*{use}${at}*{share}{number}*{rate}{number}/1000000")
    costs = [f"SUM(bridge!{letter}12:{letter}{number})" for letter in "IJKLMNO"]
    found = {}
    for stage, name in enumerate(("users", "plan_mix", "net_price", "intensity", "model_and_token_mix", "unit_price")):
        if stage < 3:
            found[f"bridge.{name}.revenue"] = f"=bridge!{'BCDE'[stage + 1]}6-bridge!{'BCDE'[stage]}6"
        found[f"bridge.{name}.cost"] = f"={costs[stage + 1]}-{costs[stage]}"
    known = [f'SUMIFS(use!$J$2:$J$99,use!$A$2:$A$99,4,use!$K$2:$K$99,"{model}")' for model in ("n-new", "s-llama")]
    old = 'SUMIFS(use!$J$2:$J$99,use!$A$2:$A$99,3,use!$K$2:$K$99,"n-old")'
    idle = _sum("use", "J", 4, plan="idle")
    found["bridge.new_and_discontinued.cost"] = f"={'+'.join(known)}-{idle}-{old}"
    found["bridge.idle.cost"] = f"={idle}"
    found["bridge.payment_fees.cost"] = "=SUMIFS(fees!D2:D99,fees!A2:A99,4)-SUMIFS(fees!D2:D99,fees!A2:A99,3)"
    found["bridge.unmatched.revenue"] = f"={_sum('revenue', 'K', None, plan='none')}"
    found["bridge.unmatched.cost"] = f"={_sum('use', 'J', 4, plan='none')}-{_sum('use', 'J', 3, plan='none')}"
    march = "(SUM(bridge!D2:D4)-SUMIFS(use!J2:J99,use!A2:A99,3)-SUMIFS(fees!D2:D99,fees!A2:A99,3))"
    april = f"(SUM(revenue!K2:K99)-SUMIFS(use!J2:J99,use!A2:A99,4)+{_sum('use', 'J', 4, plan='eval')}-SUMIFS(fees!D2:D99,fees!A2:A99,4))"
    found["bridge.change.margin"] = f"={april}-{march}"
    for number, plan in enumerate(("free", "pro", "team"), start=2):
        grown = f"bridge!B{number}*SUM(bridge!C2:C4)/SUM(bridge!B2:B4)"
        found[f"pvm.{plan}.price"] = f"=(bridge!I{number}-bridge!H{number})*bridge!C{number}"
        found[f"pvm.{plan}.volume"] = f"=({grown}-bridge!B{number})*bridge!H{number}"
        found[f"pvm.{plan}.mix"] = f"=(bridge!C{number}-{grown})*bridge!H{number}"
    return found


if __name__ == "__main__":
    write(FOLDER / "plan_company.xlsx")
