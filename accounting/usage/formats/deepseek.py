"""What does a DeepSeek body charge for? Cache hits and misses, which make up the prompt; a second count of the hits is only compared."""

from __future__ import annotations

from collections.abc import Sequence

from accounting.usage.formats import marks
from accounting.usage.formats.answer import Answer, keys
from accounting.usage.formats.chat import CACHED, chat_answer, chat_tokens, stated_cached
from accounting.usage.formats.counts import check_sum, count, optional_count
from accounting.usage.formats.tokens import Tokens
from accounting.usage.wire import Body, Call, Context, Finding

NAME = "deepseek"
IDENTITY = (
    "prompt_tokens = prompt_cache_hit_tokens + prompt_cache_miss_tokens; total_tokens = prompt_tokens + completion_tokens; "
    "completion_tokens_details.reasoning_tokens <= completion_tokens; prompt_tokens_details.cached_tokens repeats the hits"
)
KEYS = keys((marks.CHAT,), "deepseek")
HIT, MISS = "prompt_cache_hit_tokens", "prompt_cache_miss_tokens"


def recognises(body: Body) -> bool:
    """A chat completion with counts of cache hits and misses."""
    return marks.shape(body) == marks.CHAT and marks.vendor(body) == NAME


def read(body: Body | Sequence[Body], context: Context) -> list[Call]:
    """One call. Without any count of cache reads they are unknown. Raises UsageContradiction where an identity does not hold."""
    given = chat_answer(body)
    return [given.call(context, NAME, marks.CHAT, lambda: _tokens(given))]


def _tokens(given: Answer) -> Tokens:
    hits = optional_count(given.usage or {}, HIT, given.evidence)
    repeated = stated_cached(given, absent=None)
    if hits is None:
        return chat_tokens(given, repeated)
    _check_prompt(given, hits)
    tokens = chat_tokens(given, hits, cached_name=HIT)
    if repeated not in (None, hits):
        tokens.findings.append(Finding("sources_disagree", f"{HIT} {hits} <> {CACHED} {repeated}; the hits add up"))
    return tokens


def _check_prompt(given: Answer, hits: int) -> None:
    usage = given.usage or {}
    misses = count(usage, MISS, given.evidence)
    prompt = ("prompt_tokens", count(usage, "prompt_tokens", given.evidence))
    check_sum(prompt, {HIT: hits, MISS: misses}, given.evidence)
