"""Scoring in processes of their own: the same scores as here, and a process that ends takes nobody with it."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import psutil
import pytest

import editgauge
from editgauge._util.images import Pixels, png_bytes
from editgauge.options import ScorerOptions
from editgauge.serving import _scoring
from editgauge.serving._app import RefusalError, ScoreService, ServiceLimits
from editgauge.serving._schema import ScoreRequest
from editgauge.serving._scoring import AFFINITY_SLACK, ScorerProcesses

T = TypeVar("T")
OPTIONS = ScorerOptions(protocol=["preservation"])


def request_of(before: Pixels, after: Pixels, **fields: Any) -> ScoreRequest:
    pictures = [base64.b64encode(png_bytes(item)).decode() for item in (before, after)]
    return ScoreRequest(sources=pictures[:1], outcome=pictures[1], instruction="Make it darker.", **fields)


def scored_by_one_process(work: Callable[[ScoreService], Awaitable[T]]) -> T:
    async def served() -> T:
        scoring = ScorerProcesses(OPTIONS, {}, 1)
        try:
            return await work(ScoreService(scoring, ServiceLimits()))
        finally:
            scoring.close()

    return asyncio.run(served())


def children() -> list[psutil.Process]:
    return [item for item in psutil.Process().children() if "editgauge.serving._worker" in " ".join(item.cmdline())]


def test_a_process_gives_the_scores_of_the_same_call_and_refuses_what_is_no_image(photo: Pixels) -> None:
    here = editgauge.score(photo, photo // 2, "Make it darker.", protocol=["preservation"])
    no_image = request_of(photo, photo).model_copy(update={"outcome": base64.b64encode(b"no image").decode()})

    async def work(service: ScoreService) -> Any:
        return await service.score([request_of(photo, photo // 2), no_image])

    good, bad = scored_by_one_process(work)

    assert [(score.name, score.value) for score in good.result.scores] == [(score.name, score.value) for score in here]
    assert "not an image" in bad.error.detail
    assert not children()


def test_a_process_that_ends_is_said_and_replaced(photo: Pixels) -> None:
    request = request_of(photo, photo // 2)

    async def work(service: ScoreService) -> Any:
        await service.warm_up()
        (process,) = children()
        process.suspend()  # so that it has an item in hand when it ends
        lost = asyncio.create_task(service.score([request]))
        await asyncio.sleep(0)
        process.kill()
        with pytest.raises(RefusalError, match="another takes its place") as refusal:
            await lost
        return refusal.value.status, await service.score([request])

    status, (again,) = scored_by_one_process(work)

    assert status == 503
    assert again.result is not None


def test_a_frozen_process_is_replaced(photo: Pixels, monkeypatch: pytest.MonkeyPatch) -> None:
    async def work(service: ScoreService) -> Any:
        await service.warm_up()
        (frozen,) = children()
        frozen.suspend()
        monkeypatch.setattr(_scoring, "MAX_SILENCE_SECONDS", 0.0)
        results = await service.score([request_of(photo, photo // 2)])
        return frozen, results

    frozen, (result,) = scored_by_one_process(work)

    assert result.result is not None
    assert not frozen.is_running()


def test_outcomes_of_a_source_go_to_one_process_unless_it_is_much_busier() -> None:
    class Process:
        has_ended = False

        def __init__(self) -> None:
            self.waiting: dict[int, None] = {}

    def busy(process: Any, items: int) -> None:
        process.waiting = dict.fromkeys(range(items))

    scoring = ScorerProcesses(OPTIONS, {}, 2)
    scoring._processes = [Process(), Process()]  # type: ignore[list-item]

    known = scoring._process_for("a source")
    [other] = [item for item in scoring._processes if item is not known]
    assert scoring._process_for("a source") is known
    busy(known, 1)
    assert scoring._process_for("another source") is other  # which is idle
    busy(other, 1)
    busy(known, 1 + AFFINITY_SLACK)
    assert scoring._process_for("a source") is known
    busy(known, 2 + AFFINITY_SLACK)
    assert scoring._process_for("a source") is other
    busy(known, 1)
    busy(other, 2)
    assert scoring._process_for("a source") is known  # both warm it now
    busy(other, 0)
    assert scoring._process_for("another source") is other
    known.has_ended = True
    busy(other, 9)
    scoring._processes = [other]
    assert scoring._process_for("a source") is other
