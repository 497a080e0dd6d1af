"""Reader of MS-COCO annotation files: images, objects with outlines, and captions."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate, combinations
from pathlib import Path
from typing import Any

import numpy as np

from editgauge._util.datasets import slug
from editgauge._util.fields import format_value
from editgauge._util.files import read_bytes
from editgauge._util.masks import BoolMask, Polygons
from editgauge.errors import BadInputError

MAX_REPORTED_PROBLEMS = 20


@dataclass(frozen=True, slots=True)
class CocoObject:
    """One annotated object."""

    number: int
    class_: str
    box: tuple[float, float, float, float]
    """Left, top, right, bottom."""
    segmentation: Any
    """Polygons or run lengths, as in the file."""
    is_crowd: bool
    """Whether one outline covers many objects of a class."""

    def render(self, width: int, height: int) -> BoolMask:
        """Return the mask for an image of that size; raise `BadInputError` for an invalid outline."""
        outline = self.segmentation
        try:
            if isinstance(outline, dict):
                counts = outline["counts"]
                return render_run_lengths(read_counts(counts) if isinstance(counts, str) else counts, width, height)
            rings = tuple(tuple(map(float, ring)) for ring in outline)
            if not rings or any(len(ring) < 6 or len(ring) % 2 for ring in rings):
                raise ValueError("a polygon needs pairs of x and y, three at least")
            return Polygons(rings).render(width, height)
        except (KeyError, TypeError, ValueError) as error:
            raise BadInputError(
                f"The outline of annotation {self.number} ({self.class_}) cannot be read: {error}."
            ) from error


@dataclass(frozen=True, slots=True)
class CocoImage:
    """One image with its annotations."""

    number: int
    file: str
    width: int
    height: int
    license: str = ""
    objects: tuple[CocoObject, ...] = ()
    captions: tuple[str, ...] = ()

    def count(self, class_: str) -> int:
        """Return the number of objects of a class; a crowd counts as two."""
        return sum(2 if entry.is_crowd else 1 for entry in self.objects if entry.class_ == class_)

    def named_objects(self) -> Iterator[tuple[str, CocoObject]]:
        """Yield every object with a unique name, such as `dining-table-2`."""
        counts: Counter[str] = Counter()
        for entry in self.objects:
            counts[entry.class_] += 1
            yield f"{slug(entry.class_)}-{counts[entry.class_]}", entry


@dataclass(frozen=True)
class Coco:
    """Content of an annotation file."""

    images: tuple[CocoImage, ...]
    classes: Mapping[str, str] = field(default_factory=dict)
    """Supercategory of every class, in the order of the file."""

    @cached_property
    def together(self) -> Mapping[str, Counter[str]]:
        """Number of images in which two classes occur together."""
        counts: dict[str, Counter[str]] = defaultdict(Counter)
        for image in self.images:
            for one, other in combinations(sorted({entry.class_ for entry in image.objects}), 2):
                counts[one][other] += 1
                counts[other][one] += 1
        return counts


def read_coco(annotations: Path, captions: Path | None = None) -> Coco:
    """Read annotations and captions; raise `BadInputError` with every problem."""
    content = _mapping(annotations, ("images", "annotations", "categories"))
    problems: list[str] = []
    categories = {
        record["id"]: (record["name"], str(record.get("supercategory", "")))
        for record in _records(content["categories"], "categories", {"id": int, "name": str}, problems)
    }
    objects = _objects(content["annotations"], categories, problems)
    sentences = _captions(captions, problems) if captions else {}
    licenses = {
        entry.get("id"): str(entry.get("name", "")) for entry in content.get("licenses", []) if isinstance(entry, dict)
    }
    required = {"id": int, "file_name": str, "width": int, "height": int}
    images = tuple(
        CocoImage(
            record["id"],
            record["file_name"],
            record["width"],
            record["height"],
            licenses.get(record.get("license"), ""),
            tuple(objects.get(record["id"], ())),
            tuple(sentences.get(record["id"], ())),
        )
        for record in _records(content["images"], "images", required, problems)
    )
    numbers = Counter(image.number for image in images)
    problems += [f"images: {number} is given {count} times" for number, count in numbers.items() if count > 1]
    if problems:
        more = [f"and {len(problems) - MAX_REPORTED_PROBLEMS} more"] if len(problems) > MAX_REPORTED_PROBLEMS else []
        raise BadInputError(
            f"'{annotations}' cannot be used as COCO annotations:", [*problems[:MAX_REPORTED_PROBLEMS], *more]
        )
    return Coco(images, dict(categories.values()))


def _objects(
    records: Any, categories: Mapping[int, tuple[str, str]], problems: list[str]
) -> dict[int, list[CocoObject]]:
    by_image: dict[int, list[CocoObject]] = defaultdict(list)
    required: dict[str, type | tuple[type, ...]] = {"id": int, "image_id": int, "category_id": int}
    required |= {"bbox": list, "segmentation": (list, dict)}
    for record in _records(records, "annotations", required, problems):
        if record["category_id"] not in categories:
            problems.append(f"annotations: {record['id']} has the unknown category {record['category_id']}")
        elif len(record["bbox"]) != 4:
            problems.append(f"annotations: {record['id']} has a bbox of {len(record['bbox'])} numbers, not 4")
        else:
            left, top, width, height = record["bbox"]
            name = categories[record["category_id"]][0]
            box = (left, top, left + width, top + height)
            crowd = bool(record.get("iscrowd", 0))
            by_image[record["image_id"]].append(CocoObject(record["id"], name, box, record["segmentation"], crowd))
    return by_image


def _captions(file: Path, problems: list[str]) -> dict[int, list[str]]:
    by_image: dict[int, list[str]] = defaultdict(list)
    captions = _mapping(file, ("annotations",))["annotations"]
    for record in _records(captions, "captions", {"image_id": int, "caption": str}, problems):
        if record["caption"].strip():
            by_image[record["image_id"]].append(" ".join(record["caption"].split()))
    return by_image


def _mapping(file: Path, keys: Sequence[str]) -> dict[str, Any]:
    try:
        content = json.loads(read_bytes(file))
    except OSError as error:
        raise BadInputError(f"'{file}' cannot be read: {error.strerror or error}.") from error
    except (ValueError, RecursionError) as error:
        raise BadInputError(f"'{file}' is not valid JSON: {error}.") from error
    lacking = [key for key in keys if not isinstance(content, dict) or not isinstance(content.get(key), list)]
    if lacking:
        raise BadInputError(f"'{file}' is no COCO file: it lacks the lists {', '.join(lacking)}.")
    return dict(content)


def _records(
    records: Sequence[Any], name: str, required: Mapping[str, type | tuple[type, ...]], problems: list[str]
) -> Iterator[dict[str, Any]]:
    """Yield records with all required keys; report the others as problems."""
    for index, record in enumerate(records):
        missing = (
            [key for key, kind in required.items() if not isinstance(record.get(key), kind)]
            if isinstance(record, dict)
            else list(required)
        )
        if missing:
            problems.append(f"{name}[{index}]: needs {', '.join(missing)}, got {format_value(record)}")
        else:
            yield record


CHARACTER_OFFSET = 48
"""The character '0' encodes 0; each character holds five bits, and a sixth that tells whether more follow."""


def read_counts(text: str) -> list[int]:
    """Decode compressed run lengths; raise `ValueError` for invalid text.

    From the fourth number on, each is stored as its difference to the number before the last.

    >>> read_counts("111"), read_counts("4"), read_counts("PP1")
    ([1, 1, 1], [4], [1024])
    """
    counts: list[int] = []
    value = shift = 0
    for character in text:
        bits = ord(character) - CHARACTER_OFFSET
        if not 0 <= bits < 64:
            raise ValueError(f"{character!r} is no character of compressed run lengths")
        value |= (bits & 31) << shift
        shift += 5
        if bits & 32:
            continue
        if bits & 16:
            value -= 1 << shift
        counts.append(value + (counts[-2] if len(counts) > 2 else 0))
        value = shift = 0
    if shift or any(count < 0 for count in counts):
        raise ValueError("the compressed run lengths are cut off or damaged")
    return counts


def render_run_lengths(counts: Sequence[int], width: int, height: int) -> BoolMask:
    """Return the mask of run lengths, the first of them outside; raise `ValueError` when they do not fill the image."""
    if sum(counts) != width * height:
        raise ValueError(f"the run lengths cover {sum(counts)} pixels of {width} x {height}")
    flat = np.zeros(width * height, dtype=np.bool_)
    ends = list(accumulate(counts))
    for start, end in zip(ends[0::2], ends[1::2], strict=False):
        flat[start:end] = True
    return np.ascontiguousarray(flat.reshape((height, width), order="F"))
