"""The pace rises by one a round and is halved by a complaint; pauses grow, differ, and repeat with their seed."""

from __future__ import annotations

import asyncio

from hypothesis import given
from hypothesis import strategies as st

from editgauge.judges._retry import Pace, Patience


def test_a_complaint_halves_and_a_round_of_answers_adds_one() -> None:
    async def pace() -> list[float]:
        paced = Pace(16)
        limits = []
        for _ in range(3):
            async with paced.turn() as turn:
                paced.too_fast(turn, None)
                paced.too_fast(turn, None)  # the same moment complained about twice
                limits.append(paced.limit)
        for _ in range(2):
            paced.went_well()
        limits.append(paced.limit)
        return limits

    assert asyncio.run(pace()) == [8, 4, 2, 2.9]


def test_never_more_than_allowed_are_under_way_and_all_get_their_turn() -> None:
    async def crowd() -> tuple[int, int]:
        paced, under_way, most, done = Pace(5), 0, 0, 0

        async def one(number: int) -> None:
            nonlocal under_way, most, done
            async with paced.turn() as turn:
                under_way += 1
                most = max(most, under_way)
                await asyncio.sleep(0)
                if number % 10 == 0:
                    paced.too_fast(turn, 0.001)
                else:
                    paced.went_well()
                under_way -= 1
                done += 1

        await asyncio.gather(*(one(number) for number in range(200)))
        return most, done

    assert asyncio.run(crowd()) == (5, 200)


def test_who_gives_up_while_waiting_takes_no_turn_from_others() -> None:
    async def crowd() -> list[str]:
        paced, done = Pace(1), []

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
    patience = Patience(first_wait=1.0, longest_wait=60.0)
    pause = patience.pause(failed, question)
    most = min(60.0, 2.0 ** (failed - 1))
    assert 0.1 * most <= pause <= most
    assert pause == patience.pause(failed, question)
    assert pause != Patience(first_wait=1.0, longest_wait=60.0, seed=1).pause(failed, question)
