"""The pace rises by one a round and is halved by a complaint; pauses grow, differ, and repeat with their seed."""

from __future__ import annotations

import asyncio

from hypothesis import given
from hypothesis import strategies as st

from editgauge.judges._retry import RateLimiter, RetryPolicy


def test_a_complaint_halves_and_a_round_of_answers_adds_one() -> None:
    async def pace() -> list[float]:
        paced = RateLimiter(16)
        limits = []
        for _ in range(3):
            async with paced.turn() as turn:
                paced.on_rate_limit(turn, None)
                paced.on_rate_limit(turn, None)  # the same moment complained about twice
                limits.append(paced.limit)
        for _ in range(2):
            paced.on_success()
        limits.append(paced.limit)
        return limits

    assert asyncio.run(pace()) == [8, 4, 2, 2.9]


def test_never_more_than_allowed_are_under_way_and_all_get_their_turn() -> None:
    async def crowd() -> tuple[int, int]:
        paced, under_way, most, done = RateLimiter(5), 0, 0, 0

        async def one(number: int) -> None:
            nonlocal under_way, most, done
            async with paced.turn() as turn:
                under_way += 1
                most = max(most, under_way)
                await asyncio.sleep(0)
                if number % 10 == 0:
                    paced.on_rate_limit(turn, 0.001)
                else:
                    paced.on_success()
                under_way -= 1
                done += 1

        await asyncio.gather(*(one(number) for number in range(200)))
        return most, done

    assert asyncio.run(crowd()) == (5, 200)


def test_who_gives_up_while_waiting_takes_no_turn_from_others() -> None:
    async def crowd() -> list[str]:
        paced, done = RateLimiter(1), []

        async def one(name: str) -> None:
            async with paced.turn():
                await asyncio.sleep(0.01)
                done.append(name)

        tasks = [asyncio.create_task(one(name)) for name in "abcd"]
        await asyncio.sleep(0)
        tasks[1].cancel()
        await asyncio.gather(tasks[0])
        tasks[2].cancel()  # its turn was just given to it
        await asyncio.gather(*tasks, return_exceptions=True)
        return done

    assert asyncio.run(crowd()) == ["a", "d"]


@given(st.integers(1, 40), st.text())
def test_pauses_grow_to_a_limit_and_repeat(failed: int, question: str) -> None:
    retries = RetryPolicy(first_wait=1.0, longest_wait=60.0)
    pause = retries.backoff(failed, question)
    most = min(60.0, 2.0 ** (failed - 1))
    assert 0.1 * most <= pause <= most
    assert pause == retries.backoff(failed, question)
    assert pause != RetryPolicy(first_wait=1.0, longest_wait=60.0, seed=1).backoff(failed, question)
