"""A client of the score service: `editgauge.client(url)`."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, Unpack

from editgauge._util.images import ImageLike, png_bytes, read_image
from editgauge.errors import EditGaugeError

if TYPE_CHECKING:
    import httpx

    from editgauge.engine.scorer import EditDetails


class ServiceError(EditGaugeError):
    """The score service could not be reached, or refused a request; `status` is its HTTP status, 0 when unreachable."""

    def __init__(self, message: str, status: int = 0) -> None:
        super().__init__(message)
        self.status = status


class ScoreClient:
    """Asks a score service; use it as a context manager, or call `close`.

    Args:
        url: address of the service.
        token: one of its tokens, if it needs one.
        timeout: seconds to wait for an answer.

    """

    def __init__(self, url: str, token: str | None = None, timeout: float = 150) -> None:
        try:
            import httpx
        except ImportError as error:
            raise EditGaugeError("The client needs httpx: pip install 'editgauge[serve]'") from error
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        self._http = httpx.Client(base_url=url, headers=headers, timeout=timeout)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def score(
        self,
        before: ImageLike,
        after: ImageLike,
        instruction: str,
        *,
        evidence: bool = False,
        **details: Unpack[EditDetails],
    ) -> dict[str, Any]:
        """Return the verdict, reward and scores of one edited image.

        Args:
            before: source image: a path, a PIL image or an array.
            after: edited image.
            instruction: what the edit asks for.
            evidence: return boxes, outlines and notes with every score.
            details: what is known about the edit, as in `editgauge.score`, without `fields`.

        """
        return self._post("/v1/score", _request(before, after, instruction, evidence=evidence, **details))

    def batch(self, items: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """For each item a `result` or an `error`; an item has the arguments of `score` by name."""
        requests = [_request(**item) for item in items]
        results: list[dict[str, Any]] = self._post("/v1/batch", {"items": requests})["results"]
        return results

    def is_ready(self) -> bool:
        """Whether the service has loaded its models."""
        return self._send("GET", "/readyz").status_code == 200

    def _post(self, path: str, body: Mapping[str, Any]) -> dict[str, Any]:
        response = self._send("POST", path, json=body)
        if response.status_code != 200:
            status = response.status_code
            raise ServiceError(f"The score service answered {status}: {_why(response)}", status)
        content: dict[str, Any] = response.json()
        return content

    def _send(self, method: str, path: str, **content: Any) -> httpx.Response:
        import httpx

        try:
            return self._http.request(method, path, **content)
        except httpx.HTTPError as error:
            raise ServiceError(f"The score service at {self._http.base_url} cannot be reached: {error}.") from error


def client(url: str, token: str | None = None, timeout: float = 150) -> ScoreClient:
    """Create a client of the score service at a URL.

    >>> service = editgauge.client("http://127.0.0.1:8080")  # doctest: +SKIP
    >>> service.score("before.png", "after.png", "make the cat black")["reward"]  # doctest: +SKIP
    """
    return ScoreClient(url, token, timeout)


def _request(before: ImageLike, after: ImageLike, instruction: str, **fields: Any) -> dict[str, Any]:
    body = {"sources": [_encoded(before)], "outcome": _encoded(after), "instruction": instruction}
    mask = {"mask": _encoded(fields["mask"])} if fields.get("mask") is not None else {}
    return {**body, **{name.rstrip("_"): value for name, value in fields.items()}, **mask}


def _encoded(image: ImageLike) -> str:
    """Encode a file as it is, and anything else as PNG."""
    content = Path(image).read_bytes() if isinstance(image, str | Path) else png_bytes(read_image(image))
    return base64.b64encode(content).decode()


def _why(response: httpx.Response) -> str:
    try:
        return str(response.json()["error"]["detail"])
    except (ValueError, KeyError, TypeError):
        return response.text[:200]
