"""The pictures of the gallery: small and larger copies, and the difference of two pictures as heat."""

from __future__ import annotations

import hashlib
import secrets
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import cv2
import numpy as np

from editgauge.core.errors import BadImage, BadInput
from editgauge.core.files import DRAFT
from editgauge.core.images import Pixels, pixel_hash, read_image, resized

if TYPE_CHECKING:
    from editgauge.reports.outcomes import File

SMALL = 360
LARGE = 1024
"""Longest side in pixels."""
QUALITY = 85
FULL_HEAT = 128
"""A change of half the range, in any channel, is the brightest heat."""
SOURCES_IN_HAND = 8
"""Edits of one source image follow each other, so a few decoded sources are enough to remember."""


@dataclass(frozen=True, slots=True, eq=False)
class Decoded:
    """A picture that can be shown."""

    pixels: Pixels
    changed: bool
    """Whether it is no longer the picture that was scored."""


@dataclass(frozen=True, slots=True)
class Absent:
    """A picture that cannot be shown, and why."""

    problem: str


def decode(file: File) -> Decoded | Absent:
    """The picture as it is now, or why it cannot be shown."""
    try:
        pixels = read_image(Path(file.path))
    except BadImage as problem:
        return Absent(str(problem))
    return Decoded(pixels, pixel_hash(pixels) != file.pixels)


def difference(source: Pixels, edited: Pixels) -> Pixels:
    """Where and how much the edited picture differs: black where nothing changed, over red to bright yellow."""
    height, width = source.shape[:2]
    red, green, blue = cv2.split(cv2.absdiff(source, resized(edited, width, height)))
    heat = cv2.convertScaleAbs(cv2.max(cv2.max(red, green), blue), alpha=255 / FULL_HEAT)
    return np.asarray(cv2.applyColorMap(heat, cv2.COLORMAP_INFERNO)[..., ::-1])


def fitted(pixels: Pixels, longest: int) -> Pixels:
    """The picture shrunk so that no side is longer; smaller ones stay as they are."""
    height, width = pixels.shape[:2]
    shrink = longest / max(height, width)
    if shrink >= 1:
        return pixels
    size = max(1, round(width * shrink)), max(1, round(height * shrink))
    return np.asarray(cv2.resize(pixels, size, interpolation=cv2.INTER_AREA))


class Album:
    """The folder of pictures of one report. Files are named by their content, so no name can come from outside."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.used: set[str] = set()
        self.source = lru_cache(SOURCES_IN_HAND)(decode)
        _make_folder(folder)

    def place(self, picture: Decoded | Absent) -> dict[str, Any]:
        """Writes the copies of a picture and gives their names and size, or the problem to show in their place."""
        if isinstance(picture, Absent):
            return {"problem": picture.problem}
        large = fitted(picture.pixels, LARGE)
        small = fitted(large, SMALL)
        height, width = small.shape[:2]
        names = [self._write(pixels) for pixels in ([small] if small is large else [small, large])]
        placed = {"small": names[0], "large": names[-1], "width": width, "height": height}
        return {**placed, "changed": True} if picture.changed else placed

    def remove_unused(self) -> None:
        """Deletes pictures of an earlier report into the same folder, and what a kill left half-written."""
        for path in self.folder.iterdir():
            if path.name not in self.used and path.suffix == ".jpg":
                path.unlink(missing_ok=True)

    def _write(self, pixels: Pixels) -> str:
        bgr = cv2.cvtColor(pixels, cv2.COLOR_RGB2BGR)
        content = cv2.imencode(".jpg", bgr, [cv2.IMWRITE_JPEG_QUALITY, QUALITY])[1].tobytes()
        name = hashlib.blake2b(content, digest_size=10).hexdigest() + ".jpg"
        self.used.add(name)
        _write_unsynced(self.folder / name, content)
        return name


def _write_unsynced(path: Path, content: bytes) -> None:
    """Whole or not at all, but without waiting for the disk: a report can be made again, and waits would add up."""
    draft = path.with_name(f"{DRAFT}{secrets.token_hex(8)}{path.suffix}")
    try:
        draft.write_bytes(content)
        draft.replace(path)
    except OSError as error:
        raise BadInput(f"'{path}' cannot be written: {error.strerror or error}. Is the disk full?") from error


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BadInput(f"'{folder}' cannot be made: {error.strerror or error}. Choose another folder.") from error
