"""Is nobody left waiting when the engine fails, and is nothing made for what it refuses?"""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import Future

import pytest

from probe.engine.errors import RequestRefused
from probe.engine.interfaces import RequestOutput, SamplingParams, StepOutput
from probe.server.app import Generation
from probe.server.errors import ServerError
from probe.server.loop import EngineLoop
from probe.server.metrics import ServerMetrics
from probe.server.requests import Asked


class Failing:
    """An engine whose step takes until it is told to fail."""

    def __init__(self) -> None:
        self.has_unfinished = False
        self.stepping, self.fail = threading.Event(), threading.Event()

    def add_request(self, prompt_token_ids: list[int], sampling_params: SamplingParams, request_id: str) -> None:
        self.has_unfinished = True

    def abort_request(self, request_id: str) -> None:
        raise AssertionError("a failed engine is not asked again")

    def step(self) -> StepOutput:
        self.stepping.set()
        self.fail.wait(10)
        raise RuntimeError("a bug")


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_request_asked_for_in_the_step_that_fails_is_refused_like_one_after_it() -> None:
    engine, got = Failing(), list[RequestOutput]()
    loop = EngineLoop(engine, ServerMetrics("m"))
    loop.start()
    loop.submit("a", [1], SamplingParams(n=2), got.append).result(10)
    assert engine.stepping.wait(10)
    during = loop.submit("b", [1], SamplingParams(), got.append)
    loop.abort("b")
    engine.fail.set()
    with pytest.raises(ServerError, match="the engine has failed; restart the server") as refused:
        during.result(10)
    assert refused.value.status == 503
    loop.stop()
    after = loop.submit("c", [1], SamplingParams(), got.append)
    assert isinstance(after.exception(10), ServerError)
    assert [(one.request_id, one.index, one.finish_reason) for one in got] == [("a", 0, "error"), ("a", 1, "error")]
    assert not loop.alive


def test_outputs_have_no_places_before_the_engine_has_taken_the_request() -> None:
    """A body may ask for any number of outputs; a place for each of them before the refusal would be memory for the asking."""

    class Refusing(EngineLoop):
        def submit(self, *asked: object) -> Future[None]:
            refused: Future[None] = Future()
            refused.set_exception(RequestRefused("a", "n", 3, "more outputs than may run at once"))
            return refused

    loop = Refusing(Failing(), ServerMetrics("m"))
    one = Generation(loop, Asked([[1]], SamplingParams(n=3), (), False, False, False, True), None, "a")
    with pytest.raises(ServerError, match="n = 3"):
        asyncio.run(one.admit())
    assert one.choices == []
