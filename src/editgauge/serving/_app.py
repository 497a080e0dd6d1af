"""The score service: addresses, limits, tokens, measurements."""

from __future__ import annotations

import asyncio
import collections
import hmac
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager
from dataclasses import dataclass
from importlib import resources
from typing import Any, TypeVar

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, JSONResponse, PlainTextResponse, Response
from fastapi.routing import APIRoute
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Receive, Scope, Send

from editgauge import __version__
from editgauge._util.http import bounded
from editgauge.errors import EditGaugeError
from editgauge.serving._schema import (
    BatchRequest,
    BatchResponse,
    BatchResult,
    ErrorResponse,
    Problem,
    ScoreRequest,
    ScoreResponse,
)
from editgauge.serving._scoring import ProcessEndedError, Scoring, SharedScoring

PUBLIC_PATHS = ("/healthz", "/readyz", "/docs", "/openapi.json")
"""Answered without a token: a load balancer has none, nor has a browser that opens a page."""
CLIENT_CLOSED_REQUEST = 499
"""Counted as the status of a request whose client did not wait for the answer."""
MAX_WARM_UPS = 3
"""Attempts to load the models when a process is killed meanwhile."""
PROCESS_ENDED = "A process that loads the models ended; is memory short?"
T = TypeVar("T")
DOCS_PAGE = resources.files("editgauge.serving").joinpath("docs.html")
"""Shows the schema; unlike FastAPI's own page it needs nothing from other hosts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceLimits:
    """What clients may take."""

    request_bytes: int = 64_000_000
    batch_items: int = 64
    items_at_once: int = 128
    """Items of all requests that are being scored or wait for it; further ones get 429."""
    seconds: float = 120
    """For one request; then 503."""


class RefusalError(Exception):
    """A request that is answered with a status and a reason."""

    def __init__(self, status: int, reason: str, detail: str) -> None:
        super().__init__(detail)
        self.status, self.problem = status, Problem(reason=reason, detail=detail)


class Measurements:
    """What `/metrics` shows, for Prometheus."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.requests = Counter(
            "editgauge_requests", "Requests by address and status", ["path", "status"], registry=self.registry
        )
        self.seconds = Histogram(
            "editgauge_request_seconds", "Seconds until a request was answered", ["path"], registry=self.registry
        )
        self.items = Counter("editgauge_items", "Scored items by result", ["result"], registry=self.registry)
        self.at_once = Gauge("editgauge_items_at_once", "Items being scored or waiting", registry=self.registry)


class ScoreService:
    """Scores items within the limits, and counts them."""

    def __init__(self, scoring: Scoring, limits: ServiceLimits, lacks: str = "") -> None:
        self.scoring, self.limits, self.measured = SharedScoring(scoring), limits, Measurements()
        self.is_ready = False
        self.problem = lacks
        """Why the service is not ready, and will not be without help."""
        self._at_once = 0

    async def warm_up(self) -> None:
        """Load the models; until then `/readyz` reports that the service is not ready."""
        for _ in range(MAX_WARM_UPS):
            try:
                await self.scoring.warm_up()
                self.is_ready = not self.problem
            except EditGaugeError as error:
                self.problem = str(error)
            except ProcessEndedError:  # the next attempt starts another process
                continue
            except Exception as error:
                self.problem = f"The models cannot be loaded: {type(error).__name__}: {error}"
            return
        self.problem = self.problem or PROCESS_ENDED

    async def score(self, requests: list[ScoreRequest]) -> list[BatchResult]:
        """One result for each item; all are scored at once and share the models' batches."""
        most = self.limits.items_at_once
        if self._at_once + len(requests) > most:
            raise RefusalError(429, "busy", f"{self._at_once} items are being scored, {most} at most; try again.")
        self._count(len(requests))
        try:
            async with asyncio.timeout(self.limits.seconds):
                results = await asyncio.gather(*(self.scoring.score(request) for request in requests))
        except TimeoutError as error:
            detail = f"Scoring took longer than {self.limits.seconds:g} seconds and was stopped."
            raise RefusalError(503, "timeout", detail) from error
        except ProcessEndedError as error:
            detail = "The process that scored it ended, maybe for lack of memory; another takes its place. Try again."
            raise RefusalError(503, "process_ended", detail) from error
        finally:
            self._count(-len(requests))
        if self.problem == PROCESS_ENDED:  # the processes that replaced it work
            self.problem, self.is_ready = "", True
        for result in results:
            self.measured.items.labels(_kind(result)).inc()
        return results

    def _count(self, more: int) -> None:
        self._at_once += more
        self.measured.at_once.set(self._at_once)


def make_app(
    scoring: Scoring, *, tokens: tuple[str, ...] = (), limits: ServiceLimits | None = None, lacks: str = ""
) -> FastAPI:
    """Create the application; with tokens, requests need `Authorization: Bearer TOKEN`.

    Args:
        scoring: who scores.
        tokens: tokens of clients; none are needed when there are none.
        limits: what clients may take.
        lacks: models that are missing for a verdict; the service is not ready then.

    """
    limits = limits or ServiceLimits()
    service = ScoreService(scoring, limits, lacks)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        warming = asyncio.create_task(service.warm_up())
        yield
        warming.cancel()
        await asyncio.to_thread(scoring.close)

    app = FastAPI(
        title="EditGauge",
        version=__version__,
        summary="How good is an edited image?",
        docs_url=None,
        redoc_url=None,
        lifespan=lifespan,
    )
    app.add_middleware(BodyLimit, max_bytes=limits.request_bytes)
    app.add_exception_handler(RefusalError, _refused)  # type: ignore[arg-type] # the handler of this very kind
    app.add_exception_handler(HTTPException, _http_error)  # type: ignore[arg-type]
    app.add_exception_handler(RequestValidationError, _invalid)  # type: ignore[arg-type]
    app.router.route_class = _StrictRoute
    _add_routes(app, service)
    _add_middleware(app, service, tokens)
    return app


def _add_routes(app: FastAPI, service: ScoreService) -> None:
    refusals: dict[int | str, dict[str, object]] = {
        status: {"model": ErrorResponse} for status in (401, 408, 413, 422, 429, 503)
    }

    @app.post("/v1/score", responses=refusals)
    async def score(request: ScoreRequest, connection: Request) -> ScoreResponse:
        """Score one edited picture."""
        (only,) = await _until_disconnect(connection, service.score([request]))
        if only.result is None:
            raise RefusalError(422, "bad_input", only.error.detail if only.error else "")
        return only.result

    @app.post("/v1/batch", responses=refusals)
    async def batch(request: BatchRequest, connection: Request) -> BatchResponse:
        """Score several edited pictures; each has a result or an error of its own."""
        if len(request.items) > service.limits.batch_items:
            detail = f"{len(request.items)} items, {service.limits.batch_items} at most; send several batches."
            raise RefusalError(413, "too_many_items", detail)
        return BatchResponse(results=await _until_disconnect(connection, service.score(request.items)))

    @app.get("/docs", include_in_schema=False)
    async def docs() -> HTMLResponse:
        return HTMLResponse(DOCS_PAGE.read_text("utf-8"))

    @app.get("/healthz")
    async def healthz() -> dict[str, str]:
        """Whether the process runs."""
        return {"status": "ok"}

    @app.get("/readyz")
    async def readyz() -> JSONResponse:
        """Whether the models are loaded."""
        if service.is_ready:
            return JSONResponse({"status": "ready", "models": dict(service.scoring.models)})
        return JSONResponse({"status": "unusable" if service.problem else "loading", "problem": service.problem}, 503)

    @app.get("/metrics")
    async def metrics() -> PlainTextResponse:
        """Return counts and times for Prometheus."""
        return PlainTextResponse(generate_latest(service.measured.registry), media_type=CONTENT_TYPE_LATEST)


def _add_middleware(app: FastAPI, service: ScoreService, tokens: tuple[str, ...]) -> None:
    """Check tokens and count requests; call it after all routes are added."""
    paths = frozenset(route.path for route in app.routes if hasattr(route, "path"))

    @app.middleware("http")
    async def measured(request: Request, call_next: Callable[[Request], Awaitable[Response]]) -> Response:
        requested = request.scope["path"]  # `request.url` is built from the Host header, which clients control
        path = requested if requested in paths else "other"
        with service.measured.seconds.labels(path).time():
            if requested not in PUBLIC_PATHS and not _has_token(request, tokens):
                detail = "This service needs a token: send 'Authorization: Bearer TOKEN'."
                response: Response = _error(401, Problem(reason="no_token", detail=detail))
            else:
                with service.measured.requests.labels(path, "500").count_exceptions():
                    response = await call_next(request)
        service.measured.requests.labels(path, str(response.status_code)).inc()
        return response


class _StrictRequest(Request):
    """A request whose JSON must not repeat a key, since clients and proxies disagree on which value counts."""

    async def json(self) -> Any:
        return json.loads(await self.body(), object_pairs_hook=_unique_keys)


class _StrictRoute(APIRoute):
    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()

        async def handle_strictly(request: Request) -> Response:
            return await handle(_StrictRequest(request.scope, request.receive))

        return handle_strictly


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    content = dict(pairs)
    if len(content) < len(pairs):
        repeated = next(key for key, count in collections.Counter(key for key, _ in pairs).items() if count > 1)
        raise HTTPException(422, f"The key {ascii(repeated)[:100]} is repeated in an object.")
    return content


async def _until_disconnect(connection: Request, work: Coroutine[Any, Any, T]) -> T:
    """Await the work, and cancel it when the client disconnects."""
    working, gone = asyncio.ensure_future(work), asyncio.ensure_future(_disconnected(connection))
    try:
        await asyncio.wait({working, gone}, return_when=asyncio.FIRST_COMPLETED)
        if not working.done():
            raise RefusalError(
                CLIENT_CLOSED_REQUEST, "disconnected", "The client disconnected before the answer; scoring was stopped."
            )
        return working.result()
    finally:
        working.cancel()
        gone.cancel()


async def _disconnected(connection: Request) -> None:
    while (await connection.receive())["type"] != "http.disconnect":
        pass


class BodyLimit:
    """Refuses requests that are too large or too slow, before they are parsed."""

    def __init__(self, app: ASGIApp, max_bytes: int) -> None:
        self.app, self.max_bytes = app, max_bytes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Hands the request on with a bounded body."""
        await self.app(scope, bounded(receive, self.max_bytes) if scope["type"] == "http" else receive, send)


def _kind(item: BatchResult) -> str:
    """Return the label under which `/metrics` counts an item."""
    if item.result is None:
        return "refused"
    return "abstained" if item.result.reward.abstained else "scored"


def _has_token(request: Request, tokens: tuple[str, ...]) -> bool:
    sent = request.headers.get("authorization", "").removeprefix("Bearer ").encode()
    return not tokens or any(hmac.compare_digest(sent, token.encode()) for token in tokens)


def _error(status: int, problem: Problem) -> JSONResponse:
    headers = {"Retry-After": "1"} if status in {429, 503} else {}
    return JSONResponse(ErrorResponse(error=problem).model_dump(), status, headers)


def _refused(_: Request, error: RefusalError) -> JSONResponse:
    return _error(error.status, error.problem)


def _http_error(_: Request, error: HTTPException) -> JSONResponse:
    return _error(error.status_code, Problem(reason="refused", detail=str(error.detail)))


def _invalid(_: Request, error: RequestValidationError) -> JSONResponse:
    """Names the fields at fault; what they held is not repeated, for it may be an image."""
    faults = "; ".join(
        f"{'.'.join(str(part) for part in fault['loc'][1:])}: {fault['msg']}" for fault in error.errors()
    )
    return _error(422, Problem(reason="bad_input", detail=faults[:2000]))
