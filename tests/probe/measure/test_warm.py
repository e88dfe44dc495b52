"""Does the warm-up run every number of tokens, through few layers, and leave the engine as it was?"""

from __future__ import annotations

import pytest

from probe.engine.attention.metadata import BatchMetadata
from probe.engine.models.mlp import Mlp, Moe
from probe.measure.rig import Rig
from probe.measure.warm import one_of_each_kind, warm
from tests.probe.measure.rigs import rig


@pytest.fixture(scope="module")
def mixture(tmp_path_factory: pytest.TempPathFactory) -> Rig:
    """Three layers, of which the middle one routes no experts."""
    return rig(tmp_path_factory.mktemp("model"), "qwen3_moe")


def test_one_layer_of_each_kind_is_left_and_the_first_of_them(mixture: Rig) -> None:
    layers = mixture.engine.runner.model.layers
    kept = one_of_each_kind(layers)
    assert {layers.index(layer) for layer in kept} == {0, 1}
    assert {type(layer.mlp) for layer in kept} == {Moe, Mlp}


def test_steps_of_every_number_of_tokens_and_sequences_run_the_largest_first(
    mixture: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran: list[tuple[int, int, int]] = []  # tokens, sequences, layers
    model = mixture.engine.runner.model
    plain = model.backend.plan

    def plan(batch: BatchMetadata) -> None:
        ran.append((batch.num_tokens, len(batch.num_new), len(model.layers)))
        plain(batch)

    monkeypatch.setattr(model.backend, "plan", plan)
    warm(mixture, tokens=3, batch=2)
    assert list(dict.fromkeys(ran)) == [(3, 1, 2), (2, 1, 2), (1, 1, 2), (2, 2, 2)]
    assert len(model.layers) == 3
    mixture.engine.manager.check()
    assert not mixture.engine.has_unfinished


def test_no_step_is_larger_than_the_engine_lets(mixture: Rig) -> None:
    """The rig's budget is 128 tokens a step: a prompt of 129 would run in two, which a visit refuses."""
    warm(mixture, tokens=129, batch=0)
    assert not mixture.engine.has_unfinished
