"""Images of public benchmarks: find them in folders, or store them in the cache when they come as bytes."""

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
from editgauge.benchmarks.folder import ImagesOf, MissingImageError
from editgauge.errors import BadInputError
from editgauge.types import Edit

SIGNATURES = {b"\x89PNG": ".png", b"\xff\xd8\xff": ".jpg", b"GIF8": ".gif", b"BM": ".bmp", b"RIFF": ".webp"}
"""File suffixes by the first bytes of the content."""


class SimilarFiles:
    """Finder of files that differ from a missing file only by case or extension."""

    def __init__(self) -> None:
        self._names: dict[Path, dict[str, list[str]]] = {}
        """File names by folder and case-folded stem."""

    def hint(self, path: Path) -> str:
        """Return a clause that names such a file, to append to a message; empty if there is none."""
        folder = path.parent
        if folder not in self._names:
            self._names[folder] = _names_by_stem(folder)
        names = self._names[folder].get(path.stem.casefold(), [])
        if not names:
            return ""
        closest = min(names, key=lambda name: name.casefold() != path.name.casefold())
        return f"; there is {format_value(closest)}, with another extension or other capitals"


def _names_by_stem(folder: Path) -> dict[str, list[str]]:
    names: dict[str, list[str]] = {}
    if folder.is_dir():
        for file in sorted(folder.iterdir()):
            names.setdefault(file.stem.casefold(), []).append(file.name)
    return names


class ImageFolder:
    """The folder with the images of a benchmark."""

    def __init__(self, folder: Path, faults: Faults) -> None:
        if not folder.is_dir():
            raise BadInputError(
                f"There is no folder '{folder}'; the benchmark '{faults.benchmark}' has its pictures there."
            )
        self.folder = folder
        self.faults = faults
        self._find = ImagesOf(folder, follows_links=True)
        self._similar_files = SimilarFiles()

    def picture(self, name: str, record: object, *, optional: bool = False) -> ImageFile | None:
        """Return the image at a path inside the folder, or None after recording the fault.

        Where broken records are skipped, a missing image that is not `optional` is returned nevertheless: its edit
        stays in the benchmark and counts as unscored.

        Args:
            name: Path of the image relative to the folder.
            record: The record that refers to the image, for the fault.
            optional: Whether the edit is usable without the image.

        """
        normalized_name = str(PurePosixPath(name))
        try:
            return ImageFile(normalized_name, self._find(name))
        except MissingImageError:
            path = self.folder / name
            fault = f"the image {str(path)!r} does not exist{self._similar_files.hint(path)}"
            is_skipped = self.faults.skip(record, fault)
            return ImageFile(normalized_name, path) if is_skipped and not optional else None
        except BadInputError as error:
            self.faults.add(record, str(error))
            return None


def image_value(value: Any) -> Any:
    """Return the bytes or path of an image that hub tables store as `{bytes, path}`."""
    if isinstance(value, Mapping):
        return value.get("bytes") or value.get("path")
    return value


def image_suffix(content: bytes, default: str = ".bin") -> str:
    """Return the file suffix for encoded image data, or `default` for an unknown format."""
    return next((suffix for signature, suffix in SIGNATURES.items() if content.startswith(signature)), default)


def store_image(content: bytes, benchmark: str) -> ImageFile:
    """Store encoded image data in the cache under its hash."""
    digest, suffix = hashlib.sha256(content).hexdigest(), image_suffix(content)
    path = cache_root() / "benchmarks" / benchmark / f"{digest}{suffix}"
    if not path.is_file() or path.stat().st_size != len(content):
        write_bytes(path, content)
    return ImageFile(f"{digest[:16]}{suffix}", path)


def missing_images(benchmark: str, edits: Iterable[Edit], advice: str) -> str:
    """Return a note about missing images; raise `BadInputError` when all are missing."""
    paths = {edit.source.name: edit.source.path for edit in edits}
    missing = [path for path in paths.values() if not path.is_file()]
    if not missing:
        return ""
    similar_files = SimilarFiles()
    hint = next(filter(None, map(similar_files.hint, missing)), "")
    if len(missing) == len(paths):
        raise BadInputError(
            f"The benchmark '{benchmark}' finds none of its images in '{missing[0].parent}'{hint}. {advice}"
        )
    count = f"{len(missing)} of {format_count(len(paths), 'image')}"
    return f"; {count} are missing, such as '{missing[0].name}'{hint}"
