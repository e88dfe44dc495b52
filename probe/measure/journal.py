"""What has been measured so far, whatever happens to the process? Lines of JSON, each on disk before the next visit begins.

The first line says which run it is; a `plan` line lists a stage's shapes; a `visit` line has one visit's samples. A line that a kill
cut short is dropped when the file is opened again, and its visit is measured anew: nothing is lost but that one, and nothing counts twice.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from probe.curve.schema import Kind, Sample
from probe.measure.errors import MeasureRefused
from probe.measure.judge import judged, limit_of
from probe.measure.shapes import Shape

VERSION = 1
Place = tuple[int, int, int]
Key = tuple[int, int, int, int]


class Header(msgspec.Struct, frozen=True, tag="run", forbid_unknown_fields=True):
    """Which run this is: what makes another one's samples useless here."""

    version: int
    about: dict[str, Any]


class ShapeLine(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A shape as it stands in a line."""

    kind: Kind
    contexts: tuple[int, ...] = ()
    prefills: tuple[tuple[int, int], ...] = ()

    @classmethod
    def of(cls, shape: Shape) -> ShapeLine:
        return cls(shape.kind, shape.contexts, shape.prefills)

    def shape(self) -> Shape:
        return Shape(self.kind, self.contexts, self.prefills)


class Plan(msgspec.Struct, frozen=True, tag="plan", forbid_unknown_fields=True):
    """A stage's shapes."""

    stage: int
    shapes: list[ShapeLine]


class Visit(msgspec.Struct, frozen=True, tag="visit", forbid_unknown_fields=True):
    """One visit. Attributes: key: stage, round, place in the round, attempt. took: seconds, laying and warm-up included."""

    key: Key
    shape: ShapeLine
    took: float
    samples: list[Sample]


Line = Header | Plan | Visit


def contaminated(samples: Sequence[Sample]) -> bool:
    """Of a visit: fewer than half of its steps are clean."""
    return 2 * sum(one.contaminated for one in samples) > len(samples)


class Journal:
    """An append-only file. Raises MeasureRefused where it is of another run, or a line in the middle can't be read."""

    def __init__(self, path: Path, about: dict[str, Any]) -> None:
        self.path = path
        self.plans: dict[int, list[Shape]] = {}
        self.visits: list[Visit] = []
        self._open(msgspec.json.decode(msgspec.json.encode(about)))  # tuples are lists in a file

    def _open(self, about: dict[str, Any]) -> None:
        text = self.path.read_bytes() if self.path.exists() else b""
        whole = text[: text.rfind(b"\n") + 1]
        lines = [self._parse(number, line) for number, line in enumerate(whole.splitlines(), start=1)]
        self._file = os.open(self.path, os.O_WRONLY | os.O_CREAT, 0o644)
        os.ftruncate(self._file, len(whole))
        os.lseek(self._file, 0, os.SEEK_END)
        if not lines:
            self._append(Header(VERSION, about))
            return
        if not isinstance(lines[0], Header) or lines[0].version != VERSION:
            raise MeasureRefused("journal", str(self.path), "isn't a journal of this version")
        other = sorted(name for name in {*about, *lines[0].about} if about.get(name) != lines[0].about.get(name))
        if other:
            differ = ", ".join(f"{name} {lines[0].about.get(name)!r} there, {about.get(name)!r} here" for name in other)
            raise MeasureRefused("journal", str(self.path), f"is of another run: {differ}")
        for line in lines[1:]:
            self._take(line)

    def _parse(self, number: int, line: bytes) -> Line:
        try:
            return msgspec.json.decode(line, type=Line)
        except (msgspec.ValidationError, msgspec.DecodeError) as error:
            raise MeasureRefused("journal", f"{self.path}:{number}", str(error)) from None

    def _take(self, line: Line) -> None:
        if isinstance(line, Plan):
            self.plans[line.stage] = [one.shape() for one in line.shapes]
        elif isinstance(line, Visit):
            self.visits.append(line)

    def _append(self, line: Line) -> None:
        data = msgspec.json.encode(line) + b"\n"
        if os.write(self._file, data) != len(data):
            raise OSError(
                errno.ENOSPC, "the line was written in part; it is dropped when the run goes on", str(self.path)
            )
        os.fsync(self._file)
        self._take(line)

    def plan(self, stage: int, shapes: list[Shape]) -> None:
        self._append(Plan(stage, [ShapeLine.of(shape) for shape in shapes]))

    def visit(self, key: Key, shape: Shape, took: float, samples: list[Sample]) -> Visit:
        line = Visit(key, ShapeLine.of(shape), took, samples)
        self._append(line)
        return line

    def attempts(self, place: Place) -> list[Visit]:
        """Visits of one place of one round of one stage."""
        return [one for one in self.visits if one.key[:3] == place]

    @property
    def seconds(self) -> float:
        """Spent measuring, before and after any kill."""
        return sum(one.took for one in self.visits)

    def samples(self, pace_share: float = 0.0) -> list[tuple[Shape, Sample]]:
        """All, in order. pace_share: those of a machine slower by more are contaminated; 0: as they were taken."""
        limit = limit_of([visit.samples for visit in self.visits], pace_share)
        return [(visit.shape.shape(), sample) for visit in self.visits for sample in judged(visit.samples, limit)]

    def close(self) -> None:
        os.close(self._file)


def journal_of(out: Path) -> Path:
    """Where the journal of a result file stands."""
    return out.with_name(out.name + ".journal.jsonl")
