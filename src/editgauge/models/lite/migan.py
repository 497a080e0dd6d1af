"""MI-GAN (Sargsyan et al. 2023), run by onnxruntime: what could be where something was cut out.

The file holds the whole way: it looks at a square around the hole, fills it at 512 x 512 pixels, and lays the filling
back into the image. It also touches a rim outside of the hole, which is put back here.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from editgauge._util.images import Pixels
from editgauge._util.masks import BoolMask
from editgauge.errors import UnscorableError
from editgauge.models.lite._runtime import FromCatalog, onnx_session

FILE = "migan_pipeline_v2.onnx"
KNOWN_PIXEL = 255
"""How the network is told that a pixel stays; the hole is 0."""


class MiGan(FromCatalog):
    """Role `inpainter`: about 1 s per hole."""

    role = "inpainter"
    batch = 1
    id = "MI-GAN"
    weights = ("migan",)

    def fill(self, questions: Sequence[tuple[Pixels, BoolMask]]) -> list[Pixels]:
        """Fill the hole of each image; pixels outside stay unchanged."""
        return [self._filled(image, hole) for image, hole in questions]

    def _filled(self, image: Pixels, hole: BoolMask) -> Pixels:
        if hole.all():
            raise UnscorableError("not_applicable", "the hole is the whole picture: nothing is left to fill it from")
        if not hole.any():
            return image
        planes = np.ascontiguousarray(image.transpose(2, 0, 1)[np.newaxis])
        keep_mask = np.where(hole, 0, KNOWN_PIXEL).astype(np.uint8)[np.newaxis, np.newaxis]
        (filled,) = self._session.run(None, {"image": planes, "mask": keep_mask})
        return np.where(hole[..., np.newaxis], filled[0].transpose(1, 2, 0), image)

    @cached_property
    def _session(self) -> Any:
        return onnx_session(self._file(FILE), self.id, self._threads)
