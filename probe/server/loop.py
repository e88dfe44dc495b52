"""Who drives the engine while requests come and go? One thread: it takes commands, steps, and hands outputs to their owners."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from typing import Protocol

from probe.engine.errors import ProbeError
from probe.engine.interfaces import FinishReason, RequestOutput, SamplingParams, StepOutput
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
        self._gate = threading.Lock()  # between `alive` and the last look at the commands, so that none is left lying
        self.alive = True

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Ends the thread after the step in work; outputs still missing are not delivered."""
        self._commands.put(None)
        self._thread.join()

    def submit(self, request_id: str, prompt: list[int], params: SamplingParams, deliver: Deliver) -> Future[None]:
        """Asks for a request. The future holds the engine's refusal, if it refuses; `deliver` is called in the engine's thread."""
        admitted: Future[None] = Future()
        arrived = time.monotonic()

        def add() -> None:
            if not self.alive:
                admitted.set_exception(ServerError("the engine has failed; restart the server", status=503))
                return
            try:
                self._engine.add_request(prompt, params, request_id)
            except ProbeError as refused:
                admitted.set_exception(refused)
                return
            self._owners[request_id] = (params.n, deliver)
            self._metrics.arrived(request_id, arrived, params.n)
            admitted.set_result(None)

        self._command(add)
        return admitted

    def abort(self, request_id: str, reason: FinishReason = "abort") -> None:
        """Ends a request whose client has gone ("abort") or has what it asked for ("stop")."""

        def end() -> None:
            if not self.alive or request_id not in self._owners:
                return
            del self._owners[request_id]
            self._engine.abort_request(request_id)
            self._metrics.ended(request_id, reason)
            if not self._engine.has_unfinished:
                self._metrics.idle()

        self._command(end)

    def _command(self, command: Callable[[], None]) -> None:
        with self._gate:
            if self.alive:
                self._commands.put(command)
                return
        command()

    def _run(self) -> None:
        try:
            while self._take_commands():
                if self._engine.has_unfinished:
                    started = time.monotonic()
                    self._deliver(self._engine.step(), started)
        finally:
            # An error of the engine itself ends the thread, and with it every request; nobody is left waiting.
            with self._gate:
                self.alive = False
            while not self._commands.empty():
                if command := self._commands.get():
                    command()
            for request_id, (n, deliver) in list(self._owners.items()):
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
