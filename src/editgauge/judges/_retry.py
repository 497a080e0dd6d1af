"""Puts one question to a model until it answers or cannot: in turn with others, with pauses, within the budget."""

from __future__ import annotations

import asyncio
import random
import time
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from editgauge.judges._cost import Ledger, prompt_tokens
from editgauge.judges._endpoint import Body, read_reply
from editgauge.judges._faults import Fault, NoAnswer, Trouble
from editgauge.judges._interfaces import Client
from editgauge.judges._questions import Parameters, Question


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

    Additive increase, multiplicative decrease: each answer allows a little more at once, one more per full round; a
    complaint about the rate halves it. Complaints about requests that went out before the last halving count as one.

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


@dataclass(slots=True)
class Attempts:
    """What the attempts at one question came to: a chat completion, or a fault."""

    failed: list[str] = field(default_factory=list)
    """What became of each attempt that brought nothing."""
    body: Body | None = None
    fault: Fault | None = None
    detail: str = ""
    cost: float = 0.0
    latency: float = 0.0
    """Seconds of the last attempt."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asker:
    """The way to a model, and how it is used.

    Args:
        client: makes single attempts
        parameters: how the model is to answer
        patience: how long to try
        pace: how many may be under way
        ledger: what may be spent
        tokens_per_image: what a picture is to this model, for estimates
    """

    client: Client
    parameters: Parameters
    patience: Patience
    pace: Pace
    ledger: Ledger
    tokens_per_image: int | None = None

    def prompt_tokens(self, question: Question[Any]) -> int:
        """About how many tokens a question has."""
        return prompt_tokens(question, self.parameters, self.tokens_per_image)

    async def ask(self, question: Question[Any], name: str) -> Attempts:
        """All attempts at a question; nothing is raised for lack of an answer.

        Args:
            question: what is asked
            name: what the question is known by; its pauses are drawn from it
        """
        so_far = Attempts()
        while so_far.body is None and so_far.fault is None:
            try:
                so_far.body = await self._attempt(question, so_far)
            except NoAnswer as error:
                so_far.fault, so_far.detail = error.fault, error.message
            except Trouble as trouble:
                so_far.failed.append(trouble.message)
                count, wait = len(so_far.failed), trouble.wait or 0.0
                if trouble.again and count < self.patience.attempts and wait <= self.patience.longest_wait:
                    await asyncio.sleep(wait + self.patience.pause(count, name))
                    continue
                so_far.fault = trouble.fault
                so_far.detail = f"{count} attempts, the last: {trouble.message}" if count > 1 else trouble.message
        return so_far

    async def _attempt(self, question: Question[Any], so_far: Attempts) -> Body:
        tokens, pictures = self.prompt_tokens(question), bool(question.images)
        async with self.pace.turn() as turn:
            reserved = await self.ledger.reserve(tokens, self.parameters.max_tokens, pictures)
            cost, began = reserved, time.monotonic()  # an attempt that is cut off may be charged for
            try:
                body = await self.client.send(question, self.parameters, self.patience.timeout)
                said = read_reply(body)
                if said.prompt_tokens is not None and said.completion_tokens is not None:
                    cost = self.ledger.price.cost(said.prompt_tokens, said.completion_tokens)
                self.ledger.measure(tokens, said.prompt_tokens, pictures)
                self.pace.went_well()
                return body
            except Trouble as trouble:
                cost = reserved if trouble.maybe_paid else 0.0
                if trouble.too_fast:
                    self.pace.too_fast(turn, min(trouble.wait or 0.0, self.patience.longest_wait))
                raise
            finally:
                so_far.cost += cost
                so_far.latency = round(time.monotonic() - began, 4)
                await self.ledger.settle(reserved, cost, pictures)
