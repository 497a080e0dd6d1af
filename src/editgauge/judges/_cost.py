"""What answers cost: reserved by estimate before a call, settled by what the endpoint counted after it."""

from __future__ import annotations

import asyncio
import math
from collections import Counter
from dataclasses import dataclass
from typing import Any

from editgauge.errors import BadInputError
from editgauge.judges._faults import NoAnswer
from editgauge.judges._questions import Parameters, Question, sent_size

BYTES_PER_TOKEN = 3
"""Tokenizers need a token for some four bytes of English; three leaves room."""
TOKENS_AROUND = 32
"""For the frame that an endpoint puts around a message, and again around each picture."""
SIDE_PER_TOKEN = 28
"""Vision towers of today make about one token of 28 x 28 pixels."""


@dataclass(frozen=True, slots=True)
class Price:
    """What a million tokens cost, in any currency."""

    prompt: float
    completion: float

    def __post_init__(self) -> None:
        if not (0 <= self.prompt < math.inf and 0 <= self.completion < math.inf):
            raise BadInputError(f"A price per million tokens is 0 or more; got {self.prompt} and {self.completion}.")

    def cost(self, prompt_tokens: float, completion_tokens: float) -> float:
        """The price of that many tokens."""
        return (self.prompt * prompt_tokens + self.completion * completion_tokens) / 1e6


FREE = Price(0.0, 0.0)


@dataclass(frozen=True, slots=True)
class CallEstimate:
    """What asking would take, at most; nothing was asked."""

    questions: int
    recorded: int
    """This many of them are answered in the transcripts already."""
    prompt_tokens: int
    completion_tokens: int
    cost: float
    repairs: int = 0
    """This many calls more, if no answer could be read at first; tokens and cost include them."""

    @property
    def calls(self) -> int:
        """This many calls would be made, if none fails."""
        return self.questions - self.recorded


@dataclass(frozen=True, slots=True)
class CallBound:
    """What a judge can be asked at most, if no attempt fails; nothing was asked. Tokens are estimates of ours."""

    judge: str
    questions: int
    calls: int
    """A repair question for each of them included."""
    prompt_tokens: int
    completion_tokens: int
    cost: float | None
    """None where no price is known."""


def largest_prompt(text_bytes: int, images: int, parameters: Parameters, per_image: int | None = None) -> int:
    """The tokens of a question with that many bytes of text and images, which are as large as they are ever sent."""
    side = math.ceil(parameters.most_side / SIDE_PER_TOKEN)
    return math.ceil(text_bytes / BYTES_PER_TOKEN) + images * (per_image or side * side) + TOKENS_AROUND * (1 + images)


def prompt_tokens(question: Question[Any], parameters: Parameters, per_image: int | None = None) -> int:
    """About how many tokens a question has; models differ, above all in what a picture is to them.

    Args:
        question: what is asked
        parameters: how large its pictures are when they are sent
        per_image: the tokens of a picture, where they are known
    """
    sizes = [sent_size(shown.pixels, parameters.most_side) for shown in question.images]
    images = [per_image or math.ceil(w / SIDE_PER_TOKEN) * math.ceil(h / SIDE_PER_TOKEN) for w, h in sizes]
    texts = [question.words.text, *(shown.label for shown in question.images)]
    words = sum(math.ceil(len(text.encode()) / BYTES_PER_TOKEN) for text in texts)
    return words + sum(images) + TOKENS_AROUND * (1 + len(images))


class Ledger:
    """What was spent, and what calls under way may still cost.

    Estimates can be too low, so with a budget the first call, and the first one with pictures, is sent alone: it
    shows how the endpoint counts. From then on estimates are raised by the worst that was seen.

    Args:
        price: of a million tokens; nothing costs anything when left out
        budget: the most that may be spent, what was spent before included; no limit when left out
        spent: what was spent before
    """

    def __init__(self, price: Price | None = None, budget: float | None = None, spent: float = 0.0) -> None:
        if budget is not None and price is None:
            raise BadInputError("A budget needs the price of a million tokens, of the prompt and of the completion.")
        if budget is not None and not 0 <= budget < math.inf:
            raise BadInputError(f"A budget is 0 or more; got {budget}.")
        self.price = price or FREE
        self.budget = budget
        self.spent = spent
        self._worst: dict[bool, float] = {}
        self._under_way: Counter[bool] = Counter()
        self._reserved = 0.0
        self._settled = asyncio.Condition()

    def raised(self, prompt_tokens: int, pictures: bool) -> float:
        """An estimate in the light of what the endpoint counted so far."""
        return prompt_tokens * self._worst.get(pictures, 1.0)

    async def reserve(self, prompt_tokens: int, completion_tokens: int, pictures: bool) -> float:
        """Sets aside what a call may cost at most; raises `NoAnswer` when that is more than is left."""
        async with self._settled:
            while True:
                most = self.price.cost(self.raised(prompt_tokens, pictures), completion_tokens)
                if self._fits(most, pictures):
                    self._under_way[pictures] += 1
                    self._reserved += most
                    return most
                if not self._under_way.total():
                    raise NoAnswer("budget", f"{self.spent:.6g} of {self.budget:.6g} spent, a call may cost {most:.6g}")
                await self._settled.wait()  # calls under way may turn out cheaper than was set aside for them

    async def settle(self, reserved: float, cost: float, pictures: bool) -> None:
        """Replaces what was set aside by what it cost."""
        async with self._settled:
            self._under_way[pictures] -= 1
            self._reserved = self._reserved - reserved if self._under_way.total() else 0.0
            self.spent += cost
            self._settled.notify_all()

    def measure(self, estimated: int, counted: int | None, pictures: bool) -> None:
        """Learns from the tokens that an endpoint counted; of one that does not count, estimates are all there is."""
        ratio = 1.0 if counted is None else counted / estimated
        self._worst[pictures] = max(self._worst.get(pictures, 1.0), ratio)

    def _fits(self, most: float, pictures: bool) -> bool:
        if self.budget is None:
            return True
        may_go = pictures in self._worst or not self._under_way[pictures]
        return may_go and self.spent + self._reserved + most <= self.budget
