"""Pictures as they are sent to an endpoint: made smaller if need be, encoded, in a data URL."""

from __future__ import annotations

import base64
import threading
from collections import OrderedDict
from concurrent.futures import Future
from typing import Literal

import cv2

from editgauge._util.images import Pixels, pixel_hash, resized
from editgauge.errors import BadImageError

Encoding = Literal["png", "jpeg"]
JPEG_QUALITY = 90
REMEMBERED = 32
"""Encoded pictures; several questions about one picture are usually asked together."""


def sent_size(pixels: Pixels, most_side: int) -> tuple[int, int]:
    """Width and height of what is sent: the picture's own, or with the longer side at the limit."""
    height, width = pixels.shape[:2]
    shrink = min(1.0, most_side / max(height, width))
    return max(1, round(width * shrink)), max(1, round(height * shrink))


def sent(pixels: Pixels, most_side: int) -> Pixels:
    """The picture as it is sent."""
    return resized(pixels, *sent_size(pixels, most_side))


def data_url(pixels: Pixels, encoding: Encoding) -> str:
    """The picture as a data URL."""
    options = [cv2.IMWRITE_JPEG_QUALITY, JPEG_QUALITY] if encoding == "jpeg" else []
    done, encoded = cv2.imencode(f".{encoding}", cv2.cvtColor(pixels, cv2.COLOR_RGB2BGR), options)
    if not done:
        raise BadImageError(f"A picture of {pixels.shape} could not be encoded as {encoding}.")
    return f"data:image/{encoding};base64,{base64.b64encode(encoded.tobytes()).decode('ascii')}"


class DataUrls:
    """Data URLs of pictures as they are sent, each made once while it is in use. Threads may share it."""

    def __init__(self) -> None:
        self._known: OrderedDict[tuple[str, int, str], Future[str]] = OrderedDict()
        self._lock = threading.Lock()

    def url(self, pixels: Pixels, most_side: int, encoding: Encoding) -> str:
        """The picture's data URL; who wants one that is being made waits for it."""
        key = pixel_hash(pixels), most_side, encoding
        with self._lock:
            known_url = self._known.get(key)
            made = known_url or self._known.setdefault(key, Future())
            self._known.move_to_end(key)
            while len(self._known) > REMEMBERED:
                self._known.popitem(last=False)
        if known_url is None:
            try:
                made.set_result(data_url(sent(pixels, most_side), encoding))
            except Exception as error:
                made.set_exception(error)
        return made.result()
