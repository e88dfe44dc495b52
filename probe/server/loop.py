"""Who drives the engine while requests come and go? One thread: it takes commands, steps, and hands outputs to their owners."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from typing import Protocol

from probe.engine.errors import ProbeError
from probe.engine.interfaces import RequestOutput, SamplingParams, StepOutput
from probe.server.errors import ServerError
from probe.server.metrics import ServerMetrics

Deliver = Callable[[RequestOutput], None]


class EngineLike(Protocol):
    """What the loop needs of the engine."""

    @property
    def has_unfinished(self) -> bool: ...

    def add_request(self, prompt_token_ids: list[int], sampling_params: SamplingParams, request_id: str) -> None: ...

    def abort_request(self, request_id: str) -> None: ...

    def step(self) -> StepOutput: ...


class EngineLoop:
    """The engine's thread. Only it touches the engine.

    Attributes: alive: False once the engine has failed; requests are then refused with 503.
    """

    def __init__(self, engine: EngineLike, metrics: ServerMetrics) -> None:
        self._engine, self._metrics = engine, metrics
        self._commands: queue.Queue[Callable[[], None] | None] = queue.Queue()
        self._owners: dict[str, tuple[int, Deliver]] = {}
        self._thread = threading.Thread(target=self._run, name="engine", daemon=True)
        self.alive = True

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Ends the thread after the step in work; outputs still missing are not delivered."""
        self._commands.put(None)
        self._thread.join()

    def submit(self, request_id: str, prompt: list[int], params: SamplingParams, deliver: Deliver) -> Future[None]:
        """Asks for a request. The future holds the engine's refusal, if it refuses; `deliver` is called in the engine's thread."""
        if not self.alive:
            raise ServerError("the engine has failed; restart the server", status=503)
        admitted: Future[None] = Future()
        arrived = time.monotonic()

        def add() -> None:
            try:
                self._engine.add_request(prompt, params, request_id)
            except ProbeError as refused:
                admitted.set_exception(refused)
                return
            self._owners[request_id] = (params.n, deliver)
            self._metrics.arrived(request_id, arrived)
            admitted.set_result(None)

        self._commands.put(add)
        return admitted

    def abort(self, request_id: str) -> None:
        """Ends a request whose client has gone or has enough."""

        def end() -> None:
            if self._owners.pop(request_id, None):
                self._engine.abort_request(request_id)
                self._metrics.aborted(request_id)

        self._commands.put(end)

    def _run(self) -> None:
        try:
            while self._take_commands():
                if self._engine.has_unfinished:
                    started = time.monotonic()
                    self._deliver(self._engine.step(), started)
        finally:
            # An error of the engine itself ends the thread, and with it every request; nobody is left waiting.
            self.alive = False
            for request_id, (n, deliver) in self._owners.items():
                for index in range(n):
                    deliver(RequestOutput(request_id, (), "error", 0, 0, 0, index, "the engine has failed"))

    def _take_commands(self) -> bool:
        """Runs what is queued; waits for a command where the engine has nothing to do. False: stop."""
        wait = not self._engine.has_unfinished
        while True:
            try:
                command = self._commands.get(block=wait)
            except queue.Empty:
                return True
            if command is None:
                return False
            command()
            wait = False

    def _deliver(self, output: StepOutput, started: float) -> None:
        self._metrics.observe(output, started)
        for one in output.outputs:
            owner = self._owners.get(one.request_id)
            if owner is None:
                continue
            left, deliver = owner
            if one.finish_reason is not None:
                left -= 1
                self._owners[one.request_id] = (left, deliver)
            if left == 0:
                del self._owners[one.request_id]
            deliver(one)
