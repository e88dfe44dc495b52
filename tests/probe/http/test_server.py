"""Is each kind of server recognised by what it says of itself, and are its counters read?"""

from __future__ import annotations

from typing import Any

import pytest

from probe.http.errors import HttpProbeFailed
from probe.http.server import Server, cache_hits, identify, round_trip
from tests.probe.http.stub import asked


def models(owner: str, **more: Any) -> dict[str, Any]:
    return {"object": "list", "data": [{"id": "m", "object": "model", "owned_by": owner, **more}]}


@pytest.mark.parametrize(("bodies", "found"), [
    ({"/v1/models": models("vllm", max_model_len=4096), "/version": {"version": "0.32.0"}},
     Server("vllm", "m", "0.32.0", 4096)),
    ({"/v1/models": models("sglang", max_model_len=8192), "/get_server_info": {"version": "0.5.4"}},
     Server("sglang", "m", "0.5.4", 8192)),
    ({"/v1/models": models("tokencogs", max_model_len=64), "/openapi.json": {"info": {"version": "0.1.0"}}},
     Server("tokencogs", "m", "0.1.0", 64)),
    ({"/v1/models": models("llamacpp", meta={"n_ctx_train": 2048}), "/props": {"build_info": "b6500-abc"}},
     Server("llama.cpp", "m", "b6500-abc", 2048)),
    ({"/v1/models": models("tokencogs", max_model_len=96)}, Server("tokencogs", "m", None, 96)),
    ({"/v1/models": models("me")}, Server("llama-cpp-python", "m", None, None)),
    ({"/info": {"model_id": "m", "version": "3.3.4"}}, Server("tgi", "m", "3.3.4", None)),
    ({"/v1/models": models("m"), "/info": {"model_id": "m", "version": "3.3.4"}}, Server("tgi", "m", "3.3.4", None)),
    ({"/v1/models": models("somebody")}, Server("openai", "m", None, None)),
])  # fmt: skip
def test_a_server_is_recognised(bodies: dict[str, Any], found: Server) -> None:
    assert asked(bodies, identify) == found


def test_what_was_said_stands_above_what_was_recognised() -> None:
    said = asked({"/v1/models": models("somebody")}, lambda client: identify(client, "vllm", "other"))
    assert (said.dialect, said.model) == ("vllm", "other")


def test_a_model_that_is_not_listed_leaves_the_server_recognised() -> None:
    """It may be an alias; how long its contexts may be is not known then."""
    bodies = {"/v1/models": models("vllm", max_model_len=4096), "/version": {"version": "0.32.0"}}
    found = asked(bodies, lambda client: identify(client, model="other"))
    assert found == Server("vllm", "other", "0.32.0", None)


def test_who_says_nothing_is_refused_with_the_option_that_settles_it() -> None:
    with pytest.raises(HttpProbeFailed, match="give --server"):
        asked({}, identify)
    with pytest.raises(HttpProbeFailed, match="give --model"):
        asked({}, lambda client: identify(client, "vllm"))


def test_cache_hits_are_summed_over_engines_and_unknown_without_counters() -> None:
    text = (
        '# TYPE vllm:prefix_cache_hits_total counter\nvllm:prefix_cache_hits_total{engine="0"} 384.0\n'
        'vllm:prefix_cache_hits_total{engine="1"} 1e+02\nvllm:prefix_cache_queries_total{engine="0"} 900.0\n'
    )
    assert asked({"/metrics": text}, cache_hits) == 484
    assert asked({"/metrics": "other_total 5\n"}, cache_hits) is None
    assert asked({}, cache_hits) is None


def test_a_round_trip_takes_some_time() -> None:
    assert 0 < asked({"/health": ""}, round_trip) < 5
