"""Are rows left out written down once, also where an import was stopped between writing and its checkpoint?"""

from __future__ import annotations

from pathlib import Path

import pytest

from accounting.errors import ConfigurationError
from accounting.traces.left_out import append


def test_nothing_to_write_makes_no_file(tmp_path: Path) -> None:
    path = tmp_path / "rejected.jsonl"
    assert append(path, 0, []) == 0
    assert not path.exists()


def test_a_new_import_replaces_what_an_earlier_one_left(tmp_path: Path) -> None:
    path = tmp_path / "rejected.jsonl"
    path.write_text("from an earlier import\n")
    assert append(path, 0, [{"row": 1}]) == len(path.read_text()) == 10
    assert path.read_text() == '{"row":1}\n'


def test_what_the_checkpoint_does_not_know_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / "rejected.jsonl"
    kept = append(path, 0, [{"row": 1}])
    append(path, kept, [{"row": 2}])
    append(path, kept, [{"row": 2}])
    assert path.read_text() == '{"row":1}\n{"row":2}\n'


def test_a_file_that_was_removed_meanwhile_begins_anew(tmp_path: Path) -> None:
    path = tmp_path / "rejected.jsonl"
    append(path, 500, [{"row": 2}])
    assert path.read_text() == '{"row":2}\n'


def test_a_place_that_can_not_be_written_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="rows left out can't be written to"):
        append(tmp_path / "nowhere" / "rejected.jsonl", 0, [{"row": 1}])
