"""One record: all scores of one protocol for one outcome, and the stamps of the images they came from."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, NamedTuple

from editgauge.results.lines import content_of_line, line_with_checksum


class Key(NamedTuple):
    """What a record is about; no two records of a run share it."""

    edit: str
    method: str
    seed: int
    protocol: str


@dataclass(frozen=True, slots=True)
class ImageStamp:
    """An image file as it was when it was scored. `pixels` is the hash of the decoded image, None if unreadable."""

    path: str
    size: int = -1
    changed_ns: int = -1
    pixels: str | None = None

    @classmethod
    def of(cls, path: Path, pixels: str | None = None) -> ImageStamp:
        """The stamp of a file now; a missing file has size -1."""
        try:
            stat = path.stat()
        except OSError:
            return cls(str(path))
        return cls(str(path), stat.st_size, stat.st_mtime_ns, pixels)


Stamps = tuple[ImageStamp | None, ...]
"""The files that a record was scored from: source, outcome, ground truth."""


def short_hash(text: str) -> int:
    """Eight bytes that stand for a text, the same on every machine."""
    return int.from_bytes(hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "big")


def fingerprint(key: Key, *images: ImageStamp | None) -> int:
    """Eight bytes instead of the strings: a million records fit into some ten megabytes."""
    text = "\0".join((*map(str, key), *(f"{i.path}\0{i.size}\0{i.changed_ns}" if i else "-" for i in images)))
    return short_hash(text)


@dataclass(frozen=True, slots=True)
class Row:
    """One score: a value, or a reason why there is none."""

    name: str
    value: float | None
    reason: str | None = None
    detail: str = ""
    evidence: tuple[dict[str, Any], ...] = ()


@dataclass(frozen=True, slots=True)
class Record:
    """All scores of one protocol for one outcome."""

    place: int
    """The edit's place in the benchmark, so that tables come out in its order."""
    edit: str
    edit_type: str
    source: str
    """The name of the photograph (`Edit.origin`): scores of one photograph are not independent."""
    method: str
    seed: int
    protocol: str
    source_image: ImageStamp
    edited_image: ImageStamp | None
    rows: tuple[Row, ...]
    reference_image: ImageStamp | None = None
    """The ground truth, where the edit has one."""

    @property
    def key(self) -> Key:
        """What this record is about."""
        return Key(self.edit, self.method, self.seed, self.protocol)

    @property
    def images(self) -> Stamps:
        """The files it was scored from."""
        return self.source_image, self.edited_image, self.reference_image

    def to_line(self) -> bytes:
        """One line of a journal."""
        content = _flat(self) | {
            "source_image": _flat(self.source_image),
            "edited_image": _flat(self.edited_image) if self.edited_image else None,
            "reference_image": _flat(self.reference_image) if self.reference_image else None,
            "rows": [_flat(row) for row in self.rows],
        }
        return line_with_checksum(content)

    @classmethod
    def from_line(cls, line: bytes) -> Record:
        """The inverse of `to_line`; a torn or altered line raises `BadRunError`."""
        stored = content_of_line(line, "journal")
        edited, reference = stored.pop("edited_image"), stored.pop("reference_image", None)
        return cls(
            **{
                **stored,
                "source_image": ImageStamp(**stored["source_image"]),
                "edited_image": ImageStamp(**edited) if edited else None,
                "reference_image": ImageStamp(**reference) if reference else None,
                "rows": tuple(Row(**{**row, "evidence": tuple(row["evidence"])}) for row in stored["rows"]),
            }
        )


def _flat(thing: Record | ImageStamp | Row) -> dict[str, Any]:
    """Its fields as they are: `asdict` would copy every piece of evidence, at three times the cost."""
    return {name: getattr(thing, name) for name in _NAMES[type(thing)]}


_NAMES = {kind: tuple(field.name for field in fields(kind)) for kind in (Record, ImageStamp, Row)}
