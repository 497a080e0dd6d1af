"""Read benchmark files of the project's own format: sources, masks, recipes and edits."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np

from editgauge._util.datasets import skipped_problems
from editgauge._util.disk_list import DiskList
from editgauge._util.documents import Document, Lines, Location, parse_json_lines
from editgauge._util.fields import (
    BenchmarkFields,
    EditFields,
    SourceFields,
    describe_unknown,
    format_value,
    read_fields,
)
from editgauge._util.images import IMAGE_SUFFIXES, ImageFile, alpha_channel, read_image
from editgauge._util.masks import (
    BoolMask,
    Dilated,
    Mask,
    MaskFile,
    MaskPixels,
    Outside,
    Polygons,
    Rectangle,
    Union,
    require_same_shape,
)
from editgauge.errors import BadInputError
from editgauge.instructions.parsed import complete_edit, parse_summary
from editgauge.recipes import (
    COLORS,
    MATERIALS,
    SCENES,
    STYLES,
    Background,
    Cutout,
    Move,
    Paste,
    Recipe,
    Recolor,
    Remove,
    Replace,
    Resize,
    Restyle,
    Texture,
)
from editgauge.types import Benchmark, Edit, InputImage, Position

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


def find_image(word: str, find: Find, location: Location) -> Path | None:
    """Return the file of an image path, or None after reporting a fault."""
    try:
        return find(word)
    except BadInputError as error:
        location.report(str(error))
        return None


def read_mask(value: Any, location: Location, names: Names, depth: int = 0) -> Mask | None:
    """Read a region, or return None after reporting all faults."""
    if depth > DEEPEST:
        location.report(f"a mask nested more than {DEEPEST} levels deep")
    elif isinstance(value, str):
        return _named(value, location, names)
    elif isinstance(value, list):
        return read_polygons(value, location)
    elif isinstance(value, dict):
        return _composed(value, location, names, depth)
    else:
        location.report(
            f"a mask is a list of polygons, a name, a path or one of {', '.join(FORMS)}, got {format_value(value)}"
        )
    return None


def read_polygons(rings: list[Any], location: Location) -> Polygons | None:
    """Read the outlines of an object; report all faults."""
    if not rings:
        location.report("a mask without any polygon")
        return None
    problems = [(index, _ring_problem(ring)) for index, ring in enumerate(rings)]
    if all(is_number(value) for value in rings):
        problems = [(0, "a polygon stands in a list of polygons: write [[x0, y0, x1, y1, ...]]")]
    for index, problem in problems:
        if problem:
            location.within(index).report(problem)
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


def _named(word: str, location: Location, names: Names) -> Mask | None:
    if word in names.objects:
        return names.objects[word]
    if not looks_like_path(word):
        location.report(describe_unknown("object", word, names.objects))
        return None
    path = find_image(word, names.find, location)
    return MaskFile(path, word) if path else None


def _composed(value: dict[str, Any], location: Location, names: Names, depth: int) -> Mask | None:
    form = next((key for key in value if key in FORMS), None)
    if form is None:
        location.report(describe_unknown("mask", next(iter(value), ""), FORMS))
        return None
    if set(value) != set(FORMS[form]):
        location.report(
            f"a mask '{form}' has the keys {', '.join(FORMS[form])}, got {', '.join(map(format_value, value))}"
        )
        return None
    inside, at = value[form], location.within(form)
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
        location.within("by").report(
            f"'by' is a whole number of pixels from 0 to {WIDEST_MARGIN}, got {format_value(by)}"
        )
        return None
    return Dilated(part, by) if part else None


def _box(value: Any, location: Location) -> Rectangle | None:
    if not isinstance(value, list) or len(value) != 4 or not all(is_number(side) for side in value):
        location.report(f"a box is [left, top, right, bottom], got {format_value(value)}")
        return None
    left, top, right, bottom = (float(side) for side in value)
    if right <= left or bottom <= top:
        location.report(f"a box needs left < right and top < bottom, got {format_value(value)}")
        return None
    return Rectangle(left, top, right, bottom)


def _erased(word: Any, location: Location, names: Names) -> Erased | None:
    if not isinstance(word, str) or not looks_like_path(word):
        location.report(f"'erased' is the path of an image, got {format_value(word)}")
        return None
    path = find_image(word, names.find, location)
    return Erased(path, word) if path else None


def _runs(value: dict[str, Any], location: Location) -> RunLengths | None:
    size, frame, runs = value["size"], value["frame"], value["runs"]
    if not isinstance(size, list) or len(size) != 2 or not all(_is_length(side) for side in size) or size.count(0):
        location.report(f"'size' is [width, height] in pixels, got {format_value(size)}")
        return None
    if not _is_length(frame) or frame > min(size):
        location.report(f"'frame' is a whole number of pixels, got {format_value(frame)}")
        return None
    problem = runs_problem(runs, *size)
    if problem:
        location.report(problem)
        return None
    width, height = size
    outside = [start for start, length in paired(runs) if start + length > width * height]
    if outside:
        location.report(f"the run that starts at {outside[0]} leaves a picture of {width} x {height}")
        return None
    return RunLengths(paired(runs), width, height, frame)


def _is_length(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= LONGEST_SIDE


def _union(value: Any, location: Location, names: Names, depth: int) -> Union | None:
    if not isinstance(value, list) or not value:
        location.report(f"'union' is a list of masks, got {format_value(value)}")
        return None
    parts = [read_mask(part, location.within(index), names, depth + 1) for index, part in enumerate(value)]
    masks = tuple(part for part in parts if part is not None)
    return Union(masks) if len(masks) == len(parts) else None


@dataclass(frozen=True, slots=True)
class RunLengths:
    """Pairs (start, length) of inside pixels, counted along the rows of a picture of that size."""

    pairs: tuple[tuple[int, int], ...]
    width: int
    height: int
    frame: int = 0
    """Pixels along the border that are inside whatever the runs say."""

    def render(self, width: int, height: int) -> BoolMask:
        """Decode in the original size, then scale by nearest neighbor."""
        require_same_shape("The mask given as run lengths", (self.width, self.height), (width, height))
        flat = np.zeros(self.width * self.height, dtype=np.bool_)
        for start, length in self.pairs:
            flat[start : start + length] = True
        mask = flat.reshape(self.height, self.width)
        if self.frame:
            mask[: self.frame] = mask[-self.frame :] = True
            mask[:, : self.frame] = mask[:, -self.frame :] = True
        return MaskPixels(mask).render(width, height)

    def describe(self) -> Any:
        """Return `{runs: [start, length, …], size: [width, height], frame: pixels}`."""
        runs = list(chain.from_iterable(self.pairs))
        return {"runs": runs, "size": [self.width, self.height], "frame": self.frame}


def runs_problem(runs: Any, width: int, height: int) -> str | None:
    """Return why a list of numbers is no valid run-length encoding of an image, or None.

    >>> runs_problem([0, 4, 9], 4, 4)
    'run lengths are pairs of start and length, got 3 numbers'
    """
    if not isinstance(runs, list) or not all(isinstance(one, int) and not isinstance(one, bool) for one in runs):
        return "run lengths are a list of whole numbers"
    if len(runs) % 2:
        return f"run lengths are pairs of start and length, got {len(runs)} numbers"
    outside = [start for start in runs[0::2] if not 0 <= start < width * height]
    if outside:
        return f"a run starts at {outside[0]}, outside a picture of {width} x {height}"
    if any(length < 0 for length in runs[1::2]):
        return "a run has a length under 0"
    return None


def paired(runs: Sequence[int]) -> tuple[tuple[int, int], ...]:
    """Pair starts and lengths of a flat list."""
    return tuple(zip(runs[0::2], runs[1::2], strict=True))


@dataclass(frozen=True, slots=True)
class Erased:
    """A picture from which the region was erased: it is transparent there, or pure white if nothing is transparent.

    A file without transparency (as a converter leaves it) also counts what was pure white in the picture itself.
    """

    path: Path
    name: str = ""
    """What the benchmark calls it; the same on every machine."""

    def render(self, width: int, height: int) -> BoolMask:
        """Scaled to the given size by nearest neighbor."""
        pixels = read_image(self.path)  # the one loader: it refuses what is no image, broken or absurdly large
        require_same_shape(f"The mask '{self.path}'", (pixels.shape[1], pixels.shape[0]), (width, height))
        alpha = alpha_channel(self.path)
        inside = (pixels == 255).all(axis=2)
        if alpha is not None and (alpha < 255).any():
            inside = np.asarray(alpha < 255)  # everything that is not fully opaque: erasers have soft edges
        return MaskPixels(inside).render(width, height)

    def describe(self) -> Any:
        """`{erased: its name}`, or else its path."""
        return {"erased": self.name or str(self.path)}


@dataclass(frozen=True, slots=True)
class RecipeSource:
    """A source image with the outlines that are known; a part is None when it was found faulty."""

    picture: ImageFile | None
    caption: str | None = None
    objects: Mapping[str, Mask | None] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RecipeSources:
    """The images a recipe may take from: its own source, and all sources by name (None when found faulty)."""

    source: RecipeSource
    sources: Mapping[str, RecipeSource | None]


ReadPart = Callable[[Any, Location, RecipeSources], Any]
"""Reads one part of a recipe; gives None after reporting what is wrong with it."""


def _outline(name: Any, location: Location, images: RecipeSources) -> Polygons | None:
    return _outline_of(images.source, name, location)


def _outline_of(source: RecipeSource, name: Any, location: Location) -> Polygons | None:
    if not isinstance(name, str) or name not in source.objects:
        location.report(describe_unknown("object", str(name), source.objects))
        return None
    mask = source.objects[name]
    if mask is not None and not isinstance(mask, Polygons):
        location.report(f"the object '{name}' is no list of polygons; a recipe needs an outline")
        return None
    return mask


def _outlines(names: Any, location: Location, images: RecipeSources) -> tuple[Polygons, ...] | None:
    if not isinstance(names, list) or not names:
        location.report(f"a background keeps a list of the source's objects, got {format_value(names)}")
        return None
    read = [_outline(name, location.within(index), images) for index, name in enumerate(names)]
    outlines = tuple(outline for outline in read if outline is not None)
    return outlines if len(outlines) == len(read) else None


def _cutout(word: Any, location: Location, images: RecipeSources) -> Cutout | None:
    if not isinstance(word, str) or "/" not in word:
        location.report(f"an object of another source is written SOURCE/OBJECT, got {format_value(word)}")
        return None
    name, _, object_name = word.partition("/")
    if name not in images.sources:
        location.report(describe_unknown("source", name, images.sources))
        return None
    source = images.sources[name]
    outline = _outline_of(source, object_name, location) if source else None
    return Cutout(source.picture, outline) if source and source.picture and outline else None


def _scene(word: Any, location: Location, images: RecipeSources) -> str | ImageFile | None:
    if word in SCENES:
        return str(word)
    if not isinstance(word, str) or word not in images.sources:
        location.report(describe_unknown("scene or source", str(word), (*SCENES, *images.sources)))
        return None
    source = images.sources[word]
    return source.picture if source else None


def _point(value: Any, location: Location, _images: RecipeSources) -> tuple[float, float] | None:
    if not isinstance(value, list) or len(value) != 2 or not all(is_number(part) for part in value):
        location.report(f"'{location.path[-1]}' is a pixel position [x, y], got {format_value(value)}")
        return None
    return float(value[0]), float(value[1])


def _amount(value: Any, location: Location, _images: RecipeSources) -> float | None:
    if not is_number(value) or value <= 0:
        location.report(f"'{location.path[-1]}' is a number over 0, got {format_value(value)}")
        return None
    return float(value)


def _one_of(kind: str, names: tuple[str, ...]) -> ReadPart:
    def read(value: Any, location: Location, _images: RecipeSources) -> str | None:
        if value in names:
            return str(value)
        location.report(describe_unknown(kind, str(value), names))
        return None

    return read


RECIPES: dict[str, tuple[Callable[..., Recipe], dict[str, ReadPart]]] = {
    "recolor": (Recolor, {"recolor": _outline, "to": _one_of("color", COLORS)}),
    "move": (Move, {"move": _outline, "to": _point}),
    "resize": (Resize, {"resize": _outline, "by": _amount}),
    "remove": (Remove, {"remove": _outline}),
    "paste": (Paste, {"paste": _cutout, "at": _point, "height": _amount}),
    "replace": (Replace, {"replace": _outline, "with": _cutout}),
    "texture": (Texture, {"texture": _outline, "with": _one_of("material", MATERIALS)}),
    "style": (Restyle, {"style": _one_of("style", STYLES)}),
    "background": (Background, {"background": _outlines, "with": _scene}),
}
"""Each recipe with its keys, in the order of its fields."""


def read_recipe(value: Any, location: Location, images: RecipeSources) -> Recipe | None:
    """Read a recipe, or return None after reporting all faults."""
    if not isinstance(value, dict) or not value:
        location.report(f"a recipe is a mapping with one of {', '.join(RECIPES)}, got {format_value(value)}")
        return None
    kind = next((key for key in value if key in RECIPES), None)
    if kind is None:
        location.report(describe_unknown("recipe", next(iter(value)), RECIPES))
        return None
    recipe, keys = RECIPES[kind]
    if set(value) != set(keys):
        location.report(f"a recipe '{kind}' has the keys {', '.join(keys)}, got {', '.join(map(format_value, value))}")
        return None
    parts = [read(value[key], location.within(key), images) for key, read in keys.items()]
    return None if any(part is None for part in parts) else recipe(*parts)


def read_benchmark(document: Document, find: Find, *, name: str, where: str) -> Benchmark:
    """Read a benchmark file; `find` resolves image paths, `name` is the default name.

    Raises one `BadInputError` with all problems, each with file and line.
    """
    benchmark = _read(document, find, name) if document.value is not None else None
    return _sound(benchmark, document, where)


def read_edits(lines: Iterable[str], file: str, find: Find, *, name: str, where: str) -> Benchmark:
    """Read a file with one edit per line, without holding all edits in memory."""
    document = Document(file)
    reader = _EditReader({}, find)
    is_skipping = skipped_problems() is not None
    edits: DiskList[Edit] = DiskList()
    position = Lines(1)
    document.lines = Lines(1, {"edits": position})
    complete_lines = (line.removesuffix("\n") for line in lines)
    for index, (number, value) in enumerate(parse_json_lines(complete_lines, document)):
        position.parts = {index: Lines(number)}  # what is wrong with a line is said before the next is read
        edit = reader.read(value, Location(document, ("edits", index)), index)
        if edit is not None and (not document.faults or is_skipping):
            edits.append(edit)
    benchmark = None if (document.faults and not is_skipping) or not edits else Benchmark(name, edits.settled())
    return _sound(benchmark, document, where)


def _sound(benchmark: Benchmark | None, document: Document, where: str) -> Benchmark:
    skipped = skipped_problems()
    if benchmark is not None and document.faults and skipped is not None and benchmark.edits:
        skipped += document.problems()
        return benchmark
    if benchmark is None and not document.faults:
        document.faults.append((1, "the file is empty"))
    if benchmark is None or document.faults:
        problems = document.problems()
        count = "a problem" if len(problems) == 1 else f"{len(problems)} problems"
        raise BadInputError(f"The benchmark in '{where}' has {count}:", problems)
    return benchmark


def _read(document: Document, find: Find, name: str) -> Benchmark | None:
    top = Location(document)
    fields = read_fields(BenchmarkFields, document.value, top)
    sources = _read_sources(_part(document.value, "sources", dict), top.within("sources"), find)
    reader = _EditReader(sources, find)
    entries = enumerate(_part(document.value, "edits", list))
    edits = [reader.read(entry, top.within("edits", index), index) for index, entry in entries]
    if fields is None or (document.faults and skipped_problems() is None):
        return None
    complete = tuple(edit for edit in edits if edit is not None)
    untyped = any("type" not in entry for entry in _part(document.value, "edits", list))
    about = "; ".join(filter(None, (fields.about, parse_summary(complete) if untyped else None)))
    return Benchmark(fields.name or name, complete, about=about, license=fields.license or "")


def _part(value: Any, key: str, kind: type) -> Any:
    """Return a part of a mapping, or an empty one if it is missing or of another kind."""
    part = value.get(key) if isinstance(value, dict) else None
    return part if isinstance(part, kind) else kind()


def _read_sources(values: Mapping[str, Any], location: Location, find: Find) -> dict[str, RecipeSource | None]:
    return {name: _read_source(name, value, location.within(name), find) for name, value in values.items()}


def _read_source(name: str, value: Any, location: Location, find: Find) -> RecipeSource | None:
    location = Location(location.document, location.path, f"source {format_value(name)}")
    if not name.strip() or looks_like_path(name):
        location.report("a source's name must not look like a path")
    fields = read_fields(SourceFields, value, location)
    if not isinstance(value, dict):
        return None
    picture = _picture(value.get("image"), location.within("image"), find)
    names = Names({}, find)
    objects = {
        object_name: read_mask(mask, location.within("objects", object_name), names)
        for object_name, mask in _part(value, "objects", dict).items()
    }
    return RecipeSource(picture, fields.caption if fields else None, objects)


def _picture(word: Any, location: Location, find: Find) -> ImageFile | None:
    if not isinstance(word, str) or not word.strip():
        return None
    path = find_image(word, find, location)
    if path is None and skipped_problems() is not None:
        path = Path(word)  # a missing source image: the edit stays, and is counted as unscored
    return ImageFile(str(PurePosixPath(word)), path) if path else None


class _EditReader:
    """Reads edits one after the other, and notices an id that was used before."""

    def __init__(self, sources: Mapping[str, RecipeSource | None], find: Find) -> None:
        self.sources = sources
        self.find = find
        self.paths: dict[str, RecipeSource] = {}
        self.lines_of_ids: dict[str, int] = {}

    def read(self, value: Any, location: Location, index: int) -> Edit | None:
        """Read an edit, or return None after reporting all faults."""
        location = Location(location.document, location.path, _owner(value, index))
        fields = read_fields(EditFields, value, location)
        if not isinstance(value, dict):
            return None
        self._check_follows(value.get("follows"), location.within("follows"))
        self._notice_id(value.get("id"), location.within("id"))
        source = self._source(value.get("source"), location.within("source"))
        reference = _picture(value.get("reference"), location.within("reference"), self.find)
        inputs = self._inputs(value.get("inputs"), location.within("inputs"))
        if source is None:
            return None
        recipe, mask = None, None
        if value.get("recipe") is not None:
            recipe = read_recipe(value["recipe"], location.within("recipe"), RecipeSources(source, self.sources))
        if value.get("mask") is not None:
            mask = read_mask(value["mask"], location.within("mask"), Names(source.objects, self.find))
        elif recipe is not None:
            mask = recipe.footprint()
        if fields is None or source.picture is None:
            return None
        edit = Edit(
            id=fields.id,
            source=source.picture,
            type=fields.type,
            instruction=fields.instruction,
            subject=fields.subject,
            from_=fields.from_,
            to=fields.to,
            position=Position(fields.position.relation, fields.position.anchor) if fields.position else None,
            count=fields.count,
            source_caption=fields.source_caption or source.caption,
            target_caption=fields.target_caption,
            mask=mask,
            objects={object_name: outline for object_name, outline in source.objects.items() if outline is not None},
            reference=reference,
            inputs=inputs,
            recipe=recipe,
            turn=fields.turn,
            follows=fields.follows,
            photograph=fields.photograph,
            groups=fields.groups,
            extras=fields.extras,
        )
        return complete_edit(edit)

    def _inputs(self, values: Any, location: Location) -> tuple[InputImage, ...]:
        """Return the valid further images of an edit."""
        entries = [value for value in values if isinstance(value, dict)] if isinstance(values, list) else []
        pictures = [
            (_picture(entry.get("image"), location.within(index, "image"), self.find), entry.get("role", "image"))
            for index, entry in enumerate(entries)
        ]
        return tuple(InputImage(picture, role) for picture, role in pictures if picture)

    def _notice_id(self, name: Any, location: Location) -> None:
        """Ids name files, and some file systems take 'Cat' and 'cat' for the same."""
        if not isinstance(name, str):
            return
        key = _same_file(name)
        if key in self.lines_of_ids:
            location.report(f"the id is used twice, on lines {self.lines_of_ids[key]} and {location.line}")
        else:
            self.lines_of_ids[key] = location.line

    def _check_follows(self, name: Any, location: Location) -> None:
        if isinstance(name, str) and _same_file(name) not in self.lines_of_ids:
            location.report(f"'follows' must name an edit further up, got {format_value(name)}")

    def _source(self, word: Any, location: Location) -> RecipeSource | None:
        if not isinstance(word, str) or not word.strip():
            return None
        if word in self.sources:
            return self.sources[word]
        if not looks_like_path(word):
            location.report(describe_unknown("source", word, self.sources))
            return None
        if word not in self.paths:
            self.paths[word] = RecipeSource(_picture(word, location, self.find))
        return self.paths[word]


def _owner(value: Any, index: int) -> str:
    name = value.get("id") if isinstance(value, dict) else None
    return f"edit {format_value(name)}" if isinstance(name, str) and name.strip() else f"edit number {index + 1}"


def _same_file(name: str) -> str:
    return unicodedata.normalize("NFC", name).casefold()
