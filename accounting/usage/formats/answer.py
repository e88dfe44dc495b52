"""What does a body of the OpenAI family say beside its counts: which call, which model, which tier, and where is its usage?"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from accounting.usage.formats.contradicted import ContradictedCall
from accounting.usage.formats.counts import LIMIT, check_parts, value_at
from accounting.usage.formats.evidence import allow, shown
from accounting.usage.formats.fields import first_text, merged, seconds, text
from accounting.usage.formats.tokens import Tokens
from accounting.usage.native import Status
from accounting.usage.wire import Body, Call, Context, UsageContradiction

WORDS = frozenset({"code", "id", "model", "object", "service_tier", "status", "type"})
"""Keys of the family whose short words are evidence (an id is never among the keys copied)."""

TIER_AS_REQUESTED = frozenset({"openai_codex"})
"""Providers whose body says `default` whatever was served: the tier asked for counts."""

_COPIED = ("object", "type", "status", "model", "created", "created_at", "service_tier")
_SIGNS = frozenset({"choices", "data", "error", "object", "output", "status"})
_STATUS: Mapping[str, Status] = {
    "completed": "ok",
    "incomplete": "ok",
    "succeeded": "ok",
    "failed": "error",
    "cancelled": "cancelled",
}


def keys(surfaces: Iterable[str], *providers: str) -> tuple[tuple[str, str], ...]:
    """Every (provider, surface) of the two lists."""
    return tuple((provider, surface) for surface in surfaces for provider in providers)


@dataclass(frozen=True)
class Answer:
    """One response object, streamed ones put together.

    Attributes:
        body: the whole object. usage: its usage, None where it states none.
        evidence: its usage part, by allow-list; the same rule reads it again to the same counts.
    """

    body: Body
    usage: Mapping[str, Any] | None
    evidence: dict[str, Any]

    def call(
        self,
        context: Context,
        provider: str,
        surface: str,
        count: Callable[[], Tokens],
        *,
        named: tuple[str | None, str | None] | None = None,
        part: str = "",
    ) -> Call:
        """The call of this answer, without usage where the body has none.

        Args:
            provider: who serves it where the context does not say. count: reads the usage.
            named: (model, response model) where it is not the rule that the body names the model served.

        Raises ContradictedCall where counting raises.
        """
        provider, surface = context.provider or provider, context.surface or surface
        if self.usage is None:
            return self._call(context, provider, surface, named, part, None)
        try:
            tokens = count()
            for name in ("input_tokens", "output_tokens"):
                total = {name: getattr(tokens.usage, name)}
                check_parts(("the largest count", LIMIT), total, self.evidence, reason="count_out_of_range")
        except UsageContradiction as contradiction:
            bare = self._call(context, provider, surface, named, part, None)
            raise ContradictedCall(contradiction, bare) from contradiction
        return self._call(context, provider, surface, named, part, tokens)

    def _call(
        self,
        context: Context,
        provider: str,
        surface: str,
        named: tuple[str | None, str | None] | None,
        part: str,
        tokens: Tokens | None,
    ) -> Call:
        body, evidence = self.body, self.evidence
        stated = text(body, "model", evidence)
        model, response_model = named or (context.model or stated, stated if context.model else None)
        tier = first_text(body, "service_tier", "usage.service_tier", evidence=evidence)
        return Call(
            usage=tokens.usage if tokens else None,
            usage_body=evidence,
            provider=provider,
            surface=surface,
            model=model,
            response_model=response_model,
            response_id=text(body, "id", evidence),
            part=part,
            service_tier=(context.requested_service_tier or tier) if provider in TIER_AS_REQUESTED else tier,
            batch=context.batch,
            status=self.status(),
            occurred_at=seconds(body, "created") or seconds(body, "created_at"),
            completed_at=seconds(body, "completed_at"),
            user_id=text(body, "user", evidence),
            reasoning_effort=text(body, "reasoning.effort", evidence),
            reported_cost_usd=tokens.reported_cost_usd if tokens else None,
            unclassified_tokens=tokens.unclassified if tokens else 0,
            findings=tuple(tokens.findings) if tokens else (),
        )

    def status(self) -> Status | None:
        """How the call ended, None where the body does not say."""
        if self.usage is None and isinstance(self.body.get("error"), Mapping):
            return "error"
        stated = self.body.get("status")
        return _STATUS.get(stated) if isinstance(stated, str) else None


def answer(body: Body | Sequence[Body], usage_at: Sequence[str] = ("usage",), also: Sequence[str] = ()) -> Answer:
    """Puts one response together, from its object or from its streamed chunks.

    Args:
        usage_at: dotted paths where a body may hold its usage, the first stated one counts. An empty object is no usage.
        also: further top-level keys of the body to be kept as evidence.

    Raises UsageContradiction: `not_an_object`; `mixed_responses` where chunks carry different ids; `unknown_format` for a body
    that has neither usage nor any other sign of a response.
    """
    whole = dict(body) if isinstance(body, Mapping) else _together(body)
    usage = next((found for found in (value_at(whole, path) for path in usage_at) if found is not None), None)
    kept = {key: whole[key] for key in (*_COPIED, *also) if key in whole}
    if isinstance(whole.get("error"), Mapping):
        kept["error"] = {key: whole["error"].get(key) for key in ("code", "type")}
    if usage is not None and not isinstance(usage, Mapping):
        raise UsageContradiction("not_an_object", f"usage is {shown(usage)}", allow(kept, WORDS))
    if usage:
        kept["usage"] = usage
    elif _SIGNS.isdisjoint(whole):
        raise UsageContradiction(
            "unknown_format", "neither usage nor any of " + ", ".join(sorted(_SIGNS)), allow(kept, WORDS)
        )
    return Answer(whole, usage or None, allow(kept, WORDS))


def _together(chunks: Sequence[Body]) -> dict[str, Any]:
    for place, chunk in enumerate(chunks):
        if not isinstance(chunk, Mapping):
            raise UsageContradiction("not_an_object", f"chunk {place} is {shown(chunk)}", {})
    ids = {chunk["id"] for chunk in chunks if isinstance(chunk.get("id"), str) and chunk["id"]}
    if len(ids) > 1:
        raise UsageContradiction("mixed_responses", f"{len(chunks)} chunks carry {len(ids)} different ids", {})
    return merged({key: value for key, value in chunk.items() if value != ""} for chunk in chunks)


def details(usage: Mapping[str, Any], path: str, evidence: Mapping[str, Any]) -> Mapping[str, Any]:
    """The object of details at a dotted path, empty where it is absent or null. Raises UsageContradiction `not_an_object`."""
    found = value_at(usage, path)
    if found is None:
        return {}
    if not isinstance(found, Mapping):
        raise UsageContradiction("not_an_object", f"{path} is {shown(found)}", evidence)
    return found
