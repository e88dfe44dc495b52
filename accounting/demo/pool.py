"""What is the product's own pool, and what does it cost? A curve that this project's probe measured, a machine, a price for its hours."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from datetime import UTC, date, datetime, time
from pathlib import Path

import click

from accounting.demo import product
from accounting.demo.hosted import hours_up
from accounting.demo.load import TENANT
from accounting.errors import ConfigurationError
from accounting.ledger.pool_billing import bill_schedule
from accounting.ledger.settle import settle
from accounting.selfhosted.curve_json import load_curve
from accounting.selfhosted.pool_settings import Membership, PoolSettings
from accounting.selfhosted.rates import GpuRate
from accounting.storage.curves import record_curve
from accounting.storage.engine import app_engine
from accounting.storage.gpu_rates import record_rate
from accounting.storage.pools import record_member, record_pool
from accounting.storage.tenants import context

SINCE = datetime(2026, 1, 1, tzinfo=UTC)
"""From when on pool and price are stated; the machine is there in the months that the demo shows."""

ACTOR = "tokencogs demo"
RATE = "machine"
GRID = {
    "batch": [1, 4, 16],
    "context": [64, 1024, 8192],
    "ragged": [[4, 1024]],
    "prefill_new": [64, 512],
    "prefill_cached": [0, 7680],
    "mixed": [[4, 1024, 256, 0]],
}
"""Few enough shapes for a minute; prompts come in chunks of the pool's budget."""

PROBE = (
    "--model",
    "Llama-248M",
    "--scale",
    "0.75",
    "--budget",
    "1.1",
    "--rounds",
    "2",
    "--steps",
    "3",
    "--warm-up",
    "1",
    "--retries",
    "0",
    "--keep-contaminated",
    "--quiet-share",
    "0.5",
    "--replay",
    "0",
    "--threads",
    "1",
    "--max-num-batched-tokens",
    str(product.ENGINE.token_budget),
    "--max-num-seqs",
    str(product.ENGINE.max_batch),
    "--max-model-len",
    "8448",
    "--kv-cache-memory-bytes",
    "1000000000",
)
"""One visit a shape and round, as the machine shows what it is: what others disturbed counts where nothing else is there, and is marked."""


def measure() -> str:
    """The curve file of a measurement made now, in about a minute. Raises ConfigurationError where the probe can't run."""
    with tempfile.TemporaryDirectory() as folder:
        out, grid = Path(folder) / "curve.json", Path(folder) / "grid.json"
        grid.write_text(json.dumps(GRID), encoding="utf-8")
        command = [
            sys.executable,
            "-m",
            "accounting.cli",
            "probe",
            "run",
            *PROBE,
            "--grid",
            str(grid),
            "--out",
            str(out),
        ]
        if subprocess.run(command, check=False).returncode or not out.exists():
            raise ConfigurationError("the probe did not measure a curve; it needs torch: make demo PROBE=1 installs it")
        result = json.loads(out.read_text(encoding="utf-8"))
    curve = result.pop("curve")
    if curve is None:
        raise ConfigurationError("the machine was too busy to measure: no curve fits; try again when it is idle")
    result.pop("samples", None)
    return json.dumps({**curve, "source": result})


def prepare(curve_file: str, month: date, until: date) -> None:
    """Curve, rate, pool, and the replica for its hours of the month; stating them again changes nothing."""
    engine = app_engine()
    tenant, curve = context(engine, TENANT), load_curve(curve_file)
    record_curve(engine, tenant, curve_file, ACTOR)
    price = GpuRate(
        RATE, "on_demand", curve.header.gpu, "USD", SINCE, price_per_hour=product.MACHINE_HOUR, source="invented"
    )
    record_rate(engine, tenant, price, ACTOR)
    settings = PoolSettings(
        pool_id=product.POOL,
        effective_from=SINCE,
        model=product.MODELS[product.HOSTED].model,
        curve_id=curve.header.curve_id,
        gpu=curve.header.gpu,
        gpus_per_replica=1,
        token_budget=product.ENGINE.token_budget,
        max_batch=product.ENGINE.max_batch,
        billing_currency="USD",
    )
    record_pool(engine, tenant, settings, ACTOR)
    for begin, end in hours_up(month, until):
        record_member(engine, tenant, Membership(product.POOL, product.REPLICA, begin, end, RATE), ACTOR)


def bill_and_settle(month: date, until: date) -> None:
    """Bills the hours of the month that are over, and charges them to the requests they served."""
    engine = app_engine()
    tenant = context(engine, TENANT)
    since, end = _moments(month, until)
    bill_schedule(engine, tenant, since, end, ACTOR)
    summary = settle(engine, tenant)
    click.echo(f"settled: {summary['charges']} charges appended")


def _moments(month: date, until: date) -> tuple[datetime, datetime]:
    since, end = (datetime.combine(day, time(), UTC) for day in (month, until))
    return since, end
