"""Money is set aside before it is spent, whatever the order in which calls end."""

from __future__ import annotations

import asyncio
import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from editgauge.errors import BadInputError
from editgauge.judges import LabeledImage, NoAnswerError, Parameters, Price, ask_yes_no
from editgauge.judges._cost import Ledger, estimate_prompt_tokens


@given(st.integers(0, 10**6), st.floats(0, 20), st.booleans())
def test_no_order_of_calls_goes_over_the_budget(seed: int, budget: float, measured: bool) -> None:
    """Each call may cost up to what was estimated; all end, and what could have been paid was not withheld."""
    dice = random.Random(seed)
    ledger = Ledger(Price(1e6, 1e6), budget)
    if measured:
        ledger.measure(1, 1, has_images=False)

    async def call() -> bool:
        try:
            reserved = await ledger.reserve(1, 1, has_images=False)
        except NoAnswerError:
            return False
        for _ in range(dice.randrange(5)):
            await asyncio.sleep(0)
        ledger.measure(1, 1, has_images=False)
        await ledger.settle(reserved, dice.choice((0.0, 0.5, 1.0, 2.0)), has_images=False)
        assert ledger.spent <= budget
        return True

    async def everything() -> list[bool]:
        return await asyncio.gather(*(call() for _ in range(30)))

    done = asyncio.run(everything())
    assert all(done) or ledger.spent > budget - 2


def test_a_prompt_that_was_larger_than_expected_raises_all_that_follow() -> None:
    ledger = Ledger(Price(1.0, 1.0))
    ledger.measure(100, 250, has_images=True)
    ledger.measure(100, 50, has_images=True)
    assert (ledger.scale(10, has_images=True), ledger.scale(10, has_images=False)) == (25.0, 10.0)


def test_larger_pictures_are_more_tokens_up_to_what_is_sent() -> None:
    sizes = (28, 280, 1024, 4096)
    questions = [ask_yes_no("?", LabeledImage("It:", np.zeros((side, side, 3), np.uint8))) for side in sizes]
    small, middle, large, larger = (estimate_prompt_tokens(question, Parameters()) for question in questions)
    assert (middle - small, large, larger) == (99, small - 1 + 37 * 37, large)
    assert estimate_prompt_tokens(questions[0], Parameters(), per_image=2833) == small - 1 + 2833


@pytest.mark.parametrize("price", [(-1.0, 1.0), (1.0, float("inf")), (float("nan"), 0.0)])
def test_odd_prices_are_refused(price: tuple[float, float]) -> None:
    with pytest.raises(BadInputError, match="price per million tokens"):
        Price(*price)
