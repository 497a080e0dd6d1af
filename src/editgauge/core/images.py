"""The one door by which pixels enter: any image file becomes an RGB uint8 array, or a clear error."""

from __future__ import annotations

import hashlib
import warnings
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageOps, UnidentifiedImageError

from editgauge.core.errors import BadImage

Pixels = NDArray[np.uint8]
"""Height x width x 3, RGB, uint8."""
Unit = NDArray[np.float32]
"""An image in [0, 1]."""

MOST_PIXELS = 64_000_000
"""Larger images are refused: 64 megapixels is beyond any editing model, and a crafted file can claim terabytes."""
IMAGE_SUFFIXES = (".png", ".jpg", ".jpeg", ".webp", ".bmp", ".tif", ".tiff", ".gif")


@dataclass(frozen=True, slots=True)
class Picture:
    """An image file with a name that stays the same on every machine."""

    name: str
    path: Path


def read_image(path: Path) -> Pixels:
    """The image as RGB uint8, upright by its EXIF orientation, transparency laid over white.

    16-bit images are scaled to 8 bits, CMYK, palette and grayscale become RGB, an animation gives its first frame.
    Truncated files, decompression bombs and images over 64 megapixels are refused with `BadImage`.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", Image.DecompressionBombWarning)
            with Image.open(path) as image:
                _refuse_absurd_size(image, path)
                image.load()
                return _rgb(ImageOps.exif_transpose(image))
    except FileNotFoundError as error:
        raise BadImage(f"There is no image at '{path}'.") from error
    except UnidentifiedImageError as error:
        raise BadImage(f"'{path}' is not an image in a format that can be read.") from error
    except (Image.DecompressionBombError, Image.DecompressionBombWarning) as error:
        raise BadImage(
            f"'{path}' claims an absurd size ({error}); images up to {MOST_PIXELS:,} pixels are read."
        ) from error
    except (OSError, SyntaxError, ValueError, EOFError, MemoryError) as error:
        raise BadImage(
            f"'{path}' cannot be decoded ({error or type(error).__name__}); is the file complete?"
        ) from error


def _refuse_absurd_size(image: Image.Image, path: Path) -> None:
    width, height = image.size
    if width * height > MOST_PIXELS:
        raise BadImage(f"'{path}' is {width} x {height}; images up to {MOST_PIXELS:,} pixels are read.")


def _rgb(image: Image.Image) -> Pixels:
    if image.mode in {"I;16", "I;16B", "I;16L", "I", "F"}:
        image = _eight_bit(image)
    if image.mode in {"RGBA", "LA", "PA", "La", "RGBa"} or "transparency" in image.info:
        rgba = image.convert("RGBA")
        image = Image.alpha_composite(Image.new("RGBA", rgba.size, "white"), rgba)
    return np.ascontiguousarray(np.asarray(image.convert("RGB"), dtype=np.uint8))


def _eight_bit(image: Image.Image) -> Image.Image:
    """16-bit gray spans 0-65535; Pillow's own conversion would clip everything over 255 to white."""
    values = np.asarray(image, dtype=np.float64)
    full = 255.0 if 1 < values.max(initial=0) <= 255 and image.mode != "I;16" else 65535.0
    if image.mode == "F" and values.max(initial=0) <= 1:
        full = 1.0
    return Image.fromarray(np.clip(np.rint(values / full * 255), 0, 255).astype(np.uint8))


def write_png(pixels: Pixels, path: Path) -> None:
    """Writes atomically: a kill leaves the old file or the new one, never half of one."""
    import cv2

    from editgauge.core.files import write_bytes

    done, encoded = cv2.imencode(".png", cv2.cvtColor(pixels, cv2.COLOR_RGB2BGR))
    if not done:
        raise BadImage(f"'{path}' could not be encoded as PNG.")
    write_bytes(path, encoded.tobytes())


def pixel_hash(pixels: Pixels) -> str:
    """SHA-256 of the decoded pixels and their shape: the identity of an image, whatever its file format."""
    digest = hashlib.sha256(repr(pixels.shape).encode())
    digest.update(np.ascontiguousarray(pixels).data)
    return digest.hexdigest()


def as_unit(image: Pixels) -> Unit:
    """The picture in [0, 1] as float32, the form that metrics take."""
    if image.dtype != np.uint8:
        raise TypeError(f"as_unit wants uint8 pixels, got {image.dtype}; is this image already in [0, 1]?")
    return image.astype(np.float32) / np.float32(255)


def resized(pixels: Pixels, width: int, height: int) -> Pixels:
    """The picture at another size, by Lanczos."""
    if pixels.shape[:2] == (height, width):
        return pixels
    return np.asarray(Image.fromarray(pixels).resize((width, height), Image.Resampling.LANCZOS), dtype=np.uint8)
