"""What does a curve file answer at (batch, context)? The same as accounting does, to the last digits.

The probe writes the file and accounting reads it; one test holds the two evaluations together on random points.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from probe.curve.curve_file import check_fields
from probe.curve.errors import CurveRefused
from probe.curve.grid import Floats, Grid
from probe.curve.terms import Terms

FILE_VERSION = 1
Outside = Literal["refuse", "flag"]
_PARAMETERS = ("t_0", "a", "c", "d", "f", "r", "e")


@dataclass(frozen=True)
class Answer:
    """Arrays of the shape asked for. Attributes:

    step: seconds of a decode step, which is also the time between tokens (ITL) while nobody prefills.
    throughput: output tokens a second of the whole batch.
    ttft: seconds to the first token beside batch - 1 decoding sequences, without queueing; NaN where the form can't say.
    extrapolated: beyond the measured range, or where a table has a batch that no run had at that context.
    ttft_extrapolated: a prompt that long was not measured: beside `extrapolated`, of the ttft alone, as no decode step rests on it.
    """

    step: Floats
    throughput: Floats
    ttft: Floats
    extrapolated: np.ndarray
    ttft_extrapolated: np.ndarray


@dataclass(frozen=True)
class CurveDocument:
    """A curve file with its parts ready to evaluate; `terms` of form=step, `steps` of form=table."""

    file: dict[str, Any]
    terms: Terms | None
    residual: Grid | None
    steps: Grid | None
    first_token: Grid | None

    @classmethod
    def of(cls, file: dict[str, Any]) -> CurveDocument:
        """Reads the parts; raises CurveRefused naming what is missing."""
        if file.get("version") != FILE_VERSION:
            raise CurveRefused("curve.version", file.get("version"), f"this reads version {FILE_VERSION}")
        check_fields(file)
        try:
            return cls._of(file)
        except (KeyError, TypeError, ValueError) as error:
            raise CurveRefused(
                "curve", file["curve_id"], f"{type(error).__name__} {error}: a part is missing or odd"
            ) from None

    @classmethod
    def _of(cls, file: dict[str, Any]) -> CurveDocument:
        for axis in ("batch", "context"):
            low, high = file["domain"][axis]
            if not 0 < float(low) <= float(high):
                raise CurveRefused(f"curve.domain.{axis}", [low, high], "two numbers above 0 in order are expected")
        grids = {name: None if file.get(name) is None else Grid.of(file[name]) for name in _GRIDS}
        terms = None
        if file["form"] == "step":
            given = file.get("parameters")
            if given is None:
                raise CurveRefused("curve.parameters", None, "a curve of form=step states them")
            numbers = {name: float(given.get(name, 0.0)) for name in _PARAMETERS}
            wrong = [name for name, value in numbers.items() if not (np.isfinite(value) and value >= 0)]
            wrong += ["t_0"] if numbers["t_0"] == 0 else []
            if wrong:
                raise CurveRefused(
                    f"curve.parameters.{wrong[0]}", numbers[wrong[0]], "seconds from 0, of t_0 above 0, are expected"
                )
            terms = Terms(
                **numbers,
                experts=int(given.get("experts", 0)),
                experts_per_token=int(given.get("experts_per_token", 0)),
            )
        elif grids["steps"] is None:
            raise CurveRefused("curve.steps", None, "a curve of form=table states its served steps")
        return cls(file, terms, grids["residual"], grids["steps"], grids["first_token"])

    @property
    def floor(self) -> bool:
        """Composed from kernel times: never a price by itself."""
        return bool(self.file.get("floor"))

    def answer(self, batch: Any, context: Any, outside: Outside = "refuse", token_budget: int | None = None) -> Answer:
        """Step, throughput and first token. Raises CurveRefused outside the measured range, or flags it, and where no step is finite.
        Prompts beyond those measured are flagged either way: whoever asks for steps alone is not refused for them."""
        with np.errstate(over="ignore", invalid="ignore"):
            found = self._answer(batch, context, outside, token_budget)
        for name in ("step", "throughput", "ttft"):
            values = getattr(found, name)
            wrong = np.isinf(values) if name == "ttft" else ~np.isfinite(values)
            if bool(wrong.any()):
                raise CurveRefused(f"curve.{name}", float(values[wrong].flat[0]), "no number of a curve is that large")
        return found

    def _answer(self, batch: Any, context: Any, outside: Outside, token_budget: int | None) -> Answer:
        b, s = np.broadcast_arrays(np.asarray(batch, np.float64), np.asarray(context, np.float64))
        beyond = self._outside("batch", b, outside) | self._outside("context", s, outside)
        if self.terms is None:
            assert self.steps is not None
            beyond = beyond | self._unmeasured(self.steps, b, s, outside)
            step = self.steps.at(b, s)
            first = np.full_like(step, np.nan) if self.first_token is None else self.first_token.at(b, s)
            return Answer(step, b / step, first, beyond, np.zeros_like(beyond))
        zero = np.zeros_like(b)
        step = self.terms.seconds(b, b * s, zero, b)
        if self.residual is not None:
            step = step * self.residual.at(b, s)
        far = ~self._prompts_measured(b, s, token_budget)
        return Answer(step, b / step, self._ttft(self.terms, b, s, token_budget), beyond, far)

    def measured_batches(self, context: float) -> tuple[float, float]:
        """Smallest and largest batch measured; of a table at that context, where no batch was if the first is above the second."""
        if self.terms is None and self.steps is not None:
            low, high = self.steps.batches_at(np.asarray(context, np.float64))
            return float(low), float(high)
        low, high = self.file["domain"]["batch"]
        return float(low), float(high)

    def _unmeasured(self, steps: Grid, b: Floats, s: Floats, outside: Outside) -> np.ndarray:
        """Where no run of so many sequences at such a context was served, though the table has batch and context apart."""
        low, high = steps.batches_at(s)
        hole = (b < low) | (b > high)
        if outside == "refuse" and bool(hole.any()):
            raise CurveRefused(
                "batch", b[hole].tolist(), f"no run had it at context {', '.join(f'{one:g}' for one in s[hole])}"
            )
        return np.asarray(hole)

    def _prompts_measured(self, b: Floats, s: Floats, token_budget: int | None) -> np.ndarray:
        """Which prompts of s tokens are within those measured, in one step or else in chunks, each with what the earlier ones cached; an
        axis that was not swept rules nothing out. Accounting's rule for the prompts that it bills."""
        bounds = (self.file["domain"].get(axis) for axis in ("prefill_new", "prefill_cached"))
        most, found = (np.inf if one is None else float(one[1]) for one in bounds)
        chunk = _chunk(b, s, token_budget)
        chunks = np.ceil(s / chunk)
        return np.asarray((s <= most) | ((np.minimum(s, chunk) <= most) & (s - s / chunks <= found)))

    def _ttft(self, terms: Terms, b: Floats, s: Floats, token_budget: int | None) -> Floats:
        chunk = _chunk(b, s, token_budget)
        chunks = np.ceil(s / chunk)
        zero = np.zeros_like(b)
        beside = terms.seconds(b - 1, (b - 1) * s, zero, b - 1 + np.minimum(s, chunk))
        reread = terms.r * chunk * chunks * (chunks - 1) / 2
        return np.asarray(chunks * beside + terms.prefill(s, zero) + reread)

    def _outside(self, axis: str, values: Floats, outside: Outside) -> np.ndarray:
        if not bool((np.isfinite(values) & (values >= 1)).all()):
            raise CurveRefused(axis, values.tolist(), "numbers from 1 are expected")
        low, high = self.file["domain"][axis]
        beyond = (values < low) | (values > high)
        if outside == "refuse" and bool(beyond.any()):
            raise CurveRefused(axis, values[beyond].tolist(), f"measured from {low:g} to {high:g} only")
        return np.asarray(beyond)


def _chunk(b: Floats, s: Floats, token_budget: int | None) -> Floats:
    """Tokens of a prompt that fit a step beside b - 1 decoding sequences: all of them without a budget."""
    return s if token_budget is None else np.asarray(np.maximum(token_budget - (b - 1), 1.0))


_GRIDS = ("residual", "steps", "first_token")
