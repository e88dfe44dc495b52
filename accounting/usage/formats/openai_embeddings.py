"""What does an embeddings body charge for? Its prompt tokens, and nothing else."""

from __future__ import annotations

from collections.abc import Sequence

from accounting.usage.formats import marks
from accounting.usage.formats.answer import Answer, answer, keys
from accounting.usage.formats.counts import check_sum, count, optional_count
from accounting.usage.formats.tokens import Tokens
from accounting.usage.native import NativeUsage
from accounting.usage.wire import Body, Call, Context

NAME = "openai_embeddings"
IDENTITY = "total_tokens = prompt_tokens"
KEYS = keys((marks.EMBEDDINGS,), "openai", "mistral", "together", "fireworks")


def recognises(body: Body) -> bool:
    """A usage with prompt tokens and no completion tokens, in a body without choices."""
    return marks.shape(body) == marks.EMBEDDINGS


def read(body: Body | Sequence[Body], context: Context) -> list[Call]:
    """One call. Raises UsageContradiction where the identity does not hold."""
    return read_as(body, context, "openai")


def read_as(body: Body | Sequence[Body], context: Context, provider: str) -> list[Call]:
    """The same for a provider that serves this shape. A completion count, where one is stated, counts as output."""
    given = answer(body)
    return [given.call(context, provider, marks.EMBEDDINGS, lambda: _tokens(given))]


def _tokens(given: Answer) -> Tokens:
    usage, evidence = given.usage or {}, given.evidence
    prompt = count(usage, "prompt_tokens", evidence)
    completion = optional_count(usage, "completion_tokens", evidence)
    identity = {"prompt_tokens": prompt} | ({} if completion is None else {"completion_tokens": completion})
    check_sum(("total_tokens", optional_count(usage, "total_tokens", evidence)), identity, evidence)
    return Tokens(NativeUsage(input_tokens=prompt, output_tokens=completion or 0))
