"""Puts one question to a model until it answers or cannot: in turn with others, with pauses, within the budget."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, field
from typing import Any

from editgauge.judges.cost import Ledger, prompt_tokens
from editgauge.judges.faults import Fault, NoAnswer, Trouble
from editgauge.judges.interfaces import Client
from editgauge.judges.pace import Pace, Patience
from editgauge.judges.questions import Parameters, Question
from editgauge.judges.replies import Body, read_reply


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
