"""Estimate, reserve and settle the cost of judge calls."""

from __future__ import annotations

import asyncio
import math
from collections import Counter
from dataclasses import dataclass
from typing import Any

from editgauge.errors import BadInputError
from editgauge.judges._faults import NoAnswerError
from editgauge.judges._questions import Parameters, Question, sent_size

BYTES_PER_TOKEN = 3
"""Conservative: tokenizers need one token for about four bytes of English."""
OVERHEAD_TOKENS = 32
"""Tokens that an endpoint adds to a message, and again to each image."""
PIXELS_PER_TOKEN_SIDE = 28
"""Common vision encoders produce about one token per 28 x 28 pixels."""


@dataclass(frozen=True, slots=True)
class Price:
    """Price of a million tokens, in any currency."""

    prompt: float
    completion: float

    def __post_init__(self) -> None:
        if not (0 <= self.prompt < math.inf and 0 <= self.completion < math.inf):
            raise BadInputError(f"A price per million tokens is 0 or more; got {self.prompt} and {self.completion}.")

    def cost(self, prompt_tokens: float, completion_tokens: float) -> float:
        """Return the price of a number of tokens."""
        return (self.prompt * prompt_tokens + self.completion * completion_tokens) / 1e6


FREE = Price(0.0, 0.0)


@dataclass(frozen=True, slots=True)
class CallEstimate:
    """Upper estimate of the calls, tokens and cost of a set of questions."""

    questions: int
    recorded: int
    """Number of questions that the transcripts already answer."""
    prompt_tokens: int
    completion_tokens: int
    cost: float
    repairs: int = 0
    """Additional calls if every answer needs a repair; included in tokens and cost."""

    @property
    def calls(self) -> int:
        """Number of calls, if none fails."""
        return self.questions - self.recorded


@dataclass(frozen=True, slots=True)
class CallBound:
    """Upper bound of the calls, tokens and cost of a judge, if no attempt fails."""

    judge: str
    questions: int
    calls: int
    """Number of calls, including one repair per question."""
    prompt_tokens: int
    completion_tokens: int
    cost: float | None
    """None without a price."""


def max_prompt_tokens(text_bytes: int, images: int, parameters: Parameters, per_image: int | None = None) -> int:
    """Return the maximum number of tokens of a question with images of the largest size."""
    side = math.ceil(parameters.most_side / PIXELS_PER_TOKEN_SIDE)
    return (
        math.ceil(text_bytes / BYTES_PER_TOKEN) + images * (per_image or side * side) + OVERHEAD_TOKENS * (1 + images)
    )


def estimate_prompt_tokens(question: Question[Any], parameters: Parameters, per_image: int | None = None) -> int:
    """Estimate the number of prompt tokens of a question.

    Args:
        question: question to send.
        parameters: parameters that limit the size of images.
        per_image: tokens of an image, if known.

    """
    sizes = [sent_size(image.pixels, parameters.most_side) for image in question.images]
    images = [
        per_image or math.ceil(w / PIXELS_PER_TOKEN_SIDE) * math.ceil(h / PIXELS_PER_TOKEN_SIDE) for w, h in sizes
    ]
    texts = [question.words.text, *(image.label for image in question.images)]
    text_tokens = sum(math.ceil(len(text.encode()) / BYTES_PER_TOKEN) for text in texts)
    return text_tokens + sum(images) + OVERHEAD_TOKENS * (1 + len(images))


class Ledger:
    """Tracks spent and reserved cost against a budget.

    Estimates can be too low. With a budget, the first call, and the first one with images, is therefore sent alone to
    learn how the endpoint counts; later estimates are scaled by the worst observed ratio.

    Args:
        price: price of a million tokens; free by default.
        budget: maximum total cost, including earlier calls; unlimited by default.
        spent: cost of earlier calls.

    """

    def __init__(self, price: Price | None = None, budget: float | None = None, spent: float = 0.0) -> None:
        if budget is not None and price is None:
            raise BadInputError("A budget needs a price per million prompt tokens and completion tokens.")
        if budget is not None and not 0 <= budget < math.inf:
            raise BadInputError(f"A budget is 0 or more; got {budget}.")
        self.price = price or FREE
        self.budget = budget
        self.spent = spent
        self._worst_ratio: dict[bool, float] = {}
        self._in_flight: Counter[bool] = Counter()
        self._reserved = 0.0
        self._settled = asyncio.Condition()

    def scale(self, prompt_tokens: int, *, has_images: bool) -> float:
        """Scale an estimate by the worst ratio of counted to estimated tokens so far."""
        return prompt_tokens * self._worst_ratio.get(has_images, 1.0)

    async def reserve(self, prompt_tokens: int, completion_tokens: int, *, has_images: bool) -> float:
        """Reserve the maximum cost of a call; raise `NoAnswerError` if it exceeds the budget."""
        async with self._settled:
            while True:
                cost = self.price.cost(self.scale(prompt_tokens, has_images=has_images), completion_tokens)
                if self._fits(cost, has_images=has_images):
                    self._in_flight[has_images] += 1
                    self._reserved += cost
                    return cost
                if not self._in_flight.total():
                    raise NoAnswerError(
                        "budget", f"{self.spent:.6g} of {self.budget:.6g} spent, a call may cost {cost:.6g}"
                    )
                await self._settled.wait()  # calls in flight may turn out cheaper than reserved

    async def settle(self, reserved: float, cost: float, *, has_images: bool) -> None:
        """Replace a reservation by the actual cost."""
        async with self._settled:
            self._in_flight[has_images] -= 1
            self._reserved = self._reserved - reserved if self._in_flight.total() else 0.0
            self.spent += cost
            self._settled.notify_all()

    def measure(self, estimated: int, counted: int | None, *, has_images: bool) -> None:
        """Update the worst ratio with the tokens that the endpoint counted, if it counts."""
        ratio = 1.0 if counted is None else counted / estimated
        self._worst_ratio[has_images] = max(self._worst_ratio.get(has_images, 1.0), ratio)

    def _fits(self, cost: float, *, has_images: bool) -> bool:
        if self.budget is None:
            return True
        is_calibrated = has_images in self._worst_ratio or not self._in_flight[has_images]
        return is_calibrated and self.spent + self._reserved + cost <= self.budget
