"""A load of native events that remembers what was acknowledged, bounded in count and time."""

from __future__ import annotations

import json
import random
import threading
import time
import uuid
from dataclasses import dataclass, field

import httpx


@dataclass
class Load:
    """Threads that send batches until stopped.

    Attributes:
        acknowledged: event ids of batches answered with 200.
        in_flight: batches sent and not answered yet.
        statuses: every status seen that is not 200.
    """

    url: str
    key: str
    batch: int = 300
    threads: int = 4
    most_batches: int = 4_000
    retry: bool = True
    acknowledged: list[str] = field(default_factory=list)
    statuses: list[int] = field(default_factory=list)
    unanswered: int = 0
    in_flight: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _stop: threading.Event = field(default_factory=threading.Event)
    _workers: list[threading.Thread] = field(default_factory=list)

    def start(self) -> None:
        """Starts the senders."""
        self._stop.clear()
        self._workers = [
            threading.Thread(target=self._send, args=(number,), daemon=True) for number in range(self.threads)
        ]
        for worker in self._workers:
            worker.start()

    def stop(self) -> None:
        """Lets each sender finish the batch in hand, then ends it."""
        self._stop.set()
        for worker in self._workers:
            worker.join(60)

    def _send(self, seed: int) -> None:
        dice = random.Random(seed + time.time_ns())
        with httpx.Client(timeout=30) as client:
            while not self._stop.is_set() and len(self.acknowledged) < self.most_batches * self.batch:
                self._deliver(client, *_batch(dice, self.batch))

    def _deliver(self, client: httpx.Client, ids: list[str], body: bytes) -> None:
        for _ in range(200):
            with self._lock:
                self.in_flight += 1
            try:
                answer = client.post(
                    f"{self.url}/v1/usage/events",
                    content=body,
                    headers={"authorization": f"Bearer {self.key}", "content-type": "application/json"},
                )
            except httpx.TransportError:
                with self._lock:
                    self.unanswered += 1
            else:
                if answer.status_code == 200:
                    counted = answer.json()
                    assert counted["accepted"] + counted["duplicates"] == len(ids), counted
                    with self._lock:
                        self.acknowledged.extend(ids)
                    return
                with self._lock:
                    self.statuses.append(answer.status_code)
            finally:
                with self._lock:
                    self.in_flight -= 1
            if self._stop.is_set() or not self.retry:
                return
            time.sleep(0.1)


def _batch(dice: random.Random, size: int) -> tuple[list[str], bytes]:
    """Events of the last two days by unsorted users; ids are unique."""
    ids = [uuid.uuid4().hex for _ in range(size)]
    events = [
        {
            "event_id": one,
            "occurred_at": f"2026-07-{dice.randint(1, 2):02}T{dice.randint(0, 23):02}:{dice.randint(0, 59):02}:00Z",
            "provider": "openai",
            "model": dice.choice(["o3", "gpt-5.4", "gpt-5.6-luna"]),
            "status": "ok",
            "user_id": f"user-{dice.randint(0, 500)}",
            "usage": {"input_tokens": dice.randint(1, 9_000), "output_tokens": dice.randint(0, 900)},
        }
        for one in ids
    ]
    return ids, json.dumps(events).encode()
