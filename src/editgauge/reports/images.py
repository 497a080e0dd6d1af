"""Images of the gallery: small and large copies, and the difference of two images as a heat map."""

from __future__ import annotations

import base64
import hashlib
import json
import secrets
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import cv2
import numpy as np

from editgauge._render.text import without_folders
from editgauge._util.files import DRAFT_PREFIX, read_text, write_json
from editgauge._util.images import Pixels, pixel_hash, read_image, resize_image, working_size
from editgauge.errors import BadImageError, BadInputError
from editgauge.reports._outcomes import ScoredImage
from editgauge.results import ImageStamp

SMALL, LARGE = 360, 1024
EMBEDDED = 240
"""Longest sides in pixels; the single-file form has small ones only."""
QUALITY = 85
INDEX_FILE = "known.json"
"""Index of copies by image file, so that a refreshed report need not make them again."""
MAX_HEAT_CHANGE = 128
"""Change, in any channel, of the brightest heat."""
REGION_PIXELS = 256
"""Longer side at which the changed region is measured."""
MIN_REGION_CHANGE = 32
"""Change, in any channel, that belongs to the region."""
MAX_REGION_SHARE = 0.5
"""A region of more than this share of the image is not worth a crop."""
MAX_CACHED_SOURCES = 8
"""Edits of one source image follow each other, so caching a few decoded sources is enough."""

Json = dict[str, Any]


@dataclass(frozen=True, slots=True, eq=False)
class Decoded:
    """A decoded image."""

    pixels: Pixels
    changed: bool
    """Whether it differs from the image that was scored."""


@dataclass(frozen=True, slots=True)
class Absent:
    """An image that cannot be displayed, and why."""

    problem: str


def decode(file: ScoredImage) -> Decoded | Absent:
    """Read the image file, or return why it cannot be displayed."""
    try:
        pixels = read_image(Path(file.path))
    except BadImageError as problem:
        return Absent(without_folders(str(problem)))
    return Decoded(pixels, pixel_hash(pixels) != file.pixels)


def difference(source: Pixels, edited: Pixels) -> Pixels:
    """Draw the difference of two images: black where nothing changed, over red to bright yellow."""
    height, width = source.shape[:2]
    red, green, blue = cv2.split(cv2.absdiff(source, resize_image(edited, width, height)))
    heat = cv2.convertScaleAbs(cv2.max(cv2.max(red, green), blue), alpha=255 / MAX_HEAT_CHANGE)
    return np.asarray(cv2.applyColorMap(heat, cv2.COLORMAP_INFERNO)[..., ::-1])


def changed_region(source: Pixels, edited: Pixels) -> list[float] | None:
    """Return the bounding box of the change as shares of the image; None if nothing or most of it changed."""
    small = fitted(source, REGION_PIXELS)
    height, width = small.shape[:2]
    change = cv2.absdiff(small, resize_image(edited, width, height)).max(axis=2) > MIN_REGION_CHANGE
    opened = cv2.morphologyEx(change.astype(np.uint8), cv2.MORPH_OPEN, np.ones((3, 3), np.uint8))  # drops noise
    left, top, columns, rows = cv2.boundingRect(opened)
    if not 0 < columns * rows <= MAX_REGION_SHARE * width * height:
        return None
    sides = left / width, top / height, (left + columns) / width, (top + rows) / height
    return [round(side, 3) for side in sides]


def fitted(pixels: Pixels, longest: int) -> Pixels:
    """Shrink an image so that no side is longer; smaller ones stay as they are."""
    height, width = pixels.shape[:2]
    shrink = longest / max(height, width)
    if shrink >= 1:
        return pixels
    size = max(1, round(width * shrink)), max(1, round(height * shrink))
    return np.asarray(cv2.resize(pixels, size, interpolation=cv2.INTER_AREA))


class Album:
    """The image folder of one report. Files are named by their content, so no name can come from outside."""

    sizes: tuple[int, ...] = (SMALL, LARGE)

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._decoded_source = lru_cache(MAX_CACHED_SOURCES)(decode)
        _make_folder(folder)
        self._files = {path.name for path in folder.iterdir()}
        self._indexed = {key: copies for key, copies in _read_index(folder / INDEX_FILE).items() if self._holds(copies)}
        self._used: dict[str, Json] = {}

    def source(self, file: ScoredImage) -> Json:
        """Return names and size of the copies of a source image, or the problem to show instead."""
        return self._remembered(_key(file)) or self._place(_key(file), self._decoded_source(file))

    def further(self, path: Path) -> Json:
        """Return the same for a further source image, whose hash was not recorded."""
        try:
            return self.source(ScoredImage(str(path), pixel_hash(read_image(path))))
        except BadImageError as problem:
            return {"problem": without_folders(str(problem))}

    def edited(self, source: ScoredImage, edited: ScoredImage) -> tuple[Json, Json | None]:
        """Return the same for an edited image, and for the difference if both images can be decoded."""
        key, key_of_both = _key(edited), _key(source, edited)
        copies, heat = self._remembered(key), self._remembered(key_of_both)
        if copies and heat:
            return copies, heat
        before, after = self._decoded_source(source), decode(edited)
        copies = self._place(key, after)
        if isinstance(before, Decoded) and isinstance(after, Decoded):
            heat = self._place(key_of_both, Decoded(difference(before.pixels, after.pixels), changed=False))
            if region := changed_region(before.pixels, after.pixels):
                heat = self._used[key_of_both] = {**heat, "region": region}
        return copies, heat

    def finish(self) -> None:
        """Delete images of earlier or interrupted reports, and write the index."""
        used = {copies[size] for copies in self._used.values() for size in ("small", "large")}
        for path in self.folder.iterdir():
            if path.name not in used and path.suffix == ".jpg":
                path.unlink(missing_ok=True)
        write_json(self.folder / INDEX_FILE, dict(sorted(self._used.items())))

    def _holds(self, copies: Json) -> bool:
        return {copies["small"], copies["large"]} <= self._files

    def _remembered(self, key: str) -> Json | None:
        copies = self._used.get(key) or self._indexed.get(key)
        if copies:
            self._used[key] = copies
        return copies

    def _place(self, key: str, picture: Decoded | Absent) -> Json:
        if isinstance(picture, Absent):
            return {"problem": picture.problem}
        large = fitted(picture.pixels, self.sizes[-1])
        small = fitted(large, self.sizes[0])
        names = [self._keep(_jpeg(pixels)) for pixels in ([small] if small is large else [small, large])]
        (height, width), (rows, columns) = small.shape[:2], picture.pixels.shape[:2]
        copies: Json = {"small": names[0], "large": names[-1], "width": width, "height": height}
        copies |= {"frame": list(working_size(columns, rows))}  # evidence has coordinates of the image as it was scored
        self._used[key] = {**copies, "changed": True} if picture.changed else copies
        return self._used[key]

    def _keep(self, content: bytes) -> str:
        name = hashlib.blake2b(content, digest_size=10).hexdigest() + ".jpg"
        if name not in self._files:
            _write_unsynced(self.folder / name, content)
            self._files.add(name)
        return name


class EmbeddedAlbum(Album):
    """Images embedded in the page itself, small ones only."""

    sizes = (EMBEDDED,)

    def __init__(self) -> None:
        self.embedded: dict[str, str] = {}
        """Name to data address."""
        self._decoded_source = lru_cache(MAX_CACHED_SOURCES)(decode)
        self._indexed, self._used = {}, {}

    def finish(self) -> None:
        """Do nothing: there are no files."""

    def _keep(self, content: bytes) -> str:
        name = hashlib.blake2b(content, digest_size=10).hexdigest() + ".jpg"
        self.embedded[name] = "data:image/jpeg;base64," + base64.b64encode(content).decode()
        return name


def _key(*files: ScoredImage) -> str:
    """Return a key that changes with the files and settings. It is a hash, as a report must not reveal paths."""
    stamps = [(ImageStamp.of(Path(file.path)), file.pixels) for file in files]
    return hashlib.blake2b(
        repr((SMALL, LARGE, QUALITY, MAX_HEAT_CHANGE, REGION_PIXELS, stamps)).encode(), digest_size=12
    ).hexdigest()


def _jpeg(pixels: Pixels) -> bytes:
    bgr = cv2.cvtColor(pixels, cv2.COLOR_RGB2BGR)
    return cv2.imencode(".jpg", bgr, [cv2.IMWRITE_JPEG_QUALITY, QUALITY])[1].tobytes()


def _read_index(path: Path) -> dict[str, Json]:
    """Read the index; a lost or damaged one only costs time."""
    try:
        stored = json.loads(read_text(path))
        return {key: copies for key, copies in stored.items() if {"small", "large", "frame"} <= set(copies)}
    except (OSError, ValueError, AttributeError, TypeError):
        return {}


def _write_unsynced(path: Path, content: bytes) -> None:
    """Write a file atomically, without waiting for the disk: a report can be regenerated."""
    draft = path.with_name(f"{DRAFT_PREFIX}{secrets.token_hex(8)}{path.suffix}")
    try:
        draft.write_bytes(content)
        draft.replace(path)
    except OSError as error:
        raise BadInputError(f"'{path}' cannot be written: {error.strerror or error}. Is the disk full?") from error


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BadInputError(f"'{folder}' cannot be made: {error.strerror or error}. Choose another folder.") from error
