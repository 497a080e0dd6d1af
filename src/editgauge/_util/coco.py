"""MS-COCO's annotation files: images, their objects with outlines, and captions. JSON alone; no other package."""

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

MOST_TOLD = 20
"""Faults of a file that are reported individually; the rest is counted."""


@dataclass(frozen=True, slots=True)
class CocoObject:
    """One annotated object."""

    number: int
    class_: str
    box: tuple[float, float, float, float]
    """Left, top, right, bottom."""
    segmentation: Any
    """Polygons or run lengths, as the file has them."""
    is_crowd: bool
    """One outline for many of a kind."""

    def render(self, width: int, height: int) -> BoolMask:
        """Its mask in a picture of that size; raises `BadInputError` when its outline makes no sense."""
        outline = self.segmentation
        try:
            if isinstance(outline, dict):
                counts = outline["counts"]
                return rendered(read_counts(counts) if isinstance(counts, str) else counts, width, height)
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
    """One image and all that is known about it."""

    number: int
    file: str
    width: int
    height: int
    license: str = ""
    objects: tuple[CocoObject, ...] = ()
    captions: tuple[str, ...] = ()

    def count(self, class_: str) -> int:
        """How many objects of a class there are; a crowd counts as several."""
        return sum(2 if each.is_crowd else 1 for each in self.objects if each.class_ == class_)

    def named_objects(self) -> Iterator[tuple[str, CocoObject]]:
        """Every object with a name of its own, such as `dining-table-2`."""
        counts: Counter[str] = Counter()
        for each in self.objects:
            counts[each.class_] += 1
            yield f"{slug(each.class_)}-{counts[each.class_]}", each


@dataclass(frozen=True)
class Coco:
    """An annotation file."""

    images: tuple[CocoImage, ...]
    classes: Mapping[str, str] = field(default_factory=dict)
    """The supercategory of every class, in the order of the file."""

    @cached_property
    def together(self) -> Mapping[str, Counter[str]]:
        """In how many images two classes are seen together."""
        counts: dict[str, Counter[str]] = defaultdict(Counter)
        for image in self.images:
            for one, other in combinations(sorted({each.class_ for each in image.objects}), 2):
                counts[one][other] += 1
                counts[other][one] += 1
        return counts


def read_coco(annotations: Path, captions: Path | None = None) -> Coco:
    """What COCO's files say; raises `BadInputError` with every fault found."""
    content = _mapping(annotations, ("images", "annotations", "categories"))
    problems: list[str] = []
    categories = {
        each["id"]: (each["name"], str(each.get("supercategory", "")))
        for each in _records(content["categories"], "categories", {"id": int, "name": str}, problems)
    }
    objects = _objects(content["annotations"], categories, problems)
    sentences = _captions(captions, problems) if captions else {}
    licenses = {
        each.get("id"): str(each.get("name", "")) for each in content.get("licenses", []) if isinstance(each, dict)
    }
    wanted = {"id": int, "file_name": str, "width": int, "height": int}
    images = tuple(
        CocoImage(
            each["id"],
            each["file_name"],
            each["width"],
            each["height"],
            licenses.get(each.get("license"), ""),
            tuple(objects.get(each["id"], ())),
            tuple(sentences.get(each["id"], ())),
        )
        for each in _records(content["images"], "images", wanted, problems)
    )
    numbers = Counter(image.number for image in images)
    problems += [f"images: {number} is given {count} times" for number, count in numbers.items() if count > 1]
    if problems:
        more = [f"and {len(problems) - MOST_TOLD} more"] if len(problems) > MOST_TOLD else []
        raise BadInputError(f"'{annotations}' cannot be used as COCO annotations:", [*problems[:MOST_TOLD], *more])
    return Coco(images, dict(categories.values()))


def _objects(
    records: Any, categories: Mapping[int, tuple[str, str]], problems: list[str]
) -> dict[int, list[CocoObject]]:
    by_image: dict[int, list[CocoObject]] = defaultdict(list)
    wanted: dict[str, type | tuple[type, ...]] = {"id": int, "image_id": int, "category_id": int}
    wanted |= {"bbox": list, "segmentation": (list, dict)}
    for each in _records(records, "annotations", wanted, problems):
        if each["category_id"] not in categories:
            problems.append(f"annotations: {each['id']} has the unknown category {each['category_id']}")
        elif len(each["bbox"]) != 4:
            problems.append(f"annotations: {each['id']} has a bbox of {len(each['bbox'])} numbers, not 4")
        else:
            left, top, width, height = each["bbox"]
            name = categories[each["category_id"]][0]
            box = (left, top, left + width, top + height)
            crowd = bool(each.get("iscrowd", 0))
            by_image[each["image_id"]].append(CocoObject(each["id"], name, box, each["segmentation"], crowd))
    return by_image


def _captions(file: Path, problems: list[str]) -> dict[int, list[str]]:
    by_image: dict[int, list[str]] = defaultdict(list)
    captions = _mapping(file, ("annotations",))["annotations"]
    for each in _records(captions, "captions", {"image_id": int, "caption": str}, problems):
        if each["caption"].strip():
            by_image[each["image_id"]].append(" ".join(each["caption"].split()))
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
    records: Sequence[Any], what: str, wanted: Mapping[str, type | tuple[type, ...]], problems: list[str]
) -> Iterator[dict[str, Any]]:
    """Those that have what they need; the others are noted."""
    for place, each in enumerate(records):
        lacking = (
            [key for key, kind in wanted.items() if not isinstance(each.get(key), kind)]
            if isinstance(each, dict)
            else list(wanted)
        )
        if lacking:
            problems.append(f"{what}[{place}]: needs {', '.join(lacking)}, got {format_value(each)}")
        else:
            yield each


FIRST = 48
"""The sign '0' stands for 0; each sign holds five bits, and a sixth that says whether more follow."""


def read_counts(text: str) -> list[int]:
    """The run lengths that a compressed text stands for; raises `ValueError` when it stands for none.

    Each number is written as its difference to the one before the last, from the fourth on.

    >>> read_counts("111"), read_counts("4"), read_counts("PP1")
    ([1, 1, 1], [4], [1024])
    """
    counts: list[int] = []
    value = shift = 0
    for sign in text:
        bits = ord(sign) - FIRST
        if not 0 <= bits < 64:
            raise ValueError(f"{sign!r} is no sign of compressed run lengths")
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


def rendered(counts: Sequence[int], width: int, height: int) -> BoolMask:
    """The mask of run lengths, the first of them outside; raises `ValueError` when they do not fill the picture."""
    if sum(counts) != width * height:
        raise ValueError(f"the run lengths cover {sum(counts)} pixels of {width} x {height}")
    flat = np.zeros(width * height, dtype=np.bool_)
    ends = list(accumulate(counts))
    for start, end in zip(ends[0::2], ends[1::2], strict=False):
        flat[start:end] = True
    return np.ascontiguousarray(flat.reshape((height, width), order="F"))
