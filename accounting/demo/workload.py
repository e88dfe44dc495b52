"""What is the demo's month? Users, their subscriptions and their requests, the same for the same month, size and seed."""

from __future__ import annotations

from calendar import monthrange
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, timedelta

import numpy as np

from accounting.demo import events, hosted, population, traffic
from accounting.demo.population import Subscription, User
from accounting.demo.traffic import Traffic
from accounting.selfhosted.curve import Curve


@dataclass(frozen=True)
class Workload:
    """One calendar month in UTC.

    Attributes:
        name: names the events: month, seed and size, so that another workload never claims the same ids.
        month: its first day.
    """

    name: str
    month: date
    users: list[User]
    subscriptions: list[Subscription]
    traffic: Traffic

    @property
    def requests(self) -> int:
        return len(self.traffic.user)

    def batches(self, size: int) -> Iterator[bytes]:
        """Native events as JSON Lines, `size` at a time, in order of time."""
        return events.batches(self.traffic, self.users, f"demo-{self.name}", size)


def make(month: date, requests: int, seed: int, curve: Curve | None = None) -> Workload:
    """Draws everything from one stream of random numbers; `curve`: of the product's own pool, see `hosted.serve`."""
    rng = np.random.default_rng([seed, month.year, month.month])
    users = population.populate(rng, monthrange(month.year, month.month)[1])
    return Workload(
        name=f"{month:%Y-%m}-{seed}-{requests}",
        month=month,
        users=users,
        subscriptions=population.subscriptions(users, month),
        traffic=hosted.serve(traffic.draw(rng, users, month, requests), curve),
    )


def last_full_month(today: date) -> date:
    """First day of the month before today's."""
    return (today.replace(day=1) - timedelta(days=1)).replace(day=1)


def next_month(month: date) -> date:
    """First day of the month after."""
    return (month.replace(day=28) + timedelta(days=4)).replace(day=1)
