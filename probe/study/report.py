"""How does a study read: its question, each claim with its interval, the verdict, and the raw rounds as JSON?"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from typing import Any, Protocol

from probe.study.frame import Contrast, Result, overall
from probe.study.lab import Lab


class Study(Protocol):
    """One ready-made experiment; a module of this package is one, its name in `NAMES` with - for _."""

    QUESTION: str

    def contrasts(self, lab: Lab) -> list[Contrast]: ...

    def facts(self, lab: Lab) -> dict[str, Any]: ...


@dataclass(frozen=True)
class Report:
    """Attributes: facts: what follows from shapes alone; setup: device, sizes, rounds, seed, date."""

    name: str
    question: str
    results: list[Result]
    facts: dict[str, Any] = field(default_factory=dict)
    setup: dict[str, Any] = field(default_factory=dict)

    def text(self) -> str:
        """For reading."""
        lines = [f"{self.name}: {self.question}"]
        for result in self.results:
            found = result.judgement
            claim = f"the same within {result.same:.0%}" if result.same is not None else f"{result.a} costs less"
            lines += [
                f"  {result.name} ({result.unit})",
                f"    {result.a} / {result.b} = {found.ratio:.3g}  [{found.low:.3g}, {found.high:.3g}]",
                f"    {claim}: {found.verdict}",
            ]
        lines += [f"  {name}: {value}" for name, value in self.facts.items()]
        rounds = len(self.results[0].costs_a)
        return "\n".join([*lines, f"verdict: {overall(self.results)} (95 % intervals, {rounds} paired rounds)"])

    def json(self) -> str:
        """With raw rounds, so that it can be judged again."""
        results = [
            {**asdict(result), **{f"judged_{name}": value for name, value in asdict(result.judgement).items()}}
            for result in self.results
        ]
        whole = {**asdict(self), "results": results, "verdict": overall(self.results)}
        return json.dumps(whole, indent=1)
