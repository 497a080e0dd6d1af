"""The one door by which pixels enter: any image file becomes an RGB uint8 array, or a clear error."""

from __future__ import annotations

import hashlib
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageOps, UnidentifiedImageError

from editgauge.core.errors import BadImage, BadInput

Pixels = NDArray[np.uint8]
"""Height x width x 3, RGB, uint8."""
Unit = NDArray[np.float32]
"""An image in [0, 1]."""

MOST_PIXELS = 64_000_000
"""Larger images are refused: 64 megapixels is beyond any editing model, and a crafted file can claim terabytes."""
ROUNDING = 1e-5
"""How far over 1 a floating-point pixel may be and still be white."""
IMAGE_SUFFIXES = (".png", ".jpg", ".jpeg", ".webp", ".bmp", ".tif", ".tiff", ".gif")


@dataclass(frozen=True, slots=True)
class Picture:
    """An image file with a name that stays the same on every machine."""

    name: str
    path: Path


def read_image(path: Path) -> Pixels:
    """The image as RGB uint8, upright by its EXIF orientation, transparency laid over white.

    16-bit images give their upper 8 bits, CMYK, palette and grayscale become RGB, an animation gives its first frame.
    Truncated files, decompression bombs and images over 64 megapixels are refused with `BadImage`.
    """
    try:
        file = path.open("rb")
    except FileNotFoundError as error:
        raise BadImage(f"There is no image at '{path}'.") from error
    except (OSError, ValueError) as error:
        raise BadImage(f"'{path}' cannot be opened: {getattr(error, 'strerror', None) or error}.") from error
    with file:
        try:
            return _decode(file, path)
        except BadImage:
            raise
        except UnidentifiedImageError as error:
            raise BadImage(f"'{path}' is not an image in a format that can be read.") from error
        except (Image.DecompressionBombError, Image.DecompressionBombWarning) as error:
            raise BadImage(
                f"'{path}' claims an absurd size ({error}); images up to {MOST_PIXELS:,} pixels are read."
            ) from error
        except Exception as error:  # a decoder meets damage with any error: struct.error, TypeError, MemoryError, …
            raise BadImage(
                f"'{path}' cannot be decoded ({str(error) or type(error).__name__}); is the file complete?"
            ) from error


def _decode(file: BinaryIO, path: Path) -> Pixels:
    with warnings.catch_warnings():
        # Should two threads get into each other's way here, nothing worse than this very filter stays behind.
        warnings.simplefilter("error", Image.DecompressionBombWarning)
        image = Image.open(file)
    width, height = image.size
    if width * height > MOST_PIXELS:
        raise BadImage(f"'{path}' is {width} x {height}; images up to {MOST_PIXELS:,} pixels are read.")
    image.load()
    upright = _upright(image)
    return _rgb(_eight_bit(upright, path) if upright.mode[0] in "IF" else upright)


def _upright(image: Image.Image) -> Image.Image:
    try:
        return ImageOps.exif_transpose(image)
    except Exception:  # damaged EXIF says nothing about the orientation, and every viewer shows the picture as it is
        return image


def _eight_bit(image: Image.Image, path: Path) -> Image.Image:
    """16-bit and floating-point gray in 8 bits. Pillow's own conversion would clip everything over 255 to white."""
    values = np.asarray(image)
    low, high = values.min(), values.max()
    if values.dtype.kind == "f" and low >= 0 and high <= 1 + ROUNDING:
        return Image.fromarray(np.rint(np.minimum(values, 1) * 255).astype(np.uint8))
    if values.dtype.kind != "f" and low >= 0 and high <= 0xFFFF:
        return Image.fromarray((values >> 8).astype(np.uint8))  # as Pillow does with 16-bit RGB
    raise BadImage(
        f"'{path}' holds numbers from {low:g} to {high:g}, and nothing says which of them is white; "
        "save it with 8 or 16 bits, or as floating-point numbers from 0 to 1."
    )


def _rgb(image: Image.Image) -> Pixels:
    if image.mode in {"RGBA", "LA", "PA", "La", "RGBa"} or "transparency" in image.info:
        rgba = image.convert("RGBA")
        image = Image.alpha_composite(Image.new("RGBA", rgba.size, "white"), rgba)
    return np.array(image.convert("RGB"), dtype=np.uint8)


def write_png(pixels: Pixels, path: Path) -> None:
    """Writes atomically: a kill leaves the old file or the new one, never half of one."""
    import cv2

    from editgauge.core.files import write_bytes

    if path.suffix.lower() != ".png":
        raise BadInput(f"Pictures are written as PNG: give a name that ends with .png instead of '{path.name}'.")
    if pixels.dtype != np.uint8 or pixels.ndim != 3 or pixels.shape[2] != 3 or pixels.size == 0:
        raise TypeError(f"'{path}' takes pixels of height x width x 3, uint8; got {pixels.shape}, {pixels.dtype}")
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
