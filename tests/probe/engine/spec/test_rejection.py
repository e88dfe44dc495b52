"""Does speculation leave the output distribution as it was? By enumeration on four words, then by counting on batches."""

from __future__ import annotations

import itertools

import pytest

torch = pytest.importorskip("torch", reason="the engine's tests need the extra `probe`")

from probe.engine.errors import ProbeError  # noqa: E402
from probe.engine.spec.rejection import acceptance, inverse_draw, one_hot, replacements, verify  # noqa: E402

V = 4
# Two Markov models on the same four words: row i is the distribution after word i.
TARGET = torch.tensor(
    [[0.1, 0.2, 0.3, 0.4], [0.7, 0.1, 0.1, 0.1], [0.0, 0.5, 0.5, 0.0], [0.25, 0.25, 0.25, 0.25]], dtype=torch.float64
)
DRAFT = torch.tensor(
    [[0.4, 0.3, 0.2, 0.1], [0.1, 0.1, 0.1, 0.7], [0.3, 0.3, 0.2, 0.2], [0.0, 0.0, 0.5, 0.5]], dtype=torch.float64
)
LAST = 0  # the word at which drafting starts


def path_distributions(model: torch.Tensor, words: tuple[int, ...]) -> torch.Tensor:
    """[1, len(words) + 1, V]: the model's distribution at LAST and after each word."""
    return model[[LAST, *words]][None]


def target_law(length: int) -> dict[tuple[int, ...], float]:
    law = {}
    for words in itertools.product(range(V), repeat=length):
        law[words] = 1.0
        for before, word in zip((LAST, *words), words, strict=False):
            law[words] *= float(TARGET[before, word])
    return law


def speculated_law(k: int) -> dict[tuple[int, ...], float]:
    """Probability of each first k + 1 words: every draft, every place of refusal, every replacement; then the target goes on."""
    law = dict.fromkeys(itertools.product(range(V), repeat=k + 1), 0.0)
    for drafted in itertools.product(range(V), repeat=k):
        q = path_distributions(DRAFT, drafted)[:, :k]
        chance = 1.0
        for i, word in enumerate(drafted):
            chance *= float(q[0, i, word])
        if chance == 0.0:
            continue
        p = path_distributions(TARGET, drafted)
        keep = acceptance(p, q, torch.tensor([drafted]).view(1, k))[0]
        after = replacements(p, q)[0]
        for kept in range(k + 1):
            reach = chance * float(keep[:kept].prod()) * (float(1 - keep[kept]) if kept < k else 1.0)
            for word in range(V):
                head = (*drafted[:kept], word)
                for tail in itertools.product(range(V), repeat=k - kept):
                    going_on = 1.0
                    for before, following in zip((word, *tail), tail, strict=False):
                        going_on *= float(TARGET[before, following])
                    law[(*head, *tail)] += reach * float(after[kept, word]) * going_on
    return law


@pytest.mark.parametrize("k", [0, 1, 2, 3])
def test_enumeration_gives_exactly_the_targets_distribution(k: int) -> None:
    want, got = target_law(k + 1), speculated_law(k)
    assert max(abs(got[words] - want[words]) for words in want) < 1e-15


def test_enumeration_tells_a_wrong_replacement_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """The control: drawing the replacement from p instead of the residual must fail the proof above."""
    monkeypatch.setitem(globals(), "replacements", lambda p, q: p)
    want, got = target_law(2), speculated_law(1)
    assert max(abs(got[words] - want[words]) for words in want) > 0.01


def test_a_residual_by_hand() -> None:
    p, q = torch.tensor([[[0.5, 0.3, 0.2], [1.0, 0.0, 0.0]]]), torch.tensor([[[0.2, 0.6, 0.2]]])
    torch.testing.assert_close(replacements(p, q)[0], torch.tensor([[1.0, 0.0, 0.0], [1.0, 0.0, 0.0]]))
    assert acceptance(p, q, torch.tensor([[1]])).item() == pytest.approx(0.5)


def test_a_draft_equal_to_the_target_is_always_kept() -> None:
    p = TARGET[[0, 1, 3, 2]][None].expand(64, -1, -1)
    draft = torch.tensor([[1, 3, 2]]).expand(64, -1)
    uniforms = torch.rand(64, 4, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    uniforms[0, :] = 1 - 2.0**-53
    verified = verify(p, p[:, :3], draft, uniforms)
    assert verified.num_accepted.tolist() == [3] * 64
    assert torch.equal(verified.token_ids[:, :3], draft)


def test_a_sure_and_wrong_draft_leaves_the_residual_of_the_target() -> None:
    """q on word 2, to which the target gives 0.3: refused with 0.7, replaced from (0.1, 0.2, 0, 0.4) / 0.7."""
    p, q = TARGET[[0, 2]][None], one_hot(torch.tensor([[2]]), V)
    assert acceptance(p, q, torch.tensor([[2]])).item() == pytest.approx(0.3)
    want = torch.tensor([1 / 7, 2 / 7, 0.0, 4 / 7], dtype=torch.float64)
    torch.testing.assert_close(replacements(p, q)[0, 0], want)


def test_tokens_after_a_refusal_are_not_emitted() -> None:
    p, q = TARGET[[0, 2, 1]][None], one_hot(torch.tensor([[2, 1]]), V)
    verified = verify(p, q, torch.tensor([[2, 1]]), torch.tensor([[0.31, 0.0, 0.0]]))
    assert verified.num_accepted.tolist() == [0]
    assert verified.token_ids.tolist() == [[0, -1, -1]]


@pytest.mark.parametrize(("u", "kept"), [(0.3 - 1e-12, 1), (0.3, 0)])
def test_a_draft_is_kept_below_its_acceptance_and_refused_from_it_on(u: float, kept: int) -> None:
    p, q = TARGET[[0, 2]][None], one_hot(torch.tensor([[2]]), V)
    uniforms = torch.tensor([[u, 0.0]], dtype=torch.float64)
    assert verify(p, q, torch.tensor([[2]]), uniforms).num_accepted.tolist() == [kept]


def test_without_drafts_a_token_is_drawn_from_the_target() -> None:
    verified = verify(
        TARGET[[0]][None], torch.zeros(1, 0, V), torch.zeros(1, 0, dtype=torch.long), torch.tensor([[0.35]])
    )
    assert verified.token_ids.tolist() == [[2]]  # 0.1 + 0.2 <= 0.35 < 0.6


@pytest.mark.parametrize(("u", "word"), [(0.0, 1), (0.49, 1), (0.5, 2), (1 - 2.0**-53, 2)])
def test_a_word_without_probability_is_never_drawn(u: float, word: int) -> None:
    assert inverse_draw(TARGET[[2]], torch.tensor([u], dtype=torch.float64)).item() == word


def test_a_draft_its_own_proposer_could_not_draw_is_refused() -> None:
    with pytest.raises(ProbeError, match="draft 0 of sequence 0: token 1 has probability 0"):
        acceptance(TARGET[[3, 1]][None], DRAFT[[3]][None], torch.tensor([[1]]))


def chi_square(counts: torch.Tensor, law: torch.Tensor) -> float:
    possible = law > 0
    assert int(counts[~possible].sum()) == 0
    expected = law[possible] * counts.sum()
    return float(((counts[possible] - expected) ** 2 / expected).sum())


def emitted_pairs(rows: int, seed: int) -> torch.Tensor:
    """Counts [V * V] of the first two words of `rows` sequences, verified as one batch with k = 2."""
    g = torch.Generator().manual_seed(seed)
    first = torch.multinomial(DRAFT[LAST], rows, replacement=True, generator=g)
    second = torch.multinomial(DRAFT[first], 1, generator=g)[:, 0]
    p = torch.stack([TARGET[[LAST]].expand(rows, -1), TARGET[first], TARGET[second]], dim=1)
    q = torch.stack([DRAFT[[LAST]].expand(rows, -1), DRAFT[first]], dim=1)
    uniforms = torch.rand(rows, 3, generator=g, dtype=torch.float64)
    out = verify(p, q, torch.stack([first, second], dim=1), uniforms).token_ids
    following = torch.multinomial(TARGET[out[:, 0]], 1, generator=g)[:, 0]
    second_word = torch.where(out[:, 1] >= 0, out[:, 1], following)
    return torch.bincount(out[:, 0] * V + second_word, minlength=V * V)


def test_the_batched_path_draws_pairs_of_the_target() -> None:
    law = torch.tensor([target_law(2)[pair] for pair in itertools.product(range(V), repeat=2)], dtype=torch.float64)
    # 14 of the 16 pairs are possible: 13 degrees of freedom, at which the 0.999 quantile of chi-square is 34.5.
    assert int((law > 0).sum()) == 14
    assert chi_square(emitted_pairs(200_000, seed=1), law) < 34.5


def test_the_chi_square_tells_another_distribution_apart() -> None:
    other = torch.full((V * V,), 1 / 16, dtype=torch.float64)
    assert chi_square(emitted_pairs(200_000, seed=1), other) > 1000
