"""How do tests run the services of docker-compose.yml without docker? As processes, by what the file says of each.

Names of hosts, ports and `/tmp` are those of containers: each is replaced by one of this machine, and nothing else is.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import time
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from accounting.storage.pg_binaries import find_binaries
from tests import composed_database
from tests.served import free_port

ROOT = Path(__file__).resolve().parents[1]
FILE = ROOT / "docker-compose.yml"
DOCKERFILE = ROOT / "Dockerfile"
SECRETS = {"POSTGRES_PASSWORD": "Superuser1", "OWNER_PASSWORD": "Owner2", "APP_PASSWORD": "App3"}
OUTSIDE = "127.0.0.2"
"""An address of this machine at which a service that listens at 127.0.0.1 alone does not answer, like a container's."""


def compose(*words: str, secrets: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """`docker-compose WORDS` on the file, with these variables and no others; a file .env beside it is not read."""
    spec = find_spec("compose")
    assert spec is not None
    assert spec.submodule_search_locations is not None
    # The package's own wrapper ends with 0 whatever the program says.
    program = Path(next(iter(spec.submodule_search_locations))) / "docker-compose"
    command = [str(program), "--file", str(FILE), "--env-file", os.devnull, *words]
    return subprocess.run(command, env=secrets, capture_output=True, text=True, check=False)


def resolved() -> dict[str, Any]:
    """The file as docker gets it: anchors, variables and short forms written out, every profile."""
    done = compose("--profile", "*", "config", "--format", "json", secrets=SECRETS)
    assert done.returncode == 0, done.stderr
    return dict(json.loads(done.stdout.replace("$$", "$")))


def instruction(name: str) -> str:
    """What the last instruction of this name in the Dockerfile says."""
    return str(re.findall(rf"^{name} (.+)$", DOCKERFILE.read_text("utf-8"), re.MULTILINE)[-1])


class Stack:
    """The services as processes. Attributes: api, dashboard: their addresses from outside; homes: folder that is to stay empty."""

    def __init__(self, folder: Path) -> None:
        file = resolved()
        self._folder = folder
        self._ports = {"5432": free_port(), "8000": free_port(), "8501": free_port()}
        self._services: dict[str, dict[str, Any]] = file["services"]
        self._configs: dict[str, dict[str, str]] = file["configs"]
        self._running: dict[str, subprocess.Popen[bytes]] = {}
        self._programs = find_binaries()
        self.api, self.dashboard = (f"http://{OUTSIDE}:{self._ports[port]}" for port in ("8000", "8501"))
        self.homes = folder / "homes"
        self.homes.mkdir()

    def up(self) -> None:
        """Starts every service that is in no profile, each once what it depends on is as the file wants it."""
        for name, service in self._services.items():
            if "profiles" not in service:
                self._start_after_others(name)

    def run(self, name: str, *words: str) -> str:
        """`docker compose run --rm NAME WORDS`: what it prints."""
        done = subprocess.run(
            [*json.loads(instruction("ENTRYPOINT")), *words],
            env=self._environment(name),
            cwd=self.homes,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    def start(self, name: str) -> None:
        """Starts a service, with nothing in its /tmp."""
        shutil.rmtree(self._tmp(name), ignore_errors=True)
        self._tmp(name).mkdir()
        if name == "db":
            self._running[name] = self._start_database()
            return
        words = self._services[name].get("command") or json.loads(instruction("CMD"))
        command = [*json.loads(instruction("ENTRYPOINT")), *self._here(name, words)]
        with self._log(name).open("ab") as log:
            self._running[name] = subprocess.Popen(
                command, env=self._environment(name), cwd=self.homes, stdout=log, stderr=log
            )

    def is_healthy(self, name: str) -> bool:
        """Whether the service's own health check says so."""
        kind, *command = self._here(name, self._services[name]["healthcheck"]["test"])
        assert kind == "CMD"
        here: dict[str, Any] = {"env": self._environment(name), "cwd": self.homes, "capture_output": True}
        return subprocess.run(command, **here, check=False).returncode == 0

    def wait_healthy(self, name: str, seconds: float = 60.0) -> None:
        deadline = time.monotonic() + seconds
        while not self.is_healthy(name):
            code = self._running[name].poll()
            assert code is None, f"{name} ended with {code}:\n{self.said(name)}"
            assert time.monotonic() < deadline, f"{name} is not healthy:\n{self.said(name)}"
            time.sleep(0.3)

    def stop(self, name: str) -> int:
        """Ends it as docker does, by SIGTERM; returns its status. Fails where it takes longer than docker waits."""
        process = self._running.pop(name)
        process.terminate()
        try:
            return process.wait(_seconds(self._services[name].get("stop_grace_period", "10s")))
        finally:
            process.kill()
            process.wait()

    def kill(self) -> None:
        """Ends what still runs."""
        for process in self._running.values():
            process.terminate()
        for process in self._running.values():
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    def running(self) -> set[str]:
        """Names of the services that have not ended."""
        return {name for name, process in self._running.items() if process.poll() is None}

    def said(self, name: str) -> str:
        """What the service printed."""
        return self._log(name).read_text("utf-8", "replace")

    def _start_after_others(self, name: str) -> None:
        if name in self._running:
            return
        for other, wanted in self._services[name].get("depends_on", {}).items():
            self._start_after_others(other)
            if wanted["condition"] == "service_healthy":
                self.wait_healthy(other)
            else:
                assert wanted["condition"] == "service_completed_successfully"
                assert self._running[other].wait(60) == 0, self.said(other)
        self.start(name)

    def _start_database(self) -> subprocess.Popen[bytes]:
        scripts = [
            self._configs[one["source"]]["content"]
            for one in self._services["db"]["configs"]
            if one["target"].startswith("/docker-entrypoint-initdb.d/")
        ]
        port = self._ports["5432"]
        return composed_database.start(self._programs, self._folder, port, self._environment("db"), scripts)

    def _environment(self, name: str) -> dict[str, str]:
        """The file's variables, and those that an image brings: programs are found, a home is there."""
        path = os.pathsep.join([str(Path(sys.executable).parent), str(self._programs.bin_dir), os.defpath])
        stated: dict[str, str] = self._here(name, self._services[name]["environment"])
        given = {"PATH": path, "HOME": str(self.homes)}
        return given | ({"PGPORT": str(self._ports["5432"])} if name == "db" else {}) | stated

    def _here(self, name: str, value: Any) -> Any:
        """A value of the file with what a container has replaced by what this machine has."""
        text = json.dumps(value).replace("@db:", "@127.0.0.1:").replace("//api:", f"//{OUTSIDE}:")
        for port, free in self._ports.items():
            text = re.sub(rf"\b{port}\b", str(free), text)
        return json.loads(re.sub(r"/tmp\b", str(self._tmp(name)), text))

    def _tmp(self, name: str) -> Path:
        return self._folder / f"tmp-{name}"

    def _log(self, name: str) -> Path:
        return self._folder / f"{name}.log"


def _seconds(duration: str) -> float:
    """ "1m10s", as docker writes it, in seconds."""
    found = re.fullmatch(r"(?:(\d+)m)?(?:(\d+)s)?", duration)
    assert found, duration
    minutes, seconds = (int(part or 0) for part in found.groups())
    return 60.0 * minutes + seconds
