"""How often someone may ask: a bucket of tokens for each, which fills up again with time."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

REMEMBERED = 10_000
"""This many buckets are kept before those that are full again are forgotten."""


@dataclass(frozen=True, slots=True)
class Rate:
    """How many requests at once, and how many per second after that."""

    at_once: float
    per_second: float


@dataclass(frozen=True, slots=True)
class RateLimits:
    """What a study's server tolerates. A whole class may sit behind one address; a rater has one pair of hands."""

    address: Rate = Rate(1000, 100)
    rater: Rate = Rate(120, 10)
    guesses: Rate = Rate(10, 0.1)
    """Wrong links and wrong passwords, by address."""


class Buckets:
    """The buckets of one kind of visitor; safe for threads."""

    def __init__(self, rate: Rate, clock: Callable[[], float] = time.monotonic) -> None:
        self.rate = rate
        self._clock = clock
        self._levels: dict[str, tuple[float, float]] = {}
        self._lock = threading.Lock()

    def wait(self, who: str) -> float:
        """Takes a token; 0 when there was one, else the seconds until there will be."""
        with self._lock:
            level, now = self._level(who)
            if level < 1:
                return (1 - level) / self.rate.per_second
            self._levels[who] = (level - 1, now)
            if len(self._levels) > REMEMBERED:
                self._forget_full()
            return 0.0

    def is_empty(self, who: str) -> bool:
        """Whether nothing is left, without taking anything."""
        with self._lock:
            return self._level(who)[0] < 1

    def _level(self, who: str) -> tuple[float, float]:
        now = self._clock()
        level, at = self._levels.get(who, (self.rate.at_once, now))
        return min(self.rate.at_once, level + (now - at) * self.rate.per_second), now

    def _forget_full(self) -> None:
        self._levels = {who: kept for who, kept in self._levels.items() if self._level(who)[0] < self.rate.at_once}
