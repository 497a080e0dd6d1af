"""Conversion of images and batches of images that callers pass to metrics."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from editgauge._util.images import IMAGE_SUFFIXES, ImageLike, Pixels, Unit, as_unit, read_image
from editgauge._util.masks import BoolMask, bright_pixels
from editgauge.errors import BadInputError

Images = ImageLike | Sequence[Any]
"""One image, or a batch: a list, or an array or torch tensor of four dimensions."""
Masks = NDArray[np.bool_] | ImageLike | Sequence[Any]
"""The pixels that count: a boolean array of height x width, an image that is bright there, or a batch of these."""
Values = Any
"""A float, or for a batch an array of float64 with one number per element."""
CHANNELS = frozenset({1, 3, 4})

Element = TypeVar("Element")


def split_batch(images: Images) -> tuple[list[Any], bool]:
    """Return the images of a batch, or the one image in a list, and whether it is a batch."""
    if isinstance(images, list | tuple):
        return list(images), True
    images = _as_array(images)
    if isinstance(images, np.ndarray) and images.ndim == 4:
        return list(images), True
    return [images], False


def to_unit(image: Any) -> Unit:
    """Return an image as floating-point numbers; arrays of floats are passed through unchecked."""
    image = _as_array(image)
    if not isinstance(image, np.ndarray):
        return as_unit(read_image(image))
    return as_unit(np.ascontiguousarray(image)) if image.dtype == np.uint8 and image.size else image


def to_pixels(image: Any) -> Pixels:
    """Return an image as height x width x 3, uint8."""
    return read_image(_as_array(image))


def to_mask(mask: Any) -> BoolMask | None:
    """Return a mask as an array; images are true where they are bright."""
    mask = mask.detach().cpu().numpy() if hasattr(mask, "detach") else mask
    if isinstance(mask, str | Path | bytes | Image.Image):
        return bright_pixels(read_image(mask), "The mask")
    return mask  # type: ignore[no-any-return]


def split_masks(masks: Masks | None, count: int) -> list[Any]:
    """Return one mask per pair of a batch; a single mask holds for all pairs."""
    if isinstance(masks, list | tuple):
        return list(masks)
    shape: tuple[int, ...] = getattr(masks, "shape", ())
    return list(np.asarray(masks)) if len(shape) == 3 else [masks] * count


def broadcast(*batches: Sequence[Any]) -> list[tuple[Any, ...]]:
    """Pair up the elements of batches of equal length; a batch of one element is repeated.

    >>> broadcast(["a"], ["b", "c"])
    [('a', 'b'), ('a', 'c')]
    """
    count = max(len(batch) for batch in batches)
    if any(len(batch) not in {1, count} for batch in batches):
        raise ValueError(f"batches of {', '.join(str(len(batch)) for batch in batches)} elements cannot be paired")
    return list(zip(*(list(batch) * count if len(batch) == 1 else batch for batch in batches), strict=True))


def read_image_set(images: Images, name: str) -> list[Pixels]:
    """Return the images of a batch, or those of a folder, in the order of their names."""
    if isinstance(images, str | Path):
        folder = Path(images)
        if not folder.is_dir():
            raise BadInputError(f"`{name}` must be a folder or a batch of images, got '{images}'.")
        images = [path for path in sorted(folder.iterdir()) if path.suffix.lower() in IMAGE_SUFFIXES]
    elements, is_batch = split_batch(images)
    if not is_batch or len(elements) < 2:
        raise BadInputError(f"`{name}` must hold two images at least.")
    return [to_pixels(element) for element in elements]


def _as_array(image: Any) -> Any:
    """Return arrays and tensors with channels last, anything else unchanged."""
    if hasattr(image, "detach"):  # a torch tensor, whose usual layout has channels first
        array = image.detach().cpu().numpy()
        channels_first = array.ndim >= 3 and array.shape[-3] in CHANNELS
    elif isinstance(image, np.ndarray):
        array = image
        channels_first = array.ndim >= 3 and array.shape[-1] not in CHANNELS and array.shape[-3] in CHANNELS
    else:
        return image
    return np.moveaxis(array, -3, -1) if channels_first else array
