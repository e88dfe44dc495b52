"""`python -m tests.bench [NAME ...]`: one JSON object of figures, each a ratio against a baseline of the same run.

Names: pricing, ingest, wire, reports, plans, reprice, contracts, selfhosted, kernels, sweep, http, dashboard; all when none is given.
"""

from __future__ import annotations

import importlib
import json
import platform
import sys
from datetime import UTC, datetime

NAMES = (
    "pricing",
    "ingest",
    "wire",
    "reports",
    "plans",
    "selfhosted",
    "reprice",
    "contracts",
    "kernels",
    "sweep",
    "http",
    "dashboard",
)


def main(names: list[str]) -> None:
    unknown = [name for name in names if name not in NAMES]
    if unknown:
        sys.exit(f"unknown bench {unknown}; there are {', '.join(NAMES)}")
    results: dict[str, object] = {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": f"{platform.machine()} {platform.system()} Python {platform.python_version()}",
    }
    for name in names or NAMES:
        print(f"bench {name} ...", file=sys.stderr)
        results[name] = importlib.import_module(f"tests.bench.bench_{name}").run()
    print(json.dumps(results, indent=2))


if __name__ == "__main__":
    main(sys.argv[1:])
