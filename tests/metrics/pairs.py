"""Photographs and what noise, blur, compression and brightness make of them, for the tests of every metric."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any, cast

import cv2
import numpy as np
import pytest
import skimage.data
from numpy.typing import NDArray

from editgauge._util.batching import run_async
from editgauge._util.images import ImageFile, Pixels, Unit, as_unit
from editgauge._util.masks import BoolMask
from editgauge.models.perception import ModelService
from editgauge.models.profiles import is_here, make_model
from editgauge.protocols import protocols
from editgauge.types import Edit, Item, Outcome, Score

PHOTOGRAPHS: dict[str, Callable[[], Pixels]] = {
    "cat": skimage.data.chelsea,
    "astronaut": skimage.data.astronaut,
    "coffee": skimage.data.coffee,
    "rocket": skimage.data.rocket,
}


def noisy(image: Pixels) -> Pixels:
    noise = np.random.default_rng(3).normal(0, 20, image.shape)
    return np.clip(image + noise, 0, 255).astype(np.uint8)


def blurred(image: Pixels) -> Pixels:
    return np.asarray(cv2.GaussianBlur(image, (0, 0), 2), dtype=np.uint8)


def compressed(image: Pixels) -> Pixels:
    _, encoded = cv2.imencode(".jpg", image, [cv2.IMWRITE_JPEG_QUALITY, 20])
    return np.asarray(cv2.imdecode(encoded, cv2.IMREAD_COLOR), dtype=np.uint8)


def brightened(image: Pixels) -> Pixels:
    """Much of the sky over the rocket, flat before, is flat after: where float32 would lose digits."""
    return np.minimum(image.astype(np.int64) + 26, 255).astype(np.uint8)


DAMAGES: dict[str, Callable[[Pixels], Pixels]] = {
    "noise": noisy,
    "blur": blurred,
    "jpeg": compressed,
    "brighter": brightened,
}


@cache
def photograph(name: str) -> Pixels:
    return PHOTOGRAPHS[name]()


@cache
def damaged(name: str, damage: str) -> Pixels:
    return DAMAGES[damage](photograph(name))


SIDE = 256
"""Of the corner that is compared of each photograph."""
every_pair = pytest.mark.parametrize(
    ("before", "after"),
    [
        (as_unit(photograph(name)[:SIDE, :SIDE]), as_unit(damaged(name, damage)[:SIDE, :SIDE]))
        for name in PHOTOGRAPHS
        for damage in DAMAGES
    ],
    ids=[f"{name} {damage}" for name in PHOTOGRAPHS for damage in DAMAGES],
)
cat_and_noise = as_unit(photograph("cat")), as_unit(damaged("cat", "noise"))


def exact(image: Unit) -> NDArray[np.float64]:
    return image.astype(np.float64)


def rectangle(top: int, bottom: int, left: int, right: int) -> BoolMask:
    mask = np.zeros(cat_and_noise[0].shape[:2], dtype=np.bool_)
    mask[top:bottom, left:right] = True
    return mask


def unit(values: Any) -> Unit:
    """Any numbers as an image in double precision, which metrics take as well."""
    image: NDArray[Any] = np.asarray(values, dtype=np.float64)
    return image


def needs(model: str) -> pytest.MarkDecorator:
    """Skip a test where the weights of a model are not on this machine."""
    return pytest.mark.skipif(not is_here(make_model(model)), reason=f"NOT TESTED: `editgauge models pull {model}`")


def lacks(model: str) -> pytest.MarkDecorator:
    """Skip a test where the weights of a model are on this machine."""
    return pytest.mark.skipif(is_here(make_model(model)), reason=f"NOT TESTED: {model} is on this machine")


def scored(protocol: str, source: Pixels, edited: Pixels, **models: str) -> dict[str, float]:
    """Return the scores of a protocol for a pair of images."""
    edit = Edit(id="edit", source=ImageFile("source", Path("source.png")), type="color", instruction="Make it red.")
    outcome = Outcome(edit_id="edit", method="method", image=Path("edited.png"))
    item = Item(edit=edit, outcome=outcome, source=source, edited=edited)
    with ModelService(models) as service:
        scores = run_async(protocols.get(protocol).with_models(models).score(item, cast(Any, service)))
    return {name: score.value for name, score in scores.items() if isinstance(score, Score)}


class TinyClip:
    """A joint embedder for tests: colors of images and letters of texts as unit vectors."""

    def embed_images(self, images: Sequence[Pixels]) -> NDArray[np.float64]:
        return self._units([np.resize(image.mean(axis=(0, 1)) - 100, 8) for image in images])

    def embed_texts(self, texts: Sequence[str]) -> NDArray[np.float64]:
        return self._units([np.resize([float(ord(letter)) for letter in text], 8) - 90 for text in texts])

    def _units(self, vectors: list[NDArray[Any]]) -> NDArray[np.float64]:
        return np.array([vector / np.linalg.norm(vector) for vector in vectors])
