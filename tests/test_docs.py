"""Are READMEs and examples true to the code: files, commands, and what the examples print?"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.accounting.cli.test_help import assert_parses
from tests.accounting.cli.walk import commands

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("accounting", "api", "dashboard", "migrations", "probe")
NAMED = (".py", ".sql", ".csv", ".ini", ".mako")
READMES = sorted(
    path
    for top in (*PACKAGES, "tests")
    for path in (ROOT / top).rglob("README.md")
    if ".venv" not in path.parts and "golden" not in path.parts
)
PACKAGE_READMES = [path for path in READMES if path.parent != ROOT / "tests"]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def below(folder: Path) -> list[Path]:
    return [path for path in sorted(folder.rglob("*")) if "__pycache__" not in path.parts and path.is_file()]


def nearest(path: Path) -> Path:
    """The README that speaks for a file: the one beside it, else in the next folder up that has one."""
    return next(folder / "README.md" for folder in path.parents if (folder / "README.md").exists())


def ids(paths: list[Path]) -> list[str]:
    return [str(path.relative_to(ROOT)) for path in paths]


def speaks_for(readme: Path) -> list[str]:
    """Files whose nearest README this is, relative to it."""
    files = [path for path in below(readme.parent) if path.suffix in NAMED and nearest(path) == readme]
    empty = [path for path in files if path.name == "__init__.py" and not path.read_text(encoding="utf-8").strip()]
    return [str(path.relative_to(readme.parent)) for path in files if path not in empty]


@pytest.mark.parametrize("readme", PACKAGE_READMES, ids=ids(PACKAGE_READMES))
def test_every_file_of_a_package_has_its_line(readme: Path) -> None:
    """By its own name, or by that of a folder whose files are all of one kind."""
    prose = re.sub(r"^```.*?^```$", "", readme.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    named = set(re.findall(r"`([^`]+)`", prose))
    missing = [name for name in speaks_for(readme) if not any(one == name or _in_folder(name, one) for one in named)]
    assert missing == []


def _in_folder(name: str, folder: str) -> bool:
    return folder.endswith("/") and name.startswith(folder)


@pytest.mark.parametrize("readme", READMES, ids=ids(READMES))
def test_every_file_that_a_readme_names_is_there(readme: Path) -> None:
    text = readme.read_text(encoding="utf-8")
    for name in re.findall(r"`([\w./-]+\.(?:py|sql|csv|ini|mako|toml|md|yml)|[\w/-]+/)`", text):
        assert (readme.parent / name).exists() or (ROOT / name).exists(), f"{readme.relative_to(ROOT)} names {name}"
    for target in re.findall(r"\]\(([^)#:]+)\)", text):
        assert (readme.parent / target).exists(), f"{readme.relative_to(ROOT)} links to {target}"


@pytest.mark.parametrize("readme", ["README.md", "dashboard/README.md"])
def test_pictures_are_there_as_wide_as_a_page_and_quick_to_load(readme: str) -> None:
    path = ROOT / readme
    shown = re.findall(r"!\[[^\]]*\]\(([^)]+)\)", path.read_text(encoding="utf-8"))
    assert len(shown) == 4
    for name in shown:
        picture = (path.parent / name).read_bytes()
        # Width and height are the first two numbers of a PNG's header.
        assert (picture[:8], int.from_bytes(picture[16:20], "big")) == (b"\x89PNG\r\n\x1a\n", 1280)
        assert len(picture) < 150_000


@pytest.mark.parametrize("package", [*PACKAGES, "tests"])
def test_every_package_has_a_readme(package: str) -> None:
    assert (ROOT / package / "README.md").exists()


def test_every_module_and_folder_of_the_tests_has_its_line() -> None:
    text = (ROOT / "tests" / "README.md").read_text(encoding="utf-8")
    names = [path.name for path in (ROOT / "tests").glob("*.py") if path.name != "__init__.py"]
    names += [f"{path.parent.name}/" for path in (ROOT / "tests").glob("*/__init__.py")]
    assert [name for name in names if f"`{name}`" not in text] == []


@pytest.mark.parametrize("readme", ["README.md", "accounting/cli/README.md"])
def test_every_command_is_documented(readme: str) -> None:
    text = (ROOT / readme).read_text(encoding="utf-8")
    leaves = [" ".join(words) for words, command in commands() if not hasattr(command, "commands")]
    assert [name for name in leaves if f"tokencogs {name}" not in text] == []


@pytest.mark.parametrize("readme", [Path("README.md"), *(path.relative_to(ROOT) for path in READMES)], ids=str)
def test_every_command_line_of_a_readme_parses(readme: Path) -> None:
    for block in re.findall(
        r"^```(?:sh|console)\n(.*?)^```$", (ROOT / readme).read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE
    ):
        for line in re.findall(r"^(?:\$ )?(?:[A-Z_]+=\S+ )*(tokencogs .*)$", block.replace("\\\n", " "), re.MULTILINE):
            assert_parses(line)


def examples() -> list[tuple[str, str]]:
    """(command, output) of each console block of the top README that starts with `$ `."""
    return re.findall(r"^```console\n\$ (.*?)\n(.*?)^```$", README, re.DOTALL | re.MULTILINE)


def run(command: str) -> str:
    """What a shell prints on stdout, with the environment's own programs first on PATH and a database folder of its own."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-c", command], cwd=ROOT, env={**os.environ, "PATH": path}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_readme_has_examples() -> None:
    assert {command.split()[0] for command, _ in examples()} >= {"make", "tokencogs"}


@pytest.mark.parametrize(("command", "output"), [pair for pair in examples() if "tokencogs price" in pair[0]])
def test_what_the_readme_prices_is_what_the_command_prints(command: str, output: str) -> None:
    assert run(command) == output


@pytest.mark.slow
@pytest.mark.storage
def test_what_the_readme_shows_of_the_demo_is_what_it_prints(
    data_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    [(command, shown)] = [pair for pair in examples() if pair[0].startswith("make demo")]
    monkeypatch.setenv("TOKENCOGS_DATA", str(data_folder))
    for name in ("DATABASE_URL", "TOKENCOGS_OWNER_URL"):
        monkeypatch.delenv(name, raising=False)
    printed = run(command).splitlines()
    for line in shown.splitlines():
        assert line in ("...", "") or line in printed, line
