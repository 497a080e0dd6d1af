"""How fast an endpoint is asked: more and more until it complains, then half, and not before it wants to be asked.

Additive increase, multiplicative decrease: each answer allows a little more at once, one more per full round; a
complaint about the rate halves it. Complaints about requests that went out before the last halving count as one.
"""

from __future__ import annotations

import asyncio
import random
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Patience:
    """How long to try.

    Args:
        attempts: how often a question is put before it is given up
        timeout: the seconds that one attempt may take, from the first byte to the last
        first_wait: the seconds before the second attempt, at most; each further pause may be twice as long
        longest_wait: no pause is longer; an endpoint that wants a longer one is given up
        seed: of the randomness in pauses, which keeps many questions from coming back all at once
    """

    attempts: int = 6
    timeout: float = 120.0
    first_wait: float = 1.0
    longest_wait: float = 120.0
    seed: int = 0

    def pause(self, failed: int, question: str) -> float:
        """The seconds to wait after that many failed attempts; another question, another pause."""
        most = min(self.longest_wait, self.first_wait * 2.0 ** (failed - 1))
        return random.Random(f"{self.seed} {failed} {question}").uniform(0.1 * most, most)  # noqa: S311 - no secret


class Pace:
    """How many requests may be under way, as the endpoint lets us know.

    Args:
        at_once: never more than this
    """

    def __init__(self, at_once: int) -> None:
        self._most = float(max(1, at_once))
        self.limit = self._most
        """This many at once, as far as is known."""
        self.halved = 0
        """How often the endpoint made us slower."""
        self._under_way = 0
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._not_before = 0.0

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[int]:
        """Waits until one more may go out; gives a number to hand back with a complaint."""
        while self._under_way >= int(self.limit):
            place = asyncio.get_running_loop().create_future()
            self._waiting.append(place)
            try:
                await place
            except asyncio.CancelledError:
                self._wake()  # its turn may have been given to it already; the next one takes it
                raise
        self._under_way += 1
        try:
            while (left := self._not_before - asyncio.get_running_loop().time()) > 0:
                await asyncio.sleep(left)
            yield self.halved
        finally:
            self._under_way -= 1
            self._wake()

    def went_well(self) -> None:
        """An answer came."""
        self.limit = min(self._most, self.limit + 1 / self.limit)

    def too_fast(self, turn: int, wait: float | None) -> None:
        """The endpoint complained about the rate, and may have said how long it wants to be left alone."""
        if turn == self.halved:
            self.limit = max(1.0, self.limit / 2)
            self.halved += 1
        if wait is not None:
            self._not_before = max(self._not_before, asyncio.get_running_loop().time() + wait)

    def _wake(self) -> None:
        free = int(self.limit) - self._under_way
        while free > 0 and self._waiting:
            place = self._waiting.popleft()
            if not place.done():
                place.set_result(None)
                free -= 1
