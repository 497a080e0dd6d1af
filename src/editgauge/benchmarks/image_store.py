"""The pictures of public sets: found in their folders, or kept in the cache when they come as bytes."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from pathlib import Path, PurePosixPath
from typing import Any

from editgauge._util.datasets import Faults
from editgauge._util.fields import format_value
from editgauge._util.files import write_bytes
from editgauge._util.images import ImageFile
from editgauge._util.packages import cache_root
from editgauge._util.text import format_count
from editgauge.benchmarks.folder import ImagesOf
from editgauge.errors import BadInputError
from editgauge.types import Edit

SIGNATURES = {b"\x89PNG": ".png", b"\xff\xd8\xff": ".jpg", b"GIF8": ".gif", b"BM": ".bmp", b"RIFF": ".webp"}


class Neighbors:
    """Files that differ from a missing one by their capitals or their extension only."""

    def __init__(self) -> None:
        self._names: dict[Path, dict[str, list[str]]] = {}

    def hint(self, path: Path) -> str:
        """Words that name such a file, to be added to a message; none if there is none."""
        if path.parent not in self._names:
            names = self._names[path.parent] = {}
            for file in sorted(path.parent.iterdir()) if path.parent.is_dir() else []:
                names.setdefault(file.stem.casefold(), []).append(file.name)
        near = self._names[path.parent].get(path.stem.casefold(), [])
        nearest = sorted(near, key=lambda name: name.casefold() != path.name.casefold())
        return f"; there is {format_value(nearest[0])}, with another extension or other capitals" if nearest else ""


class ImageFolder:
    """The folder in which a set keeps its pictures."""

    def __init__(self, folder: Path, faults: Faults) -> None:
        if not folder.is_dir():
            raise BadInputError(
                f"There is no folder '{folder}'; the benchmark '{faults.benchmark}' has its pictures there."
            )
        self.folder = folder
        self.faults = faults
        self._find = ImagesOf(folder, follows_links=True)
        self._near = Neighbors()

    def picture(self, word: str, record: object, *, optional: bool = False) -> ImageFile | None:
        """Return the image at a path inside the folder, or None after noting the fault.

        Where broken records are skipped, a missing image that is not `optional` is returned nevertheless: its edit
        stays in the benchmark, and is counted as unscored.
        """
        name, path = str(PurePosixPath(word)), self.folder / word
        try:
            return ImageFile(name, self._find(word))
        except BadInputError as error:
            if not str(error).endswith("does not exist"):  # nothing is reported about other folders
                self.faults.add(record, str(error))
                return None
        text = f"the image {str(path)!r} does not exist{self._near.hint(path)}"
        return ImageFile(name, path) if self.faults.skip(record, text) and not optional else None


def image_value(value: Any) -> Any:
    """Return the bytes or path of an image that hub tables store as `{bytes, path}`."""
    return value.get("bytes") or value.get("path") if isinstance(value, Mapping) else value


def image_suffix(content: bytes, unknown: str = ".bin") -> str:
    """Return the file suffix for encoded image data."""
    return next((suffix for signature, suffix in SIGNATURES.items() if content.startswith(signature)), unknown)


def store_image(content: bytes, benchmark: str) -> ImageFile:
    """Store encoded image data in the cache under its hash."""
    digest, suffix = hashlib.sha256(content).hexdigest(), image_suffix(content)
    path = cache_root() / "benchmarks" / benchmark / f"{digest}{suffix}"
    if not path.is_file() or path.stat().st_size != len(content):
        write_bytes(path, content)
    return ImageFile(f"{digest[:16]}{suffix}", path)


def missing_images(benchmark: str, edits: Iterable[Edit], advice: str) -> str:
    """Return a note about missing images; raise `BadInputError` when all are missing."""
    pictures = {edit.source.name: edit.source.path for edit in edits}
    missing = [path for path in pictures.values() if not path.is_file()]
    if not missing:
        return ""
    message = f"{len(missing)} of {format_count(len(pictures), 'image')} are missing, such as '{missing[0].name}'"
    hint = next(filter(None, map(Neighbors().hint, missing)), "")
    if len(missing) == len(pictures):
        raise BadInputError(
            f"The benchmark '{benchmark}' finds none of its images in '{missing[0].parent}'{hint}. {advice}"
        )
    return f"; {message}{hint}"
