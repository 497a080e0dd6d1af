"""Changes of the image as a whole: measured on photographs, and monotonic in their strength."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import cv2
import numpy as np
import pytest
import skimage

from editgauge._util.images import Pixels
from editgauge._vision.disturbances import measure_disturbance
from editgauge._vision.registration import align

PHOTOGRAPHS: dict[str, Callable[[], Pixels]] = {
    name: getattr(skimage.data, name) for name in ("astronaut", "chelsea", "coffee", "rocket")
}


def blur(image: Pixels, strength: float) -> Pixels:
    return np.asarray(cv2.GaussianBlur(image, (0, 0), 4 * strength), np.uint8) if strength else image


def add_noise(image: Pixels, strength: float) -> Pixels:
    noise = np.random.default_rng(0).standard_normal(image.shape)
    return np.clip(image + 40 * strength * noise, 0, 255).astype(np.uint8)


def desaturate(image: Pixels, strength: float) -> Pixels:
    gray = cv2.cvtColor(image, cv2.COLOR_RGB2GRAY)[..., np.newaxis].astype(np.float32)
    return np.asarray(image + strength * (gray - image), np.float32).astype(np.uint8)


def shift_hue(image: Pixels, strength: float) -> Pixels:
    hsv = cv2.cvtColor(image, cv2.COLOR_RGB2HSV)
    hsv[..., 0] = (hsv[..., 0].astype(int) + round(60 * strength)) % 180
    return np.asarray(cv2.cvtColor(hsv, cv2.COLOR_HSV2RGB), np.uint8)


def darken(image: Pixels, strength: float) -> Pixels:
    return (image * (1 - 0.6 * strength)).astype(np.uint8)


DEGRADATIONS = (blur, add_noise, desaturate, shift_hue, darken)
FRAMES: dict[str, Callable[[Pixels], Pixels]] = {
    "mirrored": lambda image: np.ascontiguousarray(image[:, ::-1]),
    "upside down": lambda image: np.ascontiguousarray(image[::-1, ::-1]),
}


@pytest.fixture(scope="module", params=PHOTOGRAPHS)
def photograph(request: pytest.FixtureRequest) -> Pixels:
    image = PHOTOGRAPHS[request.param]()
    scale = 384 / max(image.shape[:2])
    return np.ascontiguousarray(cv2.resize(image[..., :3], None, fx=scale, fy=scale, interpolation=cv2.INTER_AREA))


def severity(source: Pixels, edited: Pixels) -> float:
    return measure_disturbance(source, edited, align(source, edited)).severity


def test_an_untouched_image_is_not_disturbed(photograph: Pixels) -> None:
    disturbance = measure_disturbance(photograph, photograph, align(photograph, photograph))

    assert disturbance.severity == 0
    assert disturbance.sentences == ()


@pytest.mark.parametrize("degrade", DEGRADATIONS)
def test_severity_rises_with_strength_and_ends_high(
    degrade: Callable[[Pixels, float], Pixels], photograph: Pixels
) -> None:
    values = [severity(photograph, degrade(photograph, strength)) for strength in (0.0, 0.2, 0.4, 0.7, 1.0)]

    assert all(later >= sooner - 0.02 for sooner, later in pairwise(values))
    assert values[0] == 0
    assert values[-1] > 0.5


@pytest.mark.parametrize("frame", FRAMES)
def test_another_frame_is_severe_and_put_into_words(frame: str, photograph: Pixels) -> None:
    edited = FRAMES[frame](photograph)
    disturbance = measure_disturbance(photograph, edited, align(photograph, edited))

    assert disturbance.severity > 0.4
    assert disturbance.sentences


def test_an_edit_of_one_region_does_not_disturb_the_image(photograph: Pixels) -> None:
    edited = photograph.copy()
    height, width = edited.shape[:2]
    edited[height // 3 : height // 2, width // 3 : width // 2] = (200, 30, 30)

    assert severity(photograph, edited) == 0


def test_a_slightly_shifted_frame_is_forgiven(photograph: Pixels) -> None:
    moved = np.asarray(
        cv2.warpAffine(photograph, np.array([[1.0, 0, 3], [0, 1, 2]]), photograph.shape[1::-1]), np.uint8
    )

    assert severity(photograph, moved) < 0.2


def test_what_a_mask_allows_is_not_compared(photograph: Pixels) -> None:
    editable = np.ones(photograph.shape[:2], np.bool_)
    editable[:, : photograph.shape[1] // 3] = False
    edited = np.where(editable[..., np.newaxis], desaturate(photograph, 1.0), photograph)
    alignment = align(photograph, edited)

    assert measure_disturbance(photograph, edited, alignment, editable).severity < 0.2
    assert measure_disturbance(photograph, edited, alignment).severity > 0.3


def test_noise_counts_on_a_textured_image_too() -> None:
    texture = np.random.default_rng(1).integers(0, 256, (96, 96, 3)).astype(np.uint8)
    image = np.asarray(cv2.resize(texture, (384, 384), interpolation=cv2.INTER_CUBIC), np.uint8)

    assert severity(image, add_noise(image, 1.0)) > 0.5
