"""MI-GAN on photographs: it fills the hole, and nothing but the hole."""

from __future__ import annotations

from typing import Any

import cv2
import numpy as np
import pytest
import skimage.data

from editgauge._util.images import Pixels
from editgauge._util.masks import BoolMask
from editgauge.errors import BadInputError, UnscorableError
from editgauge.models.lite.migan import MiGan
from editgauge.models.profiles import make_models
from editgauge.models.roles import Inpainter
from editgauge.models.weights import available

photographs: Any = skimage.data
needs_weights = pytest.mark.skipif(not available("migan"), reason="NOT TESTED: run `editgauge models pull migan`")


@pytest.fixture(scope="module")
def migan() -> MiGan:
    return MiGan()


def hole_in(picture: Pixels, rows: slice, columns: slice) -> BoolMask:
    hole = np.zeros(picture.shape[:2], np.bool_)
    hole[rows, columns] = True
    return hole


@pytest.mark.slow
@needs_weights
def test_a_gap_in_a_surface_is_filled_with_that_surface(migan: MiGan) -> None:
    bricks = np.repeat(photographs.brick()[..., None], 3, axis=2)
    hole = hole_in(bricks, slice(200, 290), slice(180, 300))
    torn = np.where(hole[..., None], np.array([255, 0, 255], np.uint8), bricks)

    mended = migan.fill([(torn, hole)])[0]
    assert np.array_equal(mended[~hole], bricks[~hole])
    assert np.abs(mended[hole].mean(axis=0) - bricks[hole].mean(axis=0)).max() < 10
    roughness = [float(cv2.Laplacian(picture[..., 0], cv2.CV_32F)[hole].std()) for picture in (mended, bricks)]
    assert 0.4 < roughness[0] / roughness[1] < 2.5, "neither a smear nor noise"


@needs_weights
@pytest.mark.parametrize(("width", "height"), [(96, 64), (31, 200), (700, 500)])
@pytest.mark.slow
def test_any_size_is_taken_and_the_rest_stays(migan: MiGan, width: int, height: int) -> None:
    picture = np.asarray(cv2.resize(photographs.astronaut(), (width, height)), np.uint8)
    hole = hole_in(picture, slice(0, height // 3), slice(width // 2, width))
    filled = migan.fill([(picture, hole)])[0]
    assert filled.shape == picture.shape
    assert filled.dtype == np.uint8
    assert np.array_equal(filled[~hole], picture[~hole])
    assert not np.array_equal(filled[hole], picture[hole])


def test_without_a_hole_there_is_nothing_to_do_and_without_surroundings_nothing_to_go_by(migan: MiGan) -> None:
    picture: Pixels = photographs.chelsea()
    nothing = np.zeros(picture.shape[:2], np.bool_)
    assert np.array_equal(migan.fill([(picture, nothing)])[0], picture)
    with pytest.raises(UnscorableError, match="whole picture"):
        migan.fill([(picture, ~nothing)])


def test_it_says_what_it_is(migan: MiGan) -> None:
    assert isinstance(migan, Inpainter)
    assert migan.card.role == "inpainter"
    assert migan.card.license == "MIT"
    assert len(migan.card.sha256) == 64


def test_other_models_cannot_play_the_role() -> None:
    with pytest.raises(BadInputError, match="cannot play the role 'inpainter'"):
        make_models({"inpainter": "u2netp"})
