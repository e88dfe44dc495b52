"""Does docker-compose.yml hold what it promises: no password of its own, least rights, health checks, and a stack that works?"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.composed import DOCKERFILE, FILE, ROOT, SECRETS, Stack, compose, instruction, resolved
from tests.events import event

TIER = {
    "seller": "openai",
    "currency": "USD",
    "effective_from": "2026-07-01T00:00:00Z",
    "volume_tiers": [{"tier_id": "half", "steps": [{"from_quantity": 0, "kind": "discount", "value": "0.5"}]}],
}


@pytest.fixture(scope="module")
def services() -> dict[str, dict[str, Any]]:
    return dict(resolved()["services"])


@pytest.mark.parametrize("name", sorted(SECRETS))
@pytest.mark.parametrize("given", [None, ""], ids=["missing", "empty"])
def test_a_password_that_is_not_set_is_named(name: str, given: str | None) -> None:
    others = {other: value for other, value in SECRETS.items() if other != name}
    done = compose("config", secrets=others if given is None else others | {name: given})
    assert done.returncode != 0
    assert f"required variable {name} is missing a value: set {name}" in done.stderr


def test_each_service_knows_only_the_passwords_it_needs(services: dict[str, dict[str, Any]]) -> None:
    known = {
        name: {secret for secret, value in SECRETS.items() if value in json.dumps(service)}
        for name, service in services.items()
    }
    assert known == {
        "db": {"POSTGRES_PASSWORD", "OWNER_PASSWORD"},
        "migrate": {"OWNER_PASSWORD", "APP_PASSWORD"},
        "owner": {"OWNER_PASSWORD", "APP_PASSWORD"},
        "worker": {"OWNER_PASSWORD", "APP_PASSWORD"},
        "api": {"APP_PASSWORD"},
        "dashboard": set(),
    }


def test_no_password_stands_in_the_file(services: dict[str, dict[str, Any]]) -> None:
    stated = [value for service in services.values() for value in service["environment"].items()]
    passwords = {value for name, value in stated if "PASSWORD" in name}
    passwords |= {found for _, value in stated for found in re.findall(r"//[^:/]*:([^@]*)@", value)}
    assert passwords == set(SECRETS.values())


def test_every_service_has_a_health_check_or_is_a_job(services: dict[str, dict[str, Any]]) -> None:
    checked = {name for name, service in services.items() if "healthcheck" in service}
    assert checked == {"db", "api", "worker", "dashboard"}
    assert services["migrate"]["restart"] == "no"
    assert services["owner"]["profiles"] == ["owner"]


def test_nothing_runs_as_root_or_may_become_root(services: dict[str, dict[str, Any]]) -> None:
    users = {service.get("user") or instruction("USER") for service in services.values()}
    assert users == {"10001", "postgres"}
    for service in services.values():
        assert service["cap_drop"] == ["ALL"]
        assert service["security_opt"] == ["no-new-privileges:true"]
        assert not {"cap_add", "privileged", "network_mode", "pid"} & service.keys()


def test_only_the_database_may_write_and_only_to_its_volume(services: dict[str, dict[str, Any]]) -> None:
    assert [name for name, service in services.items() if not service.get("read_only")] == ["db"]
    assert [(one["type"], one["target"]) for one in services["db"]["volumes"]] == [("volume", "/var/lib/postgresql")]
    assert all(service["tmpfs"] == ["/tmp"] for name, service in services.items() if name != "db")
    assert all("volumes" not in service for name, service in services.items() if name != "db")


def test_ports_are_this_machines_own(services: dict[str, dict[str, Any]]) -> None:
    open_at = [
        (name, port.get("host_ip"), port["published"], port["target"])
        for name, service in services.items()
        for port in service.get("ports", [])
    ]
    assert open_at == [("api", "127.0.0.1", "8000", 8000), ("dashboard", "127.0.0.1", "8501", 8501)]


def test_the_file_keeps_to_the_compose_specification() -> None:
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", "vendor.compose-spec", str(FILE)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_the_dockerfile_is_without_a_linters_complaint() -> None:
    program = Path(sysconfig.get_path("scripts")) / "hadolint"
    done = subprocess.run([program, DOCKERFILE], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "")


def test_the_image_has_every_package_of_the_wheel() -> None:
    wheel = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["hatch"]["build"]["targets"]["wheel"]
    copied = re.findall(r"^COPY (\S+) \1$", DOCKERFILE.read_text("utf-8"), re.MULTILINE)
    assert sorted(copied) == sorted(wheel["packages"])


@pytest.fixture
def stack() -> Iterator[Stack]:
    """The services, started in the file's order; what still runs at the end is killed."""
    # The server's user must reach it, as it can't pytest's own folders.
    folder = Path(tempfile.mkdtemp(prefix="tokencogs-compose-", dir="/var/tmp"))
    folder.chmod(0o711)
    started = Stack(folder)
    try:
        started.up()
        yield started
    finally:
        started.kill()
        shutil.rmtree(folder)


@pytest.mark.storage
@pytest.mark.one_server
def test_the_stack_is_walked_from_an_empty_volume_to_a_settled_report(stack: Stack) -> None:
    """One call of o3: 1,000 tokens in at 2 and 100 out at 8 a million are 0.0028 by list; a volume tier takes half."""
    for name in ("db", "api", "worker", "dashboard"):
        stack.wait_healthy(name)

    assert stack.run("owner", "tenant", "create", "acme").startswith("tenant acme made")
    keys = {
        scope: stack.run("owner", "key", "create", "--tenant", "acme", "--scope", scope)
        for scope in ("ingest", "admin")
    }
    admin, ingest = (_client(stack.api, keys[scope]) for scope in ("admin", "ingest"))
    with admin, ingest:
        admin.put("/v1/prices/contracts/k1", json=TIER).raise_for_status()
        assert ingest.post("/v1/usage/events", json=[event("e1")]).json()["accepted"] == 1
        assert admin.get("/v1/usage/events/e1/charge").json()["effective_cost"] == "0.0028"

        assert stack.stop("worker") == 0
        stack.start("worker")
        stack.wait_healthy("worker")
        assert re.search(r"^acme: run \S+, 1 charges appended$", stack.said("worker"), re.MULTILINE)
        report = admin.get("/v1/reports/cost-of-revenue", params={"from": "2026-07-01", "to": "2026-08-01"}).json()
        assert [row["effective_cost"] for row in report["totals"] if row["row"] == "total"] == ["0.0014"]

    assert httpx.get(f"{stack.dashboard}/_stcore/health", trust_env=False).text == "ok"
    assert "<title>" in httpx.get(stack.dashboard, trust_env=False).text

    assert stack.running() == {"db", "api", "worker", "dashboard"}
    assert {name: stack.stop(name) for name in ("dashboard", "worker", "api")} == {
        "dashboard": 0,
        "worker": 0,
        "api": 0,
    }
    assert stack.stop("db") == 0
    assert list(stack.homes.iterdir()) == []


def _client(url: str, key: str) -> httpx.Client:
    return httpx.Client(base_url=url, headers={"Authorization": f"Bearer {key}"}, timeout=30, trust_env=False)
