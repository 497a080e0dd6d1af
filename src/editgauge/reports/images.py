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
"""Longer sides of the copies in pixels."""
EMBEDDED = 240
"""Longer side of the only copy in a single-file report."""
JPEG_QUALITY = 85
INDEX_FILE = "known.json"
"""Index of copies by image file, so that an updated report reuses them."""
MAX_HEAT_CHANGE = 128
"""Change in any channel that gets the brightest color."""
REGION_PIXELS = 256
"""Longer side of the image in which the changed region is measured."""
MIN_REGION_CHANGE = 32
"""Change in any channel above which a pixel belongs to the region."""
MAX_REGION_SHARE = 0.5
"""Largest share of the image that is worth a crop."""
MAX_CACHED_SOURCES = 8
"""A few are enough: edits of the same source image are consecutive."""

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
    """Decode an image file, or return why it cannot be displayed."""
    try:
        pixels = read_image(Path(file.path))
    except BadImageError as error:
        return Absent(without_folders(str(error)))
    return Decoded(pixels, pixel_hash(pixels) != file.pixels)


def difference(source: Pixels, edited: Pixels) -> Pixels:
    """Draw the difference of two images as a heat map from black (no change) through red to bright yellow."""
    height, width = source.shape[:2]
    red, green, blue = cv2.split(cv2.absdiff(source, resize_image(edited, width, height)))
    heat = cv2.convertScaleAbs(cv2.max(cv2.max(red, green), blue), alpha=255 / MAX_HEAT_CHANGE)
    return np.asarray(cv2.applyColorMap(heat, cv2.COLORMAP_INFERNO)[..., ::-1])


def changed_region(source: Pixels, edited: Pixels) -> list[float] | None:
    """Return the bounding box of the change as fractions of the image.

    Returns:
        Left, top, right and bottom, or None if nothing or most of the image changed.

    """
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
    """Shrink an image so that no side exceeds `longest` pixels; return a smaller image unchanged."""
    height, width = pixels.shape[:2]
    scale = longest / max(height, width)
    if scale >= 1:
        return pixels
    size = max(1, round(width * scale)), max(1, round(height * scale))
    return np.asarray(cv2.resize(pixels, size, interpolation=cv2.INTER_AREA))


class Album:
    """The image folder of one report. Files are named by the hash of their content, never by user input."""

    sizes: tuple[int, ...] = (SMALL, LARGE)

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._decoded_source = lru_cache(MAX_CACHED_SOURCES)(decode)
        _make_folder(folder)
        self._files = {path.name for path in folder.iterdir()}
        self._indexed = {
            key: copies for key, copies in _read_index(folder / INDEX_FILE).items() if self._has_files(copies)
        }
        self._used: dict[str, Json] = {}

    def source(self, file: ScoredImage) -> Json:
        """Return names and size of the copies of a source image, or the problem to show instead."""
        key = _key(file)
        return self._reuse(key) or self._add(key, self._decoded_source(file))

    def further(self, path: Path) -> Json:
        """Return the copies of an additional source image, whose hash was not recorded, or the problem."""
        try:
            return self.source(ScoredImage(str(path), pixel_hash(read_image(path))))
        except BadImageError as error:
            return {"problem": without_folders(str(error))}

    def edited(self, source: ScoredImage, edited: ScoredImage) -> tuple[Json, Json | None]:
        """Return the copies of an edited image, and those of the difference if both images can be decoded."""
        key, heat_key = _key(edited), _key(source, edited)
        copies, heat = self._reuse(key), self._reuse(heat_key)
        if copies and heat:
            return copies, heat
        source_image, edited_image = self._decoded_source(source), decode(edited)
        copies = self._add(key, edited_image)
        if isinstance(source_image, Decoded) and isinstance(edited_image, Decoded):
            pixels = source_image.pixels, edited_image.pixels
            heat = self._add(heat_key, Decoded(difference(*pixels), changed=False))
            if region := changed_region(*pixels):
                heat["region"] = region
        return copies, heat

    def finish(self) -> None:
        """Delete images that this report does not use, and write the index."""
        used = {copies[size] for copies in self._used.values() for size in ("small", "large")}
        for path in self.folder.iterdir():
            if path.name not in used and path.suffix == ".jpg":
                path.unlink(missing_ok=True)
        write_json(self.folder / INDEX_FILE, dict(sorted(self._used.items())))

    def _has_files(self, copies: Json) -> bool:
        return {copies["small"], copies["large"]} <= self._files

    def _reuse(self, key: str) -> Json | None:
        """Return existing copies and mark them as used."""
        copies = self._used.get(key) or self._indexed.get(key)
        if copies:
            self._used[key] = copies
        return copies

    def _add(self, key: str, image: Decoded | Absent) -> Json:
        """Store the copies of an image and mark them as used; return the problem of an absent image."""
        if isinstance(image, Absent):
            return {"problem": image.problem}
        large = fitted(image.pixels, self.sizes[-1])
        small = fitted(large, self.sizes[0])
        small_name = self._store(_encode_jpeg(small))
        height, width = image.pixels.shape[:2]
        copies: Json = {
            "small": small_name,
            "large": small_name if small is large else self._store(_encode_jpeg(large)),
            "width": small.shape[1],
            "height": small.shape[0],
            "frame": list(working_size(width, height)),  # evidence is in pixels of the image as it was scored
        }
        if image.changed:
            copies["changed"] = True
        self._used[key] = copies
        return copies

    def _store(self, content: bytes) -> str:
        """Write a file unless it exists, and return its name."""
        name = _file_name(content)
        if name not in self._files:
            _write_unsynced(self.folder / name, content)
            self._files.add(name)
        return name


class EmbeddedAlbum(Album):
    """Small images that are embedded in the page instead of stored in a folder."""

    sizes = (EMBEDDED,)

    def __init__(self) -> None:
        self.embedded: dict[str, str] = {}
        """Data URLs by name."""
        self._decoded_source = lru_cache(MAX_CACHED_SOURCES)(decode)
        self._indexed, self._used = {}, {}

    def finish(self) -> None:
        """Do nothing: there are no files."""

    def _store(self, content: bytes) -> str:
        name = _file_name(content)
        self.embedded[name] = "data:image/jpeg;base64," + base64.b64encode(content).decode()
        return name


def _key(*files: ScoredImage) -> str:
    """Return a key that changes with the files and settings; a hash, because a report must not reveal paths."""
    stamps = [(ImageStamp.of(Path(file.path)), file.pixels) for file in files]
    content = repr((SMALL, LARGE, JPEG_QUALITY, MAX_HEAT_CHANGE, REGION_PIXELS, stamps))
    return hashlib.blake2b(content.encode(), digest_size=12).hexdigest()


def _file_name(content: bytes) -> str:
    return f"{hashlib.blake2b(content, digest_size=10).hexdigest()}.jpg"


def _encode_jpeg(pixels: Pixels) -> bytes:
    bgr = cv2.cvtColor(pixels, cv2.COLOR_RGB2BGR)
    return cv2.imencode(".jpg", bgr, [cv2.IMWRITE_JPEG_QUALITY, JPEG_QUALITY])[1].tobytes()


def _read_index(path: Path) -> dict[str, Json]:
    """Read the index; treat a missing or damaged one as empty."""
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
