"""What is proposed, what is drawn, and how many tokens is a step expected to give?"""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch", reason="the engine's tests need the extra `probe`")

from probe.engine.interfaces import Draft, SamplingParams  # noqa: E402
from probe.engine.kv.sequence import Sequence  # noqa: E402
from probe.engine.spec.acceptance import expected_tokens_per_step  # noqa: E402
from probe.engine.spec.ngram import NgramProposer  # noqa: E402
from probe.engine.spec.sampler import SpeculativeSampler, probabilities  # noqa: E402
from probe.engine.spec.synthetic import RandomProposer, SyntheticAcceptance  # noqa: E402

LOGITS = torch.log(torch.tensor([[0.1, 0.2, 0.3, 0.4]], dtype=torch.float64))


@pytest.mark.parametrize(
    ("tokens", "proposed"),
    [
        ([1, 2, 3, 9, 1, 2, 3], (9, 1, 2)),  # the last three stood before; what followed them
        ([5, 3, 7, 7, 8, 3], (7, 7, 8)),  # only the last one did
        ([4, 1, 4, 2, 4], (2, 4)),  # the latest of two occurrences, and no more than there is
        ([1, 2, 3], ()),
        ([1], ()),
    ],
)
def test_ngrams_propose_what_followed_before(tokens: list[int], proposed: tuple[int, ...]) -> None:
    assert NgramProposer(k=3).propose([Sequence("a", tokens)]) == [Draft(proposed)]


def test_k_can_be_changed_between_steps() -> None:
    proposer = NgramProposer(k=1)
    assert proposer.after([1, 2, 3, 1]) == (2,)
    proposer.k = 0
    assert proposer.after([1, 2, 3, 1]) == ()


@pytest.mark.parametrize(
    ("params", "want"),
    [
        (SamplingParams(), [0.1, 0.2, 0.3, 0.4]),
        (SamplingParams(temperature=0.0), [0, 0, 0, 1]),
        (SamplingParams(temperature=0.5), [1 / 30, 4 / 30, 9 / 30, 16 / 30]),
        (SamplingParams(top_k=2), [0, 0, 3 / 7, 4 / 7]),
        (SamplingParams(top_p=0.39), [0, 0, 0, 1]),
        (SamplingParams(top_p=0.5), [0, 0, 3 / 7, 4 / 7]),
        (SamplingParams(top_k=3, top_p=0.7), [0, 0, 3 / 7, 4 / 7]),
    ],
)
def test_probabilities_by_hand(params: SamplingParams, want: list[float]) -> None:
    torch.testing.assert_close(probabilities(LOGITS, params)[0], torch.tensor(want, dtype=torch.float64))


def test_top_p_ends_with_the_token_that_reaches_it() -> None:
    """Of four alike, two reach one half exactly."""
    assert probabilities(torch.zeros(1, 4), SamplingParams(top_p=0.5)).tolist() == [[0.5, 0.5, 0.0, 0.0]]


@pytest.mark.parametrize("temperature", [1e-9, 1e-310])
def test_a_temperature_near_zero_draws_the_likeliest(temperature: float) -> None:
    logits = torch.tensor([[-3.0, 5.0, 4.9]])
    assert probabilities(logits, SamplingParams(temperature=temperature)).tolist() == [[0.0, 1.0, 0.0]]


def greedy(tokens: list[int]) -> Sequence:
    return Sequence("a", tokens, SamplingParams(temperature=0.0))


def test_greedy_keeps_drafts_up_to_the_first_that_differs() -> None:
    logits = torch.nn.functional.one_hot(torch.tensor([2, 0, 3]), 4).float()
    assert SpeculativeSampler()(logits, greedy([1]), Draft((2, 1))) == [2, 0]
    assert SpeculativeSampler()(logits, greedy([1]), Draft((2, 0))) == [2, 0, 3]
    assert SpeculativeSampler()(logits[:1], greedy([1]), None) == [2]


def test_a_request_draws_the_same_whatever_else_is_served() -> None:
    def draws(sampler: SpeculativeSampler) -> list[int]:
        return [sampler(LOGITS, Sequence("a", [0] * n, SamplingParams(seed=7)), None)[0] for n in range(1, 40)]

    busy = SpeculativeSampler(seed=5)
    busy(LOGITS, Sequence("b", [0]), None)
    assert draws(busy) == draws(SpeculativeSampler(seed=6))
    assert len(set(draws(busy))) > 1


def test_requests_without_a_seed_differ() -> None:
    sampler = SpeculativeSampler()
    drawn = {sampler.uniforms(Sequence(name, [0]), 1)[0] for name in "abcdef"}
    assert len(drawn) == 6


@pytest.mark.parametrize(("alpha", "k", "tokens"), [(0.0, 4, 1.0), (1.0, 4, 5.0), (0.5, 2, 1.75), (0.7, 0, 1.0)])
def test_expected_tokens_a_step(alpha: float, k: int, tokens: float) -> None:
    assert expected_tokens_per_step(alpha, k) == pytest.approx(tokens)


def test_synthetic_acceptance_keeps_at_the_stated_rates() -> None:
    draws = iter([0.79, 0.51, 0.1, 0.1, 0.1, 0.81])
    sampler = SyntheticAcceptance([0.8, 0.5], SpeculativeSampler(), lambda: next(draws))
    logits = torch.nn.functional.one_hot(torch.tensor([3, 3, 2, 1]), 4).float()
    assert sampler(logits, greedy([1]), Draft((0, 0, 0))) == [0, 3]  # kept, refused; the target's token at position 1
    assert sampler(logits, greedy([1]), Draft((0, 0, 0))) == [0, 0, 0, 1]  # position 2 takes the last rate
    assert sampler(logits, greedy([1]), Draft((0, 0, 0))) == [3]
    assert sampler(logits[:1], greedy([1]), None) == [3]


def test_synthetic_acceptance_reaches_the_expected_length() -> None:
    sampler = SyntheticAcceptance([0.6], SpeculativeSampler())
    logits, draft = torch.zeros(4, 2), Draft((0, 0, 0))
    mean = sum(len(sampler(logits, greedy([1]), draft)) for _ in range(4000)) / 4000
    assert mean == pytest.approx(expected_tokens_per_step(0.6, 3), abs=0.06)  # 2.176, standard error 0.019


def test_a_random_proposer_proposes_k_known_words() -> None:
    (draft,) = RandomProposer(3, vocabulary=5).propose([greedy([1])])
    assert len(draft.token_ids) == 3
    assert all(0 <= token < 5 for token in draft.token_ids)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: NgramProposer(k=-1), "k: -1 is negative"),
        (lambda: NgramProposer(min_n=0), "min_n, max_n: 0, 3"),
        (lambda: SyntheticAcceptance([1.2], SpeculativeSampler()), r"rates: 1.2 is not in \[0, 1\]"),
        (lambda: SyntheticAcceptance([], SpeculativeSampler()), "rates: at least one"),
    ],
)
def test_impossible_settings_are_named(make: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()  # type: ignore[operator]
