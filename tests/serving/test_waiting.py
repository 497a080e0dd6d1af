"""Who waits for a score: equal requests share it, clients that leave stop it, and nobody waits for missing models."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import httpx
import pytest

from editgauge.edit_types import UNSPECIFIED
from editgauge.errors import EditGaugeError
from editgauge.serving._app import ScoreService, ServiceLimits, make_app
from editgauge.serving._schema import (
    BatchResult,
    EditAnswer,
    Reward,
    ScoreAnswer,
    ScoreRequest,
    ScoreResponse,
    VerdictAnswer,
)
from editgauge.serving._scoring import ProcessEndedError, SharedScoring
from editgauge.types import Reason


class Scoring:
    """Answers when it may, and counts what it was asked and what was stopped."""

    models: Mapping[str, str] = {}

    def __init__(self, reason: Reason | None = None, fails: Exception | None = None) -> None:
        self.began, self.may_end, self.stopped = asyncio.Event(), asyncio.Event(), asyncio.Event()
        self.asked = 0
        self._reason, self._fails = reason, fails

    async def warm_up(self) -> None:
        if self._fails:
            raise self._fails

    async def score(self, request: ScoreRequest) -> BatchResult:
        self.asked += 1
        self.began.set()
        try:
            await self.may_end.wait()
        except asyncio.CancelledError:
            self.stopped.set()
            raise
        return answer(self._reason)

    def close(self) -> None:
        pass


def answer(reason: Reason | None) -> BatchResult:
    verdict = VerdictAnswer(
        done="cannot tell",
        done_because="",
        kept="cannot tell",
        kept_because="",
        quality="cannot tell",
        quality_because="",
        confidence="low",
        precision=None,
        sources=(),
        advice="",
    )
    score = ScoreAnswer(
        protocol="p",
        name="edit",
        value=None,
        status="unscored",
        reason=reason,
        higher_is_better=True,
        range=(0.0, 1.0),
    )
    edit = EditAnswer(edit_type=UNSPECIFIED, subject=None, to=None, position=None, steps=[], **{"from": None})
    reward = Reward(value=None, abstained=True, reason=reason)
    return BatchResult(result=ScoreResponse(verdict=verdict, reward=reward, scores=[score], edit=edit))


def request(**fields: Any) -> ScoreRequest:
    return ScoreRequest(**{"sources": ["AAAA"], "outcome": "BBBB", "instruction": "Make it darker.", **fields})


def test_equal_requests_are_scored_once_while_they_wait_and_afterwards() -> None:
    async def scene() -> int:
        scoring = Scoring("not_detected")
        shared = SharedScoring(scoring)
        waiting = [asyncio.ensure_future(shared.score(request())) for _ in range(3)]
        await scoring.began.wait()
        waiting[0].cancel()
        scoring.may_end.set()
        await asyncio.gather(*waiting[1:])
        await shared.score(request())
        return scoring.asked

    assert asyncio.run(scene()) == 1


@pytest.mark.parametrize(
    ("reason", "fields"),
    [("unreachable", {}), ("not_detected", {"evidence": True})],
    ids=["a reason that may pass", "large evidence"],
)
def test_what_may_change_or_is_large_is_scored_again(reason: Reason, fields: dict[str, Any]) -> None:
    async def scene() -> int:
        scoring = Scoring(reason)
        scoring.may_end.set()
        shared = SharedScoring(scoring)
        for _ in range(2):
            await shared.score(request(**fields))
        return scoring.asked

    assert asyncio.run(scene()) == 2


def test_only_the_latest_answers_are_kept() -> None:
    async def scene() -> int:
        scoring = Scoring("not_detected")
        scoring.may_end.set()
        shared = SharedScoring(scoring, max_answers=2)
        for instruction in ("one", "two", "one", "three", "one", "two"):
            await shared.score(request(instruction=instruction))
        return scoring.asked

    assert asyncio.run(scene()) == 4, "one, two, three, and two again"


def test_scoring_stops_when_all_clients_that_wait_for_it_have_left() -> None:
    async def scene() -> tuple[bool, str]:
        scoring = Scoring()
        app = make_app(scoring)
        content = request().model_dump_json(by_alias=True).encode()
        leave = asyncio.Event()
        messages = iter([{"type": "http.request", "body": content, "more_body": False}])

        async def receive() -> Any:
            for message in messages:
                return message
            await leave.wait()
            return {"type": "http.disconnect"}

        async def send(_: Any) -> None:
            pass

        scope: dict[str, Any] = {
            "type": "http",
            "method": "POST",
            "path": "/v1/score",
            "raw_path": b"/v1/score",
            "query_string": b"",
        }
        scope |= {"headers": [(b"content-type", b"application/json")], "client": None, "server": ("here", 80)}
        scope |= {"scheme": "http", "http_version": "1.1", "root_path": ""}
        asked = asyncio.ensure_future(app(scope, receive, send))
        await scoring.began.wait()
        was_stopped_before = scoring.stopped.is_set()
        leave.set()
        await asyncio.wait_for(scoring.stopped.wait(), 30)
        await asked
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://here") as http:
            return was_stopped_before, (await http.get("/metrics")).text

    was_stopped_before, metrics = asyncio.run(scene())
    assert not was_stopped_before
    assert 'path="/v1/score",status="499"} 1.0' in metrics


@pytest.mark.parametrize("deaths", [1, 100])
def test_a_service_is_ready_after_a_worker_was_killed_during_warm_up(deaths: int) -> None:
    class Mortal(Scoring):
        async def warm_up(self) -> None:
            nonlocal deaths
            deaths -= 1
            if deaths >= 0:
                raise ProcessEndedError

    async def scene() -> bool:
        scoring = Mortal()
        service = ScoreService(scoring, ServiceLimits())
        await service.warm_up()
        if not service.is_ready:
            assert "memory" in service.problem
            scoring.may_end.set()
            await service.score([request()])
        return service.is_ready and not service.problem

    assert asyncio.run(scene())


def test_an_unexpected_error_is_counted() -> None:
    class Broken(Scoring):
        async def score(self, request: ScoreRequest) -> BatchResult:
            raise RuntimeError("a bug")

    async def scene() -> str:
        transport = httpx.ASGITransport(make_app(Broken()), raise_app_exceptions=False)
        async with httpx.AsyncClient(transport=transport, base_url="http://here") as http:
            await http.post("/v1/score", json=request().model_dump(by_alias=True))
            return (await http.get("/metrics")).text

    assert 'path="/v1/score",status="500"} 1.0' in asyncio.run(scene())


@pytest.mark.parametrize(
    ("fails", "lacks", "problem"),
    [
        (None, "Not asked: editgauge. detector: not on this machine", "detector: not on this machine"),
        (EditGaugeError("The weights are damaged."), "", "The weights are damaged."),
        (RuntimeError("an error of a library"), "", "RuntimeError: an error of a library"),
    ],
)
def test_a_service_without_usable_models_is_not_ready_and_says_why(
    fails: Exception | None, lacks: str, problem: str
) -> None:
    async def scene() -> httpx.Response:
        app = make_app(Scoring(fails=fails), lacks=lacks)
        async with (
            app.router.lifespan_context(app),
            httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://here") as http,
        ):
            while (answer := await http.get("/readyz")).json()["status"] == "loading":
                await asyncio.sleep(0)
            return answer

    ready = asyncio.run(scene())
    assert ready.status_code == 503
    assert ready.json()["status"] == "unusable"
    assert problem in ready.json()["problem"]
