"""What would a replica do, step by step, that obeys a curve exactly? The truth that attribution from a log is held to.

It shares no code with `accounting.selfhosted`: formulas are written out here once more, over single requests in plain Python.
Continuous batching: every step holds all decoding requests, prompts take the rest of the token budget in order of arrival, in chunks;
a prompt is admitted when the batch has a place and the KV cache has room for it; when decoding outgrows the cache the youngest is
preempted and computes its context again.
"""

from __future__ import annotations

import random
from collections import deque
from dataclasses import dataclass, field

H200_8B = {"t_0": 4.93e-3, "a": 9e-6, "c": 3.4e-8, "d": 1.97e-5, "f": 1.3e-9, "r": 3.4e-8}


@dataclass
class Job:
    """One request. `context` tokens of prompt, of which `cached` are found; `shared` tokens it holds together with others."""

    number: int
    arrival: float
    context: int
    cached: int
    output: int
    shared: int = 0
    replica: int = 0
    past: int = 0
    todo: int = 0
    given: int = 0
    first: float = -1.0
    end: float = -1.0
    equal: float = 0.0
    switch: float = 0.0
    rework: float = 0.0
    again: bool = False
    preemptions: int = 0


@dataclass
class Step:
    """One step: when, how long, whether memory kept a waiting request out, and (job, new, past, prompt, held) of each request."""

    start: float
    seconds: float
    blocked: bool
    parts: list[tuple[int, int, int, bool, int]]


@dataclass
class Replica:
    """Its settings and what it did. `reserve`: a prompt is admitted when its peak fits beside the peaks of the others: no preemption."""

    curve: dict[str, float]
    budget: int = 2_048
    max_batch: int = 128
    capacity: int = 10**9
    reserve: bool = False
    host: float = 0.0
    steps: list[Step] = field(default_factory=list)

    def run(self, jobs: list[Job]) -> float:
        """Serves all jobs (in order of arrival); returns when the last one ended."""
        queue, waiting, running = deque(jobs), deque[Job](), list[Job]()
        now = 0.0
        while queue or waiting or running:
            while queue and queue[0].arrival <= now:
                waiting.append(queue.popleft())
            if not waiting and not running:
                now = queue[0].arrival
                continue
            now = self._step(now, waiting, running)
        return now

    def _step(self, now: float, waiting: deque[Job], running: list[Job]) -> float:
        while sum(self._held(job) + (job.todo == 0) for job in running) > self.capacity and len(running) > 1:
            self._preempt(running.pop(), waiting)
        decoding = [job for job in running if job.todo == 0]
        left = self.budget - len(decoding)
        prompts: list[tuple[Job, int]] = []
        for job in running:
            if job.todo and left:
                prompts.append((job, min(job.todo, left)))
                left -= prompts[-1][1]
        blocked = False
        while waiting and left and len(running) < self.max_batch:
            if running and self._wanted([*running, waiting[0]]) > self.capacity:
                blocked = True
                break
            job = waiting.popleft()
            running.append(job)
            job.past = 0 if job.again else job.cached
            job.todo = job.context + (job.given if job.again else 0) - job.past
            prompts.append((job, min(job.todo, left)))
            left -= prompts[-1][1]
        return self._compute(now, decoding, prompts, blocked, running)

    def _compute(
        self, now: float, decoding: list[Job], prompts: list[tuple[Job, int]], blocked: bool, running: list[Job]
    ) -> float:
        p = self.curve
        own = {job.number: p["a"] + p["c"] * (job.past + 1) for job in decoding}
        for job, new in prompts:
            own[job.number] = p["d"] * new + p["f"] * new * (job.past + new / 2) + p["r"] * job.past
        present = decoding + [job for job, _ in prompts]
        held = {job.number: self._held(job) for job in present}
        total, alive = sum(held.values()), len(present)
        tokens = dict.fromkeys(own, 1) | {job.number: new for job, new in prompts}
        experts = 0.0
        if p.get("e"):
            in_step = sum(tokens.values())
            experts = p["e"] * p["E"] * (1 - (1 - p["k"] / p["E"]) ** in_step) / in_step
        seconds = p["t_0"] + sum(own.values()) + experts * sum(tokens.values())
        prompt = {job.number for job, _ in prompts}
        parts = [(job.number, tokens[job.number], job.past, job.number in prompt, held[job.number]) for job in present]
        self.steps.append(Step(now, seconds, blocked, parts))
        for job in present:
            mine = own[job.number] + experts * tokens[job.number]
            if job.again:
                job.rework += mine + p["t_0"] / alive
                continue
            job.equal += mine + p["t_0"] / alive
            job.switch += mine + p["t_0"] * (held[job.number] / total if blocked else 1 / alive)
        now += seconds + self.host
        for job in decoding:
            job.past += 1
            self._token(job, now)
        for job, new in prompts:
            job.past += new
            job.todo -= new
            if job.todo == 0:
                job.again = False
                self._token(job, now)
        running[:] = [job for job in running if job.end < 0]
        return now

    def _wanted(self, jobs: list[Job]) -> int:
        """Tokens they need: at their peaks, or now and one step on."""
        if self.reserve:
            return sum(job.context + job.output - job.shared for job in jobs)
        return sum(job.past + (job.todo or 1) - job.shared for job in jobs[:-1]) + jobs[-1].context - jobs[-1].shared

    @staticmethod
    def _token(job: Job, now: float) -> None:
        job.given += 1
        if job.first < 0:
            job.first = now
        if job.given >= job.output:
            job.end = now

    @staticmethod
    def _held(job: Job) -> int:
        """Tokens it holds; a prompt holds its blocks from admission."""
        return job.past + job.todo - job.shared

    @staticmethod
    def _preempt(job: Job, waiting: deque[Job]) -> None:
        job.again, job.past, job.todo = job.given > 0, 0, 0
        job.preemptions += 1
        waiting.appendleft(job)


def poisson(rng: random.Random, count: int, rate: float, prompt: int = 1_000, output: int = 200) -> list[Job]:
    """Independent arrivals, lengths spread by a log-normal."""
    now, jobs = 0.0, []
    for number in range(count):
        now += rng.expovariate(rate)
        jobs.append(Job(number, now, _length(rng, prompt), 0, _length(rng, output)))
    return jobs


def bursty(rng: random.Random, count: int, rate: float, prompt: int = 1_000, output: int = 200) -> list[Job]:
    """The same in bursts of about eight."""
    now, jobs = 0.0, list[Job]()
    while len(jobs) < count:
        size = min(rng.randint(1, 15), count - len(jobs))
        now += rng.expovariate(rate / 8)
        for _ in range(size):
            jobs.append(Job(len(jobs), now + rng.uniform(0, 0.05), _length(rng, prompt), 0, _length(rng, output)))
    jobs.sort(key=lambda job: job.arrival)
    for number, job in enumerate(jobs):
        job.number = number
    return jobs


def agentic(rng: random.Random, count: int, rate: float, prompt: int = 2_000, output: int = 150) -> list[Job]:
    """Sessions of turns whose context grows; all but the last addition is found in the cache; 1,500 tokens are everybody's."""
    jobs: list[Job] = []
    while len(jobs) < count:
        start, context = rng.uniform(0, count / rate), 1_500
        for turn in range(rng.randint(1, 8)):
            new = _length(rng, prompt // 4)
            given = _length(rng, output)
            jobs.append(Job(0, start, context + new, context // 16 * 16 if turn else 1_488, given, shared=1_488))
            context += new + given
            start += rng.uniform(2, 20) + given * 0.01
    jobs = sorted(jobs, key=lambda job: job.arrival)[:count]
    for number, job in enumerate(jobs):
        job.number = number
    return jobs


def _length(rng: random.Random, typical: int) -> int:
    return max(2, min(int(typical * rng.lognormvariate(0, 0.7)), typical * 12))
