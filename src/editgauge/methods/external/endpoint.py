"""A model behind an OpenAI-compatible endpoint for image edits: `POST /v1/images/edits`."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Mapping
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from PIL import Image

from editgauge._util.endpoints import OPENAI, EndpointAddress, model_and_url
from editgauge._util.images import png_bytes, read_image
from editgauge.errors import BadImageError, CannotEditError
from editgauge.judges._faults import RequestError
from editgauge.judges._retry import RetryPolicy
from editgauge.methods import Method
from editgauge.methods.external.exchange import EndpointClient, Files
from editgauge.methods.options import read_options

if TYPE_CHECKING:
    from editgauge._util.images import Pixels
    from editgauge._util.masks import BoolMask
    from editgauge.types import Edit

DEFAULT_KEY_VARIABLE = "EDITGAUGE_EDITOR_KEY"
DEFAULT_SETTINGS: dict[str, Any] = {
    "key": "",
    "timeout": 300.0,
    "attempts": 6,
    "longest_wait": 120.0,
    "at_once": 4,
    "price": 0.0,
    "mask": False,
    "send_seed": False,
    "picture_hosts": "",
}
"""Where the key is, how patient to be, what an outcome costs, and what is sent besides picture and words."""
API_FIELDS = ("size", "quality", "background", "input_fidelity", "output_format", "response_format")
EXTRA_FIELD_PREFIX = "field."
"""Before the name of a field that only some endpoints know: `--option field.guidance_scale=4`."""


class ImageEndpoint(Method):
    """One model of one endpoint.

    Args:
        model: what the endpoint calls it
        url: where the endpoint is, with its `/v1`
        options: by name, as text

    """

    about = "A model behind an OpenAI-compatible endpoint for image edits."
    form = "instruction"
    takes_inputs = True

    def __init__(self, model: str, url: str = OPENAI, options: Mapping[str, str] | None = None) -> None:
        self.name = model.rpartition("/")[2].replace(":", "-")
        self.model = model
        self._url = url
        self._given = dict(options or {})
        extra_fields = {name: "" for name in self._given if name.startswith(EXTRA_FIELD_PREFIX)}
        read = read_options(
            self.name, {**DEFAULT_SETTINGS, **dict.fromkeys(API_FIELDS, ""), **extra_fields}, self._given
        )
        self._fields = {
            name.removeprefix(EXTRA_FIELD_PREFIX): read[name] for name in (*API_FIELDS, *extra_fields) if read[name]
        }
        self.at_once = read["at_once"]
        self.price = read["price"] if "price" in self._given else None
        self._with_mask, self._with_seed = read["mask"], read["send_seed"]
        self._patience = RetryPolicy(
            attempts=read["attempts"], timeout=read["timeout"], longest_wait=read["longest_wait"]
        )
        hosts = [host.strip().lower() for host in read["picture_hosts"].split(",") if host.strip()]
        self._exchange = EndpointClient(EndpointAddress(url, read["key"], DEFAULT_KEY_VARIABLE), hosts)

    def edit(self, edit: Edit, source: Pixels, seed: int) -> Pixels:
        """Return the image that the endpoint sent; a filter's refusal becomes an absence."""
        prompt = self.prompt(edit).text
        fields = {"model": self.model, "prompt": prompt, "n": "1", **self._fields}
        if self._with_seed:
            fields["seed"] = str(seed)
        pictures = [source, *(read_image(image.picture.path) for image in edit.inputs)]
        name = "image" if len(pictures) == 1 else "image[]"
        files = [(name, ("image.png", png_bytes(item), "image/png")) for item in pictures]
        if self._with_mask:
            if edit.mask is None:
                raise CannotEditError(f"the edit '{edit.id}' has no mask, which the endpoint is to be sent")
            height, width = source.shape[:2]
            files.append(("mask", ("mask.png", encode_mask(edit.mask.render(width, height)), "image/png")))
        return _decoded(self._patiently(fields, files, f"{edit.id} {seed}"))

    def settings(self) -> dict[str, Any]:
        """Which model where, and what it is sent; an endpoint that is sent no seed draws its own."""
        return {
            "model": self.model,
            "endpoint": self._exchange.endpoint,
            "fields": self._fields,
            "mask": self._with_mask,
            "seed": "sent with every edit" if self._with_seed else "not sent: the endpoint draws its own",
        }

    def variant(self, options: Mapping[str, str]) -> ImageEndpoint:
        """Return the same model with other options."""
        return ImageEndpoint(self.model, self._url, {**self._given, **options})

    def _patiently(self, fields: dict[str, str], files: Files, what: str) -> bytes:
        failed = 0
        while True:
            try:
                return self._exchange.send(fields, files, self._patience.timeout)
            except RequestError as trouble:
                failed += 1
                pause = self._patience.backoff(failed, what) if trouble.wait is None else trouble.wait
                if failed >= self._patience.attempts or pause > self._patience.longest_wait:
                    tries = f"{failed} {'try' if failed == 1 else 'tries'}"
                    raise CannotEditError(f"unreachable: after {tries}: {trouble.message}") from trouble
                time.sleep(pause)


def open_image_endpoint(address: str) -> ImageEndpoint:
    """Open the endpoint `MODEL@URL`, or `MODEL` at OpenAI."""
    return ImageEndpoint(*model_and_url(address, "An image endpoint is written endpoint:MODEL@URL"))


def _decoded(content: bytes) -> Pixels:
    """Decode the image with the common image loader, which reads files."""
    with tempfile.TemporaryDirectory(prefix="editgauge-") as folder:
        file = Path(folder) / "answer"
        file.write_bytes(content)
        try:
            return read_image(file)
        except BadImageError as error:
            raise CannotEditError(f"crashed: the endpoint sent {len(content):,} bytes that are no picture") from error


def encode_mask(where: BoolMask) -> bytes:
    """Black, and transparent where the picture may change: the form that endpoints for image edits want."""
    rgba = np.zeros((*where.shape, 4), dtype=np.uint8)
    rgba[..., 3] = np.where(where, 0, 255)
    buffer = BytesIO()
    Image.fromarray(rgba).save(buffer, "PNG")
    return buffer.getvalue()
