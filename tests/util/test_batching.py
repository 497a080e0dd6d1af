"""What items ask is shared, batched and sent when no item can go on; faults reach those who asked, and no one else."""

from __future__ import annotations

import asyncio
import gc
import threading
import weakref
from collections.abc import Coroutine, Hashable, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from editgauge._util.batching import Ask, Request


class Doubler:
    """Doubles numbers, and keeps what it was asked; refuses 13, and more at once than fit."""

    def __init__(self, batch: int = 4, fits: int = 100, shortage: BaseException | None = None) -> None:
        self.batch = batch
        self.asked: list[tuple[Hashable, list[int]]] = []
        self._fits = fits
        self._shortage = shortage or MemoryError()

    def answer(self, group: Hashable, requests: Sequence[Request]) -> list[int]:
        numbers = [request.payload for request in requests]
        self.asked.append((group, numbers))
        if len(numbers) > self._fits:
            raise self._shortage
        if 13 in numbers:
            raise ValueError("13 is unlucky")
        return [2 * number for number in numbers]

    @property
    def batches(self) -> list[list[int]]:
        return [numbers for _, numbers in self.asked]


class Judge:
    """Answers when it is let, and knows how many waited for it at once."""

    def __init__(self, at_once: int = 2) -> None:
        self.at_once = at_once
        self.may_answer = asyncio.Event()
        self.waiting = self.most = 0

    async def reply(self, request: Request) -> str:
        self.waiting += 1
        self.most = max(self.most, self.waiting)
        await self.may_answer.wait()
        self.waiting -= 1
        if request.payload == "rude":
            raise ValueError("I will not answer that")
        return f"I like {request.payload}"


def together(*questions: Coroutine[Any, Any, Any]) -> list[Any]:
    """All asked at once; an error stands in place of its answer."""

    async def ask_all() -> list[Any]:
        return await asyncio.gather(*questions, return_exceptions=True)

    return asyncio.run(ask_all())


def numbers(backend: Doubler, asked: Sequence[int], group: Hashable = None) -> list[Any]:
    ask = Ask()
    return together(*(ask(backend, number, number, group) for number in asked))


def test_what_many_ask_goes_out_in_full_batches_in_the_order_asked() -> None:
    backend = Doubler(batch=4)
    assert numbers(backend, range(10)) == [2 * number for number in range(10)]
    assert backend.batches == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]]


def test_who_asks_the_same_waits_for_the_same_answer() -> None:
    backend = Doubler()
    assert numbers(backend, [1, 2, 1, 1, 2]) == [2, 4, 2, 2, 4]
    assert backend.batches == [[1, 2]]


def test_one_who_gives_up_does_not_take_the_answer_from_another() -> None:
    async def scene() -> Any:
        ask, backend = Ask(), Doubler()
        first, second = (asyncio.ensure_future(ask(backend, 1, 1)) for _ in range(2))
        await asyncio.sleep(0)
        first.cancel()
        return await second

    assert asyncio.run(scene()) == 2


def test_what_all_gave_up_is_not_asked_unless_somebody_asks_again() -> None:
    async def scene() -> tuple[Doubler, Any]:
        ask, backend = Ask(), Doubler(batch=2)
        questions = [asyncio.ensure_future(ask(backend, number, number)) for number in (1, 2, 3, 4, 5)]
        await asyncio.sleep(0)  # 1 and 2 are under way, the rest waits for them
        for question in questions[1:4]:
            question.cancel()
        again = asyncio.ensure_future(ask(backend, 3, 3))
        results = await asyncio.gather(questions[0], questions[4], again)
        return backend, results

    backend, results = asyncio.run(scene())
    assert results == [2, 10, 6]
    assert backend.batches == [[1, 2], [5, 3]]


def test_groups_are_never_mixed() -> None:
    backend, ask = Doubler(batch=2), Ask()
    together(*(ask(backend, number, number, number % 2) for number in range(6)))
    assert backend.asked[0] == (0, [0, 2]), "the first that is full"
    assert sorted(backend.asked) == [(0, [0, 2]), (0, [4]), (1, [1, 3]), (1, [5])]


def test_items_that_ask_again_meet_in_the_next_batch() -> None:
    """Each asks twice, with a `gather` in between: still two batches, because the first waits until none can go on."""
    ask, backend = Ask(), Doubler(batch=100)

    async def item(number: int) -> int:
        async def deeper() -> int:
            (result,) = await asyncio.gather(ask(backend, number, number))
            return int(result)

        (once,) = await asyncio.gather(deeper())
        return int(await ask(backend, -once, -once))

    assert together(*(item(number) for number in range(20, 40))) == [-4 * number for number in range(20, 40)]
    assert [len(batch) for batch in backend.batches] == [20, 20]


def test_what_follows_from_an_answer_is_asked_before_more_of_the_same() -> None:
    """Otherwise what all items hold between their two questions would be in memory at once."""
    ask, backend = Ask(), Doubler(batch=4)

    async def item(number: int) -> None:
        once = await ask(backend, number, number, "first")
        await ask(backend, once, once, "second")

    together(*(item(number) for number in range(100, 180)))
    between = most = 0
    for group, batch in backend.asked:
        between += len(batch) if group == "first" else -len(batch)
        most = max(most, between)
    assert most <= 6 * backend.batch, "and not 80"


def test_a_slow_judge_never_holds_detections_back() -> None:
    """The judge answers only after every item had its detection: were those held back, nothing would ever end."""

    async def scene() -> tuple[list[Any], int]:
        ask, backend, judge = Ask(), Doubler(batch=8), Judge(at_once=2)
        seen = 0

        async def item(number: int) -> tuple[int, str]:
            nonlocal seen
            verdict = asyncio.ensure_future(ask(judge, number, f"edit {number}"))
            once = await ask(backend, number, number)
            twice = await ask(backend, 100 + once, 100 + once)
            seen += 1
            if seen == 12:
                judge.may_answer.set()
            return twice, await verdict

        result = await asyncio.wait_for(asyncio.gather(*(item(number) for number in range(12))), 20)
        return result, judge.most

    result, most = asyncio.run(scene())
    assert result[3] == (212, "I like edit 3")
    assert most == 2, "a service is asked by so many at once as it allows"


def test_an_error_reaches_those_who_asked_and_no_one_else() -> None:
    backend = Doubler(batch=4)
    result = numbers(backend, [11, 12, 13, 14, 15, 13])
    assert [type(entry) for entry in result] == [int, int, ValueError, int, int, ValueError]
    assert result[0] == 22
    assert backend.batches[1:5] == [[11], [12], [13], [14]], "each alone, to find the one at fault"


def test_an_error_of_a_judge_reaches_who_asked() -> None:
    async def scene() -> list[Any]:
        ask, judge = Ask(), Judge()
        judge.may_answer.set()
        asked = (ask(judge, word, word) for word in ("cats", "rude"))
        return await asyncio.gather(*asked, return_exceptions=True)

    kind, rude = asyncio.run(scene())
    assert kind == "I like cats"
    assert isinstance(rude, ValueError)


class OutOfMemoryError(Exception):
    """Named as a library names its own."""


@pytest.mark.parametrize(
    "shortage", [MemoryError(), OutOfMemoryError(), RuntimeError("CUDA out of memory. Tried to allocate 2 GiB")]
)
def test_a_batch_that_does_not_fit_is_halved_and_the_size_is_remembered(shortage: BaseException) -> None:
    backend = Doubler(batch=8, fits=3, shortage=shortage)
    ask = Ask()

    async def twice() -> list[Any]:
        first = await asyncio.gather(*(ask(backend, number, number) for number in range(8)))
        return [*first, *await asyncio.gather(*(ask(backend, number, number) for number in range(20, 24)))]

    assert asyncio.run(twice()) == [2 * number for number in [*range(8), *range(20, 24)]]
    assert [len(batch) for batch in backend.batches] == [8, 4, 2, 2, 2, 2, 2, 2]


def test_one_request_that_does_not_fit_fails_alone() -> None:
    (result,) = numbers(Doubler(fits=0), [1])
    assert isinstance(result, MemoryError)


def test_an_answer_too_few_is_an_error_and_never_another_s_answer() -> None:
    class Forgetful(Doubler):
        def answer(self, group: Hashable, requests: Sequence[Request]) -> list[int]:
            return super().answer(group, requests)[1:]

    assert {type(entry) for entry in numbers(Forgetful(), [1, 2, 3])} == {ValueError}


def test_heavy_functions_run_beside_the_event_loop() -> None:
    async def scene() -> tuple[int, bool]:
        ask = Ask(pool=1)
        here = threading.get_ident()
        total, there = await asyncio.gather(ask.call(sum, [1, 2, 3]), ask.call(threading.get_ident))
        return total, here != there

    assert asyncio.run(scene()) == (6, True)


@given(
    asked=st.lists(st.tuples(st.integers(0, 20), st.integers(0, 2)), max_size=40),
    batch=st.integers(1, 7),
    fits=st.integers(1, 7),
)
def test_whatever_is_asked_everyone_gets_their_own_answer(asked: list[tuple[int, int]], batch: int, fits: int) -> None:
    ask, backend = Ask(), Doubler(batch, fits)
    result = together(*(ask(backend, pair, pair[0], pair[1]) for pair in asked))
    for (number, _), answer in zip(asked, result, strict=True):
        assert isinstance(answer, ValueError) if number == 13 else answer == 2 * number
    done = [number for _, batch in backend.asked for number in batch if len(batch) <= fits and 13 not in batch]
    assert sorted(done) == sorted(number for number, _ in {pair for pair in asked if pair[0] != 13})
    ask.close()


def test_another_event_loop_may_ask_when_the_first_has_ended() -> None:
    ask, backend = Ask(), Doubler()
    for number in range(3):
        assert asyncio.run(asyncio.wait_for(ask(backend, number, number), 10)) == 2 * number


def test_a_closed_layer_lets_its_models_go_at_once() -> None:
    async def ask_once() -> weakref.ref[Doubler]:
        ask, doubler = Ask(), Doubler()
        assert await ask(doubler, "key", 1) == 2
        ask.close()
        return weakref.ref(doubler)

    gc.collect()
    gc.disable()  # a network takes some hundred megabytes that nobody should have to wait for
    try:
        assert asyncio.run(ask_once())() is None
    finally:
        gc.enable()


def test_what_nobody_waits_for_any_more_is_not_asked_after_the_end() -> None:
    """One of two questions cannot be answered, its item ends, and everything is closed: the other is still queued."""
    problems: list[object] = []

    async def end_early() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda _, context: problems.append(context))
        ask = Ask()
        forgotten = asyncio.ensure_future(ask(Doubler(), 1, 1))
        await asyncio.sleep(0)
        ask.close()
        for _ in range(20):
            await asyncio.sleep(0)
        forgotten.cancel()

    asyncio.run(end_early())

    assert problems == []
