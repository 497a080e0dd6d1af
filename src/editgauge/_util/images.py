"""Loading, hashing and resizing of images: any file, PIL image or array becomes RGB uint8 in sRGB."""

from __future__ import annotations

import hashlib
import io
import os
import warnings
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from functools import lru_cache, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Self, TypeVar, cast

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageOps, UnidentifiedImageError

from editgauge._util.files import open_regular, write_bytes
from editgauge._util.text import printable
from editgauge.errors import BadImageError, BadInputError

if TYPE_CHECKING:
    from PIL import ImageCms

Function = TypeVar("Function", bound=Callable[..., Any])
Pixels = NDArray[np.uint8]
"""Height x width x 3, RGB, uint8."""
Unit = NDArray[np.float32]
"""An image in [0, 1]."""
Lab = NDArray[np.float32]
"""Height x width x 3, CIE Lab: lightness up to 100, green to red, blue to yellow."""
ImageLike = str | Path | bytes | Image.Image | NDArray[Any]
"""A path, the bytes of a file, a PIL image, or an array of height x width x 3 in RGB (also height x width in gray, or
with a fourth channel for transparency), as uint8 from 0 to 255 or as floating-point numbers from 0 to 1."""

MAX_PIXELS = 50_000_000
"""Larger images are refused: a crafted file of a few kilobytes can claim any size, and decoding 50 megapixels takes
some 400 MB."""
WORKING_PIXELS = 4_000_000
"""Larger images are scaled down to this before they are measured. The most expensive protocol (`preservation` with
LPIPS) takes 175 bytes per pixel, so an item costs 0.7 GB at most, whatever the size of its files."""
MAX_PIXELS_VARIABLE = "EDITGAUGE_MAX_PIXELS"
"""The environment variable that sets another limit, up to the 178 megapixels at which Pillow itself refuses."""
ROUNDING = 1e-5
"""How far over 1 a floating-point pixel may be and still be white."""
IMAGE_SUFFIXES = (".png", ".jpg", ".jpeg", ".webp", ".bmp", ".tif", ".tiff", ".gif")
FORMATS = ("PNG", "JPEG", "WEBP", "BMP", "TIFF", "GIF", "PPM")
"""What is decoded. Pillow knows forty more, among them EPS, which starts a program."""
SRGB_TOLERANCE = 1
"""Levels of 255 by which a profile may move colors and still be sRGB: the rounding of two conversions."""
MIN_SIDE = 16
"""Pixels; smaller images are not scored: windows of SSIM and patches of networks do not fit in."""
MAX_ASPECT = 20
"""Maximum aspect ratio: networks stretch images to a square or nearly so."""
MAX_PROFILE_NAME = 60
EXIF_ORIENTATION = 0x0112
TRANSPOSED = frozenset({5, 6, 7, 8})
"""Values of the EXIF orientation that exchange width and height."""
IGNORED_PROFILE = "its color profile does not fit the picture and was ignored"


@dataclass(frozen=True, slots=True)
class ImageFile:
    """An image file with a name that stays the same on every machine."""

    name: str
    path: Path


@dataclass(frozen=True, slots=True, eq=False)
class LoadedImage:
    """Pixels of an image, with notes about color conversions."""

    pixels: Pixels
    notes: tuple[str, ...] = ()


def read_image(image: ImageLike, name: str = "image") -> Pixels:
    """Return an image as RGB uint8, in sRGB, upright by its EXIF orientation, transparency over white.

    16-bit images give their upper 8 bits; CMYK, palette and grayscale become RGB; an animation gives its first frame.
    Raises `BadImageError` for anything but a regular file, formats other than `FORMATS`, truncated files, decompression
    bombs and images over the limit of pixels.
    """
    return load_image(image, name).pixels


def load_image(image: ImageLike, name: str = "image") -> LoadedImage:
    """Load an image as `read_image` does, with notes about color conversions.

    Args:
        image: path, bytes, PIL image or array.
        name: name in error messages for an image that is not a file.
    """
    if isinstance(image, str | Path):
        return _load_file(Path(image))
    if isinstance(image, bytes):
        return _decoded(lambda: _open(io.BytesIO(image)), name)
    if isinstance(image, np.ndarray):
        return LoadedImage(_rgb(_from_array(image, name)))
    if isinstance(image, Image.Image):
        return _decoded(lambda: image, name)
    raise BadImageError(
        f"The {name} is of type {type(image).__name__}; give a path, the bytes of a file, a PIL image, or an array of "
        "height x width x 3."
    )


def _load_file(path: Path) -> LoadedImage:
    try:
        file = open_regular(path)
    except FileNotFoundError as error:
        raise BadImageError(f"There is no image at '{path}'.") from error
    except (OSError, ValueError) as error:
        raise BadImageError(f"'{path}' cannot be opened: {getattr(error, 'strerror', None) or error}.") from error
    with file:
        return _decoded(lambda: _open(file), str(path))


def _decoded(opened: Callable[[], Image.Image], name: str) -> LoadedImage:
    """Decode an image; raise `BadImageError` for whatever is wrong with it."""
    try:
        return _decode(opened(), name)
    except BadImageError:
        raise
    except UnidentifiedImageError as error:
        raise BadImageError(f"'{name}' is not an image in a format that is read: {', '.join(FORMATS)}.") from error
    except Image.DecompressionBombError as error:
        raise BadImageError(f"'{name}' claims an absurd size ({error}); {_limit_message(max_pixels())}.") from error
    except Exception as error:  # a decoder meets damage with any error: struct.error, TypeError, MemoryError, …
        raise BadImageError(
            f"'{name}' cannot be decoded ({str(error) or type(error).__name__}); is the file complete?"
        ) from error


def _from_array(array: NDArray[Any], name: str) -> Image.Image:
    shape = " x ".join(map(str, array.shape)) or "a single number"
    channels = array.shape[2] if array.ndim == 3 else 1
    if array.ndim not in {2, 3} or channels not in {1, 3, 4} or not array.size:
        raise BadImageError(f"The {name} is an array of {shape}; give height x width x 3, in RGB, or height x width.")
    if array.shape[0] * array.shape[1] > max_pixels():
        raise BadImageError(f"The {name} is an array of {shape}; {_limit_message(max_pixels())}.")
    if array.dtype.kind == "f":
        low, high = array.min(), array.max()
        if not (low >= 0 and high <= 1 + ROUNDING):
            raise BadImageError(
                f"The {name} holds floating-point numbers from {low:g} to {high:g}; scale them to 0 to 1."
            )
        array = np.rint(np.minimum(array, 1) * 255).astype(np.uint8)
    if array.dtype != np.uint8:
        raise BadImageError(f"The {name} holds {array.dtype} numbers; give uint8 from 0 to 255, or floats from 0 to 1.")
    return Image.fromarray(np.ascontiguousarray(array[..., 0] if array.ndim == 3 and channels == 1 else array))


def image_size(path: Path) -> tuple[int, int]:
    """Return width and height after EXIF rotation, from the header alone; raise `OSError` if it cannot be read."""
    with open_regular(path) as file, _open(file) as image:
        width, height = image.size
        return (height, width) if image.getexif().get(EXIF_ORIENTATION, 1) in TRANSPOSED else (width, height)


def alpha_channel(path: Path) -> NDArray[np.uint8] | None:
    """Return the opacity of each pixel, upright; None for a format or image without transparency."""
    with open_regular(path) as file, _open(file) as image:
        if not image.has_transparency_data:
            return None
        return np.asarray(_upright(image).convert("RGBA").getchannel("A"), dtype=np.uint8)


def max_pixels() -> int:
    """Return the limit of pixels of one image: `MAX_PIXELS`, or the value of the environment variable."""
    setting = os.environ.get(MAX_PIXELS_VARIABLE, "").strip()
    if not setting:
        return MAX_PIXELS
    if not setting.isascii() or not setting.isdigit() or len(setting) > 18:
        raise BadImageError(f"{MAX_PIXELS_VARIABLE} is a whole number of pixels, got '{setting[:40]}'.")
    return int(setting)


def _limit_message(limit: int) -> str:
    return f"images up to {limit:,} pixels are read. Scale it down, or set {MAX_PIXELS_VARIABLE} to a higher limit"


def _open(file: BinaryIO) -> Image.Image:
    with warnings.catch_warnings():
        # Our own limit is checked before any pixel is decoded. A race of two threads can at worst leave this filter on.
        warnings.simplefilter("ignore", Image.DecompressionBombWarning)
        return Image.open(file, formats=FORMATS)


def _decode(image: Image.Image, name: str) -> LoadedImage:
    (width, height), limit = image.size, max_pixels()
    if width * height > limit:
        raise BadImageError(f"'{name}' is {width} x {height}; {_limit_message(limit)}.")
    image.load()
    upright = _upright(image)
    profile = image.info.get("icc_profile")
    eight_bit = _eight_bit(upright, name) if upright.mode[0] in "IF" else upright
    if not profile:
        return LoadedImage(_rgb(eight_bit))
    in_srgb, note = _in_srgb(eight_bit, bytes(profile))
    return LoadedImage(_rgb(in_srgb), (note,) if note else ())


def require_measurable(pixels: Pixels, name: str) -> None:
    """Raise `BadImageError` for an image so small or narrow that models would see it distorted."""
    height, width = pixels.shape[:2]
    if min(height, width) < MIN_SIDE:
        raise BadImageError(f"The {name} is {width} x {height}; at least {MIN_SIDE} x {MIN_SIDE} pixels are needed.")
    if max(height, width) > MAX_ASPECT * min(height, width):
        raise BadImageError(f"The {name} is {width} x {height}; one side may be {MAX_ASPECT} times the other at most.")


def _upright(image: Image.Image) -> Image.Image:
    try:
        return ImageOps.exif_transpose(image)
    except Exception:  # damaged EXIF has no orientation, and every viewer shows the image as it is
        return image


def _in_srgb(image: Image.Image, profile: bytes) -> tuple[Image.Image, str]:
    """Convert an image to sRGB; return it with a note if colors were converted or could not be."""
    from PIL import ImageCms

    if image.mode in {"P", "PA"}:
        image = image.convert("RGBA" if image.has_transparency_data else "RGB")
    opaque = image.getchannel("L") if image.mode == "LA" else image
    try:
        conversion = _conversion(profile, opaque.mode)
        if conversion is None:
            return image, ""
        transform, name = conversion
        converted = transform.apply(opaque)
    except (ImageCms.PyCMSError, OSError, ValueError, TypeError):
        return image, IGNORED_PROFILE
    if image.mode == "LA":
        converted.putalpha(image.getchannel("A"))
    elif "transparency" in image.info:  # one color that is transparent: it would be another one now
        converted.putalpha(image.convert("RGBA").getchannel("A"))
    return converted, f"its colors were converted from the profile '{name}' to sRGB"


@lru_cache(maxsize=16)
def _conversion(profile: bytes, mode: str) -> tuple[ImageCms.ImageCmsTransform, str] | None:
    """Return the transform from a profile to sRGB and the profile's name; None for sRGB itself, the usual case."""
    from PIL import ImageCms

    source = ImageCms.ImageCmsProfile(io.BytesIO(profile))
    result = mode if mode in {"RGB", "RGBA"} else "RGB"
    transform = ImageCms.buildTransform(source, ImageCms.createProfile("sRGB"), mode, result)
    if mode == result:
        steps = np.arange(0, 256, 15, dtype=np.uint8)
        colors = np.stack(np.meshgrid(steps, steps, steps), axis=-1).reshape(len(steps), -1, 3)
        moved = np.asarray(transform.apply(Image.fromarray(colors).convert(mode)).convert("RGB"))
        if np.abs(moved.astype(np.int16) - colors).max() <= SRGB_TOLERANCE:
            return None
    name = printable(ImageCms.getProfileDescription(source) or "").strip()[:MAX_PROFILE_NAME]
    return transform, name or "without a name"


def _eight_bit(image: Image.Image, name: str) -> Image.Image:
    """Convert 16-bit and floating-point gray to 8 bits; Pillow would clip everything over 255 to white."""
    values = np.asarray(image)
    low, high = values.min(), values.max()
    if values.dtype.kind == "f" and low >= 0 and high <= 1 + ROUNDING:
        return Image.fromarray(np.rint(np.minimum(values, 1) * 255).astype(np.uint8))
    if values.dtype.kind != "f" and low >= 0 and high <= 0xFFFF:
        return Image.fromarray((values >> 8).astype(np.uint8))  # as Pillow does with 16-bit RGB
    raise BadImageError(
        f"'{name}' holds numbers from {low:g} to {high:g}, and nothing says which of them is white; "
        "save it with 8 or 16 bits, or as floating-point numbers from 0 to 1."
    )


def _rgb(image: Image.Image) -> Pixels:
    if image.mode in {"RGBA", "LA", "PA", "La", "RGBa"} or "transparency" in image.info:
        rgba = image.convert("RGBA")
        image = Image.alpha_composite(Image.new("RGBA", rgba.size, "white"), rgba)
    return np.array(image.convert("RGB"), dtype=np.uint8)


def write_png(pixels: Pixels, path: Path) -> None:
    """Write a PNG file atomically."""
    if path.suffix.lower() != ".png":
        raise BadInputError(f"Images are written as PNG: give a name that ends with .png instead of '{path.name}'.")
    if pixels.dtype != np.uint8 or pixels.ndim != 3 or pixels.shape[2] != 3 or pixels.size == 0:
        raise TypeError(f"'{path}' takes pixels of height x width x 3, uint8; got {pixels.shape}, {pixels.dtype}")
    write_bytes(path, png_bytes(pixels))


def png_bytes(pixels: Pixels) -> bytes:
    """Return an image as the content of a PNG file."""
    import cv2

    done, encoded = cv2.imencode(".png", cv2.cvtColor(pixels, cv2.COLOR_RGB2BGR))
    if not done:
        raise BadImageError(f"An image of {pixels.shape[1]} x {pixels.shape[0]} could not be encoded as PNG.")
    return bytes(encoded.tobytes())


class ImageArray(np.ndarray[Any, np.dtype[np.uint8]]):
    """An image as a read-only array that knows its content hash and, if it was resized, its native pixels.

    It is used like any array of height x width x 3; results of arithmetic are plain arrays, and views have neither
    hash nor native pixels.

    Args:
        pixels: height x width x 3, uint8; not to be changed any more.
        native: the image in its native size, if `pixels` was resized; models look at this one.

    """

    native: Pixels | None
    _hash: str | None

    def __new__(cls, pixels: Pixels, native: Pixels | None = None) -> Self:
        """Create a view of the pixels."""
        image = np.asarray(pixels).view(cls)
        image.setflags(write=False)
        image.native = native
        if isinstance(pixels, ImageArray):
            image._hash = pixels._hash  # noqa: SLF001  of the same class
        return image

    def __array_finalize__(self, _: object) -> None:
        self.native, self._hash = None, None

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        plain = (np.asarray(value) if isinstance(value, ImageArray) else value for value in inputs)
        return getattr(ufunc, method)(*plain, **options)

    @property
    def hash(self) -> str:
        """Content hash, computed once."""
        if self._hash is None or self.flags.writeable:
            self._hash = _content_hash(self)
        return self._hash


def native_pixels(image: Pixels) -> Pixels | None:
    """Return the image in its native size; None if it was not resized."""
    return image.native if isinstance(image, ImageArray) else None


def pixel_hash(pixels: Pixels) -> str:
    """Return the SHA-256 of the pixels and their shape: the identity of an image, whatever its file format."""
    return pixels.hash if isinstance(pixels, ImageArray) else _content_hash(pixels)


def _content_hash(pixels: Pixels) -> str:
    digest = hashlib.sha256(repr(pixels.shape).encode())
    digest.update(np.ascontiguousarray(pixels).data)
    return digest.hexdigest()


UNITS = np.arange(256, dtype=np.float32) / np.float32(255)
"""Pixel levels in [0, 1]; a lookup takes a tenth of the time of a division."""


def as_unit(image: Pixels) -> Unit:
    """Convert uint8 pixels to float32 in [0, 1], the form that metrics compute with."""
    if image.dtype != np.uint8:
        raise TypeError(f"as_unit wants uint8 pixels, got {image.dtype}; is this image already in [0, 1]?")
    import cv2

    return np.asarray(cv2.LUT(image, UNITS), np.float32)


def as_lab(image: Pixels) -> Lab:
    """Convert an image to CIE Lab."""
    import cv2

    return np.asarray(cv2.cvtColor(as_unit(image), cv2.COLOR_RGB2LAB), np.float32)


def gradient_magnitude(gray: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the length of the Sobel gradient at each pixel.

    Not `cv2.magnitude`, whose last bit depends on memory alignment: the same image would give other numbers.
    """
    import cv2

    across, down = (np.asarray(cv2.Sobel(gray, cv2.CV_32F, *order), np.float32) for order in ((1, 0), (0, 1)))
    return np.asarray(np.sqrt(across * across + down * down), np.float32)


def cache_latest_images(function: Function) -> Function:
    """Cache a function of an image for the two images used last.

    The outcomes of one source image are scored one after another, so what depends on the source alone is computed
    once. Images are compared by content. Results are shared between callers and must not be changed.
    """

    @lru_cache(maxsize=2)
    def by_content(shape: tuple[int, ...], content: bytes, *arguments: Hashable) -> Any:
        return function(np.frombuffer(content, np.uint8).reshape(shape), *arguments)

    @wraps(function)
    def by_image(image: Pixels, *arguments: Hashable) -> Any:
        return by_content(image.shape, image.tobytes(), *arguments)

    return cast("Function", by_image)


def working_size(width: int, height: int) -> tuple[int, int]:
    """Return the size at which an image is measured: its own, or scaled down to `WORKING_PIXELS`.

    >>> working_size(512, 512), working_size(8000, 4000)
    ((512, 512), (2828, 1414))
    """
    scale = (WORKING_PIXELS / (width * height)) ** 0.5
    return (width, height) if scale >= 1 else (max(1, int(width * scale)), max(1, int(height * scale)))


def to_working_size(pixels: Pixels) -> Pixels:
    """Scale an image to the size at which it is measured."""
    return resize_image(pixels, *working_size(pixels.shape[1], pixels.shape[0]))


def resize_image(pixels: Pixels, width: int, height: int) -> Pixels:
    """Resize an image by Lanczos."""
    if pixels.shape[:2] == (height, width):
        return pixels
    return np.asarray(Image.fromarray(pixels).resize((width, height), Image.Resampling.LANCZOS), dtype=np.uint8)
