"""Are the public figures that the demo cites those of the data sets?"""

from __future__ import annotations

import csv
import json
from collections import Counter

import numpy as np
import pytest

from accounting.demo import figures
from tests.shared_data import shared


def hourly(category: str, model: str) -> list[dict[str, str]]:
    with shared("servegen/client_hourly_requests.csv").open() as file:
        return [row for row in csv.DictReader(file) if (row["category"], row["model"]) == (category, model)]


def mooncake() -> list[dict[str, int]]:
    with shared("mooncake/conversation_trace.jsonl").open() as file:
        return [json.loads(line) for line in file]


def test_servegen_largest_client_and_spread() -> None:
    requests: Counter[str] = Counter()
    for row in hourly("reason", "deepseek-r1"):
        requests[row["client_id"]] += int(row["requests"])
    counts = np.array([count for count in requests.values() if count > 0])
    assert counts.max() / counts.sum() == pytest.approx(figures.LARGEST_REQUEST_SHARE, abs=0.005)
    assert np.log(counts).std(ddof=1) == pytest.approx(figures.CLIENT_SIGMA, abs=0.005)


def test_servegen_largest_clients_output() -> None:
    output: Counter[str] = Counter()
    with shared("servegen/client_window_6h.csv").open() as file:
        for row in csv.DictReader(file):
            if row["model"] == "deepseek-r1" and row["out_mean"]:
                output[row["client_id"]] += round(float(row["requests"]) * float(row["out_mean"]))
    assert max(output.values()) / sum(output.values()) == pytest.approx(figures.LARGEST_OUTPUT_SHARE, abs=0.01)


def test_servegen_daily_rhythm() -> None:
    by_hour: Counter[int] = Counter()
    for row in hourly("language", "m-small"):
        by_hour[int(row["hour"]) % 24] += int(row["requests"])
    assert max(by_hour.values()) / min(by_hour.values()) == pytest.approx(figures.PEAK_TO_TROUGH, abs=0.01)
    busiest = max(range(24), key=lambda hour: by_hour[hour] + by_hour[(hour + 1) % 24])
    assert busiest + 1 == pytest.approx(figures.BUSIEST_HOUR, abs=0.5)


def test_mooncake_lengths() -> None:
    rows = mooncake()
    sent = np.array([row["input_length"] for row in rows])
    received = np.array([row["output_length"] for row in rows])
    assert np.median(sent) == figures.INPUT_MEDIAN
    assert np.median(received) == figures.OUTPUT_MEDIAN
    p95, p99 = np.percentile(sent, [95, 99])
    assert np.log(p95 / figures.INPUT_MEDIAN) / 1.645 < figures.INPUT_SIGMA < np.log(p99 / figures.INPUT_MEDIAN) / 2.326
    p95, p99 = np.percentile(received, [95, 99])
    assert (
        np.log(p95 / figures.OUTPUT_MEDIAN) / 1.645 < figures.OUTPUT_SIGMA < np.log(p99 / figures.OUTPUT_MEDIAN) / 2.326
    )


@pytest.mark.parametrize(
    ("keeps_ms", "share"), [(float("inf"), figures.HIT_SHARE_FOREVER), (300_000, figures.HIT_SHARE_5_MINUTES)]
)
def test_mooncake_cache_hits(keeps_ms: float, share: float) -> None:
    seen: dict[int, int] = {}
    hit = total = 0
    for row in mooncake():
        fresh = 0
        for block in row["hash_ids"]:  # type: ignore[attr-defined]
            if row["timestamp"] - seen.get(block, -(10**12)) > keeps_ms or block not in seen:
                break
            fresh += 1
        hit += min(fresh * 512, row["input_length"])
        total += row["input_length"]
        seen.update(dict.fromkeys(row["hash_ids"], row["timestamp"]))  # type: ignore[call-overload]
    assert hit / total == pytest.approx(share, abs=0.005)
