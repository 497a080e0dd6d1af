"""A picture redrawn as a whole, as generative editors do: what it shows stays, and hardly a pixel does.

Such editors pass the picture through an autoencoder and resample it. So fine detail is lost and invented, texture and
tones differ everywhere, and objects are slightly displaced. A score that relies on untouched pixels fails here.
"""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray

from editgauge._util.images import Pixels

Floats = NDArray[np.float32]

LATENT = 3.0
"""By how much the sides are divided where an autoencoder keeps the picture."""
COLORS = 2.0
"""By how much more those of the colors are: they are kept more coarsely than light."""
SHARPENED = 0.8
"""How much of the lost contrast is put back at edges, beyond what was there."""
MOVED = 0.008
"""How far things move at most, of the longer side."""
WIDE = 0.1
"""Of the longer side: what is nearer than this moves together."""
GRAIN = 5.0
"""Standard deviation of the invented texture, in levels of 255."""
TONES = 0.12
"""How far the exponent of the tone curve may lie from 1."""


def redrawn(picture: Pixels, seed: int) -> Pixels:
    """Redraw an image: the same objects and positions, other texture, tones and pixels."""
    chance = np.random.default_rng(seed)
    drawn = _through_a_latent(_laid_out_anew(picture, chance))
    toned = 255 * (drawn / 255) ** (1 + chance.uniform(-TONES, TONES))
    return np.asarray(np.clip(toned + _texture(picture, chance), 0, 255), np.uint8)


def _laid_out_anew(picture: Pixels, chance: np.random.Generator) -> Pixels:
    """Everything a few pixels aside, neighbors together."""
    height, width = picture.shape[:2]
    side = max(height, width)
    fields = [_smooth(chance.normal(size=(height, width)), WIDE * side) for _ in range(2)]
    across, down = (MOVED * side * field / np.abs(field).max() for field in fields)
    columns, rows = np.meshgrid(np.arange(width, dtype=np.float32), np.arange(height, dtype=np.float32))
    moved = cv2.remap(picture, columns + across, rows + down, cv2.INTER_CUBIC, borderMode=cv2.BORDER_REFLECT)
    return np.asarray(moved, np.uint8)


def _through_a_latent(picture: Pixels) -> Floats:
    """Light and colors kept in fewer numbers, and drawn again with harder edges."""
    parts = cv2.cvtColor(picture, cv2.COLOR_RGB2YCrCb).astype(np.float32)
    light, *colors = (parts[..., channel] for channel in range(3))
    light = _resampled(light, LATENT)
    light = light + SHARPENED * (light - cv2.GaussianBlur(light, (0, 0), LATENT / 2))
    parts = np.stack([light, *(_resampled(color, LATENT * COLORS) for color in colors)], axis=2)
    return cv2.cvtColor(np.clip(parts, 0, 255).astype(np.uint8), cv2.COLOR_YCrCb2RGB).astype(np.float32)


def _resampled(channel: Floats, factor: float) -> Floats:
    height, width = channel.shape
    small = cv2.resize(
        channel, (max(1, round(width / factor)), max(1, round(height / factor))), interpolation=cv2.INTER_AREA
    )
    return np.asarray(cv2.resize(small, (width, height), interpolation=cv2.INTER_CUBIC), np.float32)


def _texture(picture: Pixels, chance: np.random.Generator) -> Floats:
    """Invented detail: grain of about two pixels, stronger where the picture has structure."""
    light = cv2.cvtColor(picture, cv2.COLOR_RGB2GRAY).astype(np.float32)
    structure = _smooth(np.abs(light - cv2.GaussianBlur(light, (0, 0), 3)), 4)
    grain = _smooth(np.asarray(chance.normal(size=light.shape)), 1.2)
    strength = GRAIN * (0.4 + np.minimum(1.0, structure / 10))
    return np.asarray(strength * grain / grain.std(), np.float32)[..., None]


def _smooth(values: NDArray[np.floating], reach: float) -> Floats:
    return np.asarray(cv2.GaussianBlur(np.asarray(values, np.float32), (0, 0), reach), np.float32)
