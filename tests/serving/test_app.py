"""The score service over a real socket: same scores as in Python, and a reason for everything it refuses."""

from __future__ import annotations

import asyncio
import base64
import json
import signal
import socket
import subprocess
import sys
import threading
import zlib
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest
import uvicorn

import editgauge
from editgauge._util.http import server_config
from editgauge._util.images import Pixels, png_bytes
from editgauge.edit_types import UNSPECIFIED
from editgauge.engine.scorer import Scorer
from editgauge.errors import BadInputError, EditGaugeError
from editgauge.serving._app import RefusalError, ScoreService, ServiceLimits, make_app
from editgauge.serving._schema import (
    BatchResult,
    EditAnswer,
    Reward,
    ScoreAnswer,
    ScoreRequest,
    ScoreResponse,
    VerdictAnswer,
)
from editgauge.serving._scoring import OneScorer, ProcessEndedError, SharedScoring
from editgauge.serving.client import ScoreClient, ServiceError
from editgauge.serving.serve import serve
from editgauge.types import Reason

TOKEN = "a-token-of-some-length"


class Online:
    """A service on a free port, in a thread."""

    def __init__(self, scorer: Scorer, **options: Any) -> None:
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.address = f"http://127.0.0.1:{self._socket.getsockname()[1]}"
        self._server = uvicorn.Server(server_config(make_app(OneScorer(scorer), **options)))
        self._thread = threading.Thread(target=self._server.run, kwargs={"sockets": [self._socket]})

    def __enter__(self) -> str:
        self._thread.start()
        while not httpx.get(f"{self.address}/readyz").is_success:
            pass
        return self.address

    def __exit__(self, *_: object) -> None:
        self._server.should_exit = True
        self._thread.join()
        self._socket.close()


@pytest.fixture(scope="module")
def scorer() -> Iterator[Scorer]:
    with Scorer(["preservation"]) as scorer:
        yield scorer


@pytest.fixture(scope="module")
def address(scorer: Scorer) -> Iterator[str]:
    with Online(scorer, limits=ServiceLimits(batch_items=4, items_at_once=4, request_bytes=2_000_000)) as address:
        yield address


def text(content: bytes) -> str:
    return base64.b64encode(content).decode()


def body(before: Pixels, after: Pixels, **fields: Any) -> dict[str, Any]:
    pictures = {"sources": [text(png_bytes(before))], "outcome": text(png_bytes(after))}
    return {**pictures, "instruction": "Make it darker.", **fields}


@pytest.fixture
def after(photo: Pixels) -> Pixels:
    return photo // 2


def test_a_client_gets_the_scores_of_the_same_call_in_python(address: str, photo: Pixels, after: Pixels) -> None:
    mask = np.zeros(photo.shape[:2], np.uint8)
    mask[20:60, 20:60] = 255
    here = editgauge.score(photo, after, "Make it darker.", mask=mask, protocol=["preservation"])

    with editgauge.client(address) as client:
        answer = client.score(photo, after, "Make it darker.", mask=mask)

    assert [(line["name"], line["value"]) for line in answer["scores"]] == [(each.name, each.value) for each in here]
    assert answer["verdict"]["sentence"] == here.verdict.sentence
    assert answer["scores"][0]["evidence"] == []


def test_a_reward_that_cannot_be_told_is_an_abstention_not_a_number(address: str, photo: Pixels) -> None:
    with ScoreClient(address) as client:
        reward = client.score(photo, photo, "Make it darker.")["reward"]

    assert reward == {"value": None, "abstained": True, "reason": "no_rule"}


def test_items_of_a_batch_fail_alone(address: str, photo: Pixels, after: Pixels, tmp_path: Path) -> None:
    good = body(photo, after)
    file = png_bytes(photo)
    header = file[12:16] + (60_000).to_bytes(4) * 2 + file[24:29]
    bomb = file[:12] + header + zlib.crc32(header).to_bytes(4) + file[33:]
    items = [good, {**good, "outcome": text(b"no image")}, {**good, "outcome": text(bomb)}, {**good, "outcome": "§"}]

    results = httpx.post(f"{address}/v1/batch", json={"items": items}, timeout=60).json()["results"]

    assert [("error" if each["error"] else "result") for each in results] == ["result", "error", "error", "error"]
    assert "not an image" in results[1]["error"]["detail"]
    assert "absurd size" in results[2]["error"]["detail"]
    assert "not base64" in results[3]["error"]["detail"]


@pytest.mark.parametrize(
    ("changes", "detail"),
    [
        ({"outcome": text(b"no image")}, "not an image"),
        ({"edit_type": "nonsense"}, "edit type"),
        ({"position": "sideways"}, "position"),
        ({"surprise": 1}, "surprise"),
        ({"instruction": "x" * 20_001}, "instruction"),
        ({"instruction": "\ud800"}, ""),
        ({"mask": ""}, "mask"),
        ({"sources": []}, "sources"),
        ({"instruction": None}, "instruction"),
    ],
)
def test_bad_requests_get_a_reason(address: str, photo: Pixels, changes: dict[str, Any], detail: str) -> None:
    content = json.dumps(body(photo, photo) | changes)
    response = httpx.post(f"{address}/v1/score", content=content, headers={"Content-Type": "application/json"})

    assert response.status_code == 422
    assert detail in response.json()["error"]["detail"]


def test_a_lone_surrogate_fails_its_own_item_only(address: str, photo: Pixels, after: Pixels) -> None:
    good = body(photo, after)
    content = json.dumps({"items": [good, {**good, "outcome": "\ud800"}]})
    response = httpx.post(
        f"{address}/v1/batch", content=content, headers={"Content-Type": "application/json"}, timeout=60
    )

    assert response.status_code == 200
    first, second = response.json()["results"]
    assert first["result"]
    assert "not base64" in second["error"]["detail"]


def test_duplicate_keys_are_refused(address: str, photo: Pixels) -> None:
    content = json.dumps(body(photo, photo))[:-1] + ', "instruction": "Remove the dog."}'
    response = httpx.post(f"{address}/v1/score", content=content, headers={"Content-Type": "application/json"})

    assert response.status_code == 422
    assert "'instruction'" in response.json()["error"]["detail"]


def test_the_token_check_ignores_the_host_header(scorer: Scorer) -> None:
    with Online(scorer, tokens=(TOKEN,)) as address:
        response = httpx.get(f"{address}/metrics", headers={"Host": "x/healthz?"})

    assert response.status_code in {400, 401}


def test_two_source_images_are_refused_not_ignored(address: str, photo: Pixels) -> None:
    picture = text(png_bytes(photo))
    response = httpx.post(f"{address}/v1/score", json=body(photo, photo, sources=[picture, picture]))

    assert response.status_code == 422
    assert "2 source images" in response.json()["error"]["detail"]


@pytest.mark.parametrize("content", [b"", b"{", b"[1]", b"\xff\xfe", b'{"items": 1e999}'])
def test_what_is_no_request_gets_422(address: str, content: bytes) -> None:
    headers = {"Content-Type": "application/json"}
    assert httpx.post(f"{address}/v1/batch", content=content, headers=headers).status_code == 422


def test_limits_of_size_and_number(address: str, photo: Pixels) -> None:
    small = np.zeros((16, 16, 3), np.uint8)
    many = [body(small, small)] * 5
    large = text(np.random.default_rng(0).bytes(2_000_000))

    assert httpx.post(f"{address}/v1/batch", json={"items": many}).json()["error"]["reason"] == "too_many_items"
    assert httpx.post(f"{address}/v1/score", json=body(small, small) | {"outcome": large}).status_code == 413


def test_a_service_that_is_full_says_try_again(scorer: Scorer, photo: Pixels) -> None:
    with Online(scorer, limits=ServiceLimits(items_at_once=1)) as address:
        response = httpx.post(f"{address}/v1/batch", json={"items": [body(photo, photo)] * 2})

    assert response.status_code == 429
    assert response.headers["Retry-After"] == "1"


def test_a_request_that_takes_too_long_is_stopped(scorer: Scorer, photo: Pixels) -> None:
    with Online(scorer, limits=ServiceLimits(seconds=0)) as address:
        response = httpx.post(f"{address}/v1/score", json=body(photo, photo))

    assert (response.status_code, response.json()["error"]["reason"]) == (503, "timeout")


def test_tokens_are_needed_but_for_health(scorer: Scorer, photo: Pixels) -> None:
    with Online(scorer, tokens=(TOKEN,)) as address:
        assert httpx.get(f"{address}/healthz").json() == {"status": "ok"}
        with ScoreClient(address, token="another-long-token") as stranger, pytest.raises(ServiceError) as refusal:
            stranger.score(photo, photo, "Make it darker.")
        with ScoreClient(address, token=TOKEN) as client:
            assert client.score(photo, photo, "Make it darker.")["scores"]
    assert refusal.value.status == 401
    assert "needs a token" in str(refusal.value)


def test_measurements_and_the_description_of_the_schema(address: str, photo: Pixels) -> None:
    with ScoreClient(address) as client:
        client.score(photo, photo, "Make it darker.")

    metrics = httpx.get(f"{address}/metrics").text
    schema = httpx.get(f"{address}/openapi.json").json()

    assert 'editgauge_requests_total{path="/v1/score",status="200"}' in metrics
    assert 'editgauge_items_total{result="abstained"}' in metrics
    assert {"/v1/score", "/v1/batch"} <= set(schema["paths"])
    assert httpx.get(f"{address}/nothing").status_code == 404


def test_nobody_there_is_said_with_the_address(photo: Pixels) -> None:
    with (
        ScoreClient("http://127.0.0.1:9") as client,
        pytest.raises(ServiceError, match=r"127\.0\.0\.1:9 cannot be reached"),
    ):
        client.score(photo, photo, "Make it darker.")


@pytest.mark.parametrize(
    ("content", "message"), [(None, "open to everyone"), ("short\n", "at least 16"), ("\n", "holds no token")]
)
def test_serving_to_others_needs_tokens(content: str | None, message: str, tmp_path: Path) -> None:
    file = tmp_path / "tokens"
    if content is not None:
        file.write_text(content)
    with pytest.raises(BadInputError, match=message):
        serve(host="0.0.0.0", tokens=None if content is None else file)


@pytest.mark.slow
def test_sigterm_lets_a_running_request_finish(photo: Pixels, after: Pixels) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "editgauge", "serve", "--port", str(port), "--protocol", "preservation", "--quiet"]
    with subprocess.Popen(command) as process, ScoreClient(f"http://127.0.0.1:{port}") as client:
        try:
            while not _is_ready(client):
                assert process.poll() is None
            large = [np.tile(each, (8, 8, 1)) for each in (photo, after)]
            with ThreadPoolExecutor(1) as other:
                answer = other.submit(client.score, large[0], large[1], "Make it darker.")
                while "editgauge_items_at_once 1.0" not in httpx.get(f"http://127.0.0.1:{port}/metrics").text:
                    assert not answer.done(), "answered before it could be seen"
                process.send_signal(signal.SIGTERM)
                assert answer.result()["scores"]
            assert process.wait(timeout=60) == 0
        finally:
            process.kill()
    with pytest.raises(ServiceError, match="cannot be reached"):
        ScoreClient(f"http://127.0.0.1:{port}").is_ready()


def _is_ready(client: ScoreClient) -> bool:
    try:
        return client.is_ready()
    except ServiceError:
        return False


def test_the_page_of_the_schema_is_open_and_needs_no_other_host(scorer: Scorer) -> None:
    with Online(scorer, tokens=(TOKEN,)) as address:
        page = httpx.get(f"{address}/docs")
        schema = httpx.get(f"{address}/openapi.json")

    assert page.is_success
    assert schema.is_success
    assert "//" not in page.text


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
        signature="",
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


def test_the_item_above_the_limit_is_refused_and_the_others_are_scored() -> None:
    async def scene() -> list[int]:
        scoring = Scoring("not_detected")
        service = ScoreService(scoring, ServiceLimits())
        waiting = [
            asyncio.ensure_future(service.score([request(instruction=f"Paint it in shade {number}.")]))
            for number in range(ServiceLimits().items_at_once + 1)
        ]
        await scoring.began.wait()
        scoring.may_end.set()
        results = await asyncio.gather(*waiting, return_exceptions=True)
        await service.score([request(instruction="Now there is room.")])
        return [result.status if isinstance(result, RefusalError) else 200 for result in results]

    assert asyncio.run(scene()) == [200] * 128 + [429]


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
