"""Reads the regions of a benchmark file: outlines, mask files, boxes, and what is composed of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from editgauge._util.documents import Location
from editgauge._util.fields import describe_unknown, format_value
from editgauge._util.images import IMAGE_SUFFIXES
from editgauge._util.masks import Dilated, Mask, MaskFile, Outside, Polygons, Rectangle, Union
from editgauge.benchmarks._format import Erased, RunLengths, paired, runs_problem
from editgauge.errors import BadInputError

Find = Callable[[str], Path]
"""The file an image path of the benchmark means; raises `BadInputError` when there is none."""

FARTHEST = 100_000
"""Pixels; no image that can be read has a side as long."""
WIDEST_MARGIN = 500
LONGEST_SIDE = 8_000
"""Pixels of a picture given as run lengths."""
DEEPEST = 20
FORMS = {
    "union": ("union",),
    "outside": ("outside",),
    "grow": ("grow", "by"),
    "box": ("box",),
    "erased": ("erased",),
    "runs": ("runs", "size", "frame"),
}


@dataclass(frozen=True, slots=True)
class Names:
    """What a word in a mask can mean: an object of the source (None when it is faulty), or else an image path."""

    objects: Mapping[str, Mask | None]
    find: Find


def looks_like_path(word: str) -> bool:
    """Whether a word is meant as an image path rather than as a name."""
    return "/" in word or "\\" in word or PurePosixPath(word).suffix.lower() in IMAGE_SUFFIXES


def find_image(word: str, find: Find, spot: Location) -> Path | None:
    """The file of an image path; None after reporting that there is none."""
    try:
        return find(word)
    except BadInputError as error:
        spot.report(str(error))
        return None


def read_mask(value: Any, spot: Location, names: Names, depth: int = 0) -> Mask | None:
    """The region a part of the file describes; None after reporting everything that is wrong with it."""
    if depth > DEEPEST:
        spot.report(f"a mask nested more than {DEEPEST} levels deep")
    elif isinstance(value, str):
        return _named(value, spot, names)
    elif isinstance(value, list):
        return read_polygons(value, spot)
    elif isinstance(value, dict):
        return _composed(value, spot, names, depth)
    else:
        spot.report(
            f"a mask is a list of polygons, a name, a path or one of {', '.join(FORMS)}, got {format_value(value)}"
        )
    return None


def read_polygons(rings: list[Any], spot: Location) -> Polygons | None:
    """The outlines of an object; each problem of each outline is reported."""
    if not rings:
        spot.report("a mask without any polygon")
        return None
    problems = [(place, _ring_problem(ring)) for place, ring in enumerate(rings)]
    if all(is_number(value) for value in rings):
        problems = [(0, "a polygon stands in a list of polygons: write [[x0, y0, x1, y1, ...]]")]
    for place, problem in problems:
        if problem:
            spot.within(place).report(problem)
    if any(problem for _, problem in problems):
        return None
    return Polygons(tuple(tuple(float(value) for value in ring) for ring in rings))


def _ring_problem(ring: Any) -> str | None:
    if not isinstance(ring, list) or not all(is_number(value) for value in ring):
        return f"a polygon is a list of pixel positions [x0, y0, x1, y1, ...], got {format_value(ring)}"
    if len(ring) % 2:
        return f"a polygon has an odd count of numbers ({len(ring)}); it needs pairs of x and y"
    if len(ring) < 6:
        return f"a polygon has {len(ring) // 2} points; it needs at least 3"
    if len(set(ring[0::2])) == 1 or len(set(ring[1::2])) == 1:
        return "a polygon has no area: all its points are on one line"
    return None


def is_number(value: Any) -> bool:
    """Whether a value can be a pixel position."""
    return isinstance(value, int | float) and not isinstance(value, bool) and -FARTHEST <= value <= FARTHEST


def _named(word: str, spot: Location, names: Names) -> Mask | None:
    if word in names.objects:
        return names.objects[word]
    if not looks_like_path(word):
        spot.report(describe_unknown("object", word, names.objects))
        return None
    path = find_image(word, names.find, spot)
    return MaskFile(path, word) if path else None


def _composed(value: dict[str, Any], spot: Location, names: Names, depth: int) -> Mask | None:
    form = next((key for key in value if key in FORMS), None)
    if form is None:
        spot.report(describe_unknown("mask", next(iter(value), ""), FORMS))
        return None
    if set(value) != set(FORMS[form]):
        spot.report(f"a mask '{form}' has the keys {', '.join(FORMS[form])}, got {', '.join(map(format_value, value))}")
        return None
    inside, at = value[form], spot.within(form)
    if form == "box":
        return _box(inside, at)
    if form == "union":
        return _union(inside, at, names, depth)
    if form == "erased":
        return _erased(inside, at, names)
    if form == "runs":
        return _runs(value, at)
    part = read_mask(inside, at, names, depth + 1)
    if form == "outside":
        return Outside(part) if part else None
    by = value["by"]
    if not isinstance(by, int) or isinstance(by, bool) or not 0 <= by <= WIDEST_MARGIN:
        spot.within("by").report(f"'by' is a whole number of pixels from 0 to {WIDEST_MARGIN}, got {format_value(by)}")
        return None
    return Dilated(part, by) if part else None


def _box(value: Any, spot: Location) -> Rectangle | None:
    if not isinstance(value, list) or len(value) != 4 or not all(is_number(side) for side in value):
        spot.report(f"a box is [left, top, right, bottom], got {format_value(value)}")
        return None
    left, top, right, bottom = (float(side) for side in value)
    if right <= left or bottom <= top:
        spot.report(f"a box needs left < right and top < bottom, got {format_value(value)}")
        return None
    return Rectangle(left, top, right, bottom)


def _erased(word: Any, spot: Location, names: Names) -> Erased | None:
    if not isinstance(word, str) or not looks_like_path(word):
        spot.report(f"'erased' is the path of an image, got {format_value(word)}")
        return None
    path = find_image(word, names.find, spot)
    return Erased(path, word) if path else None


def _runs(value: dict[str, Any], spot: Location) -> RunLengths | None:
    size, frame, runs = value["size"], value["frame"], value["runs"]
    if not isinstance(size, list) or len(size) != 2 or not all(_is_length(side) for side in size) or size.count(0):
        spot.report(f"'size' is [width, height] in pixels, got {format_value(size)}")
        return None
    if not _is_length(frame) or frame > min(size):
        spot.report(f"'frame' is a whole number of pixels, got {format_value(frame)}")
        return None
    problem = runs_problem(runs, *size)
    if problem:
        spot.report(problem)
        return None
    width, height = size
    beyond = [start for start, length in paired(runs) if start + length > width * height]
    if beyond:
        spot.report(f"the run that starts at {beyond[0]} leaves a picture of {width} x {height}")
        return None
    return RunLengths(paired(runs), width, height, frame)


def _is_length(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= LONGEST_SIDE


def _union(value: Any, spot: Location, names: Names, depth: int) -> Union | None:
    if not isinstance(value, list) or not value:
        spot.report(f"'union' is a list of masks, got {format_value(value)}")
        return None
    parts = [read_mask(part, spot.within(index), names, depth + 1) for index, part in enumerate(value)]
    whole = tuple(part for part in parts if part is not None)
    return Union(whole) if len(whole) == len(parts) else None
