"""Makes a benchmark of what a benchmark file says, or tells everything that is wrong with it at once."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Mapping
from pathlib import PurePosixPath
from typing import Any

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
from editgauge._util.images import ImageFile
from editgauge.benchmarks._format import (
    Find,
    Names,
    RecipeSource,
    RecipeSources,
    find_image,
    looks_like_path,
    read_mask,
    read_recipe,
)
from editgauge.errors import BadInputError
from editgauge.instructions.parsed import complete_edit, parse_summary
from editgauge.types import Benchmark, Edit, InputImage, Position


def read_benchmark(document: Document, find: Find, *, name: str, where: str) -> Benchmark:
    """The benchmark of a file; `find` gives the file of an image path, `name` is used when the file gives none.

    Raises one `BadInputError` with all problems, each with file and line.
    """
    benchmark = _read(document, find, name) if document.value is not None else None
    return _sound(benchmark, document, where)


def read_edits(lines: Iterable[str], file: str, find: Find, *, name: str, where: str) -> Benchmark:
    """The benchmark of a file with one edit on each line, read line by line: a million of them never are in memory."""
    document = Document(file)
    reader = _EditReader({}, find)
    edits: DiskList[Edit] = DiskList()
    here = Lines(1)
    document.lines = Lines(1, {"edits": here})
    whole = (line.removesuffix("\n") for line in lines)
    for index, (number, value) in enumerate(parse_json_lines(whole, document)):
        here.parts = {index: Lines(number)}  # what is wrong with a line is said before the next is read
        edit = reader.read(value, Location(document, ("edits", index)), index)
        if edit is not None and not document.faults:
            edits.append(edit)
    benchmark = None if document.faults or not edits else Benchmark(name, edits.settled())
    return _sound(benchmark, document, where)


def _sound(benchmark: Benchmark | None, document: Document, where: str) -> Benchmark:
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
    edits = [reader.read(entry, top.within("edits", place), place) for place, entry in entries]
    if fields is None or document.faults:
        return None
    whole = tuple(edit for edit in edits if edit is not None)
    untyped = any("type" not in entry for entry in _part(document.value, "edits", list))
    about = "; ".join(filter(None, (fields.about, parse_summary(whole) if untyped else None)))
    return Benchmark(fields.name or name, whole, about=about, license=fields.license or "")


def _part(value: Any, key: str, kind: type) -> Any:
    """A part of a mapping, or an empty one where it is missing or of another kind (which was reported elsewhere)."""
    part = value.get(key) if isinstance(value, dict) else None
    return part if isinstance(part, kind) else kind()


def _read_sources(values: Mapping[str, Any], spot: Location, find: Find) -> dict[str, RecipeSource | None]:
    return {name: _read_source(name, value, spot.within(name), find) for name, value in values.items()}


def _read_source(name: str, value: Any, spot: Location, find: Find) -> RecipeSource | None:
    spot = Location(spot.document, spot.path, f"source {format_value(name)}")
    if not name.strip() or looks_like_path(name):
        spot.report("a source's name must not look like a path")
    fields = read_fields(SourceFields, value, spot)
    if not isinstance(value, dict):
        return None
    picture = _picture(value.get("image"), spot.within("image"), find)
    names = Names({}, find)
    objects = {
        thing: read_mask(mask, spot.within("objects", thing), names)
        for thing, mask in _part(value, "objects", dict).items()
    }
    return RecipeSource(picture, fields.caption if fields else None, objects)


def _picture(word: Any, spot: Location, find: Find) -> ImageFile | None:
    if not isinstance(word, str) or not word.strip():
        return None
    path = find_image(word, find, spot)
    return ImageFile(str(PurePosixPath(word)), path) if path else None


class _EditReader:
    """Reads edits one after the other, and notices an id that was used before."""

    def __init__(self, sources: Mapping[str, RecipeSource | None], find: Find) -> None:
        self.sources = sources
        self.find = find
        self.paths: dict[str, RecipeSource] = {}
        self.lines_of_ids: dict[str, int] = {}

    def read(self, value: Any, spot: Location, index: int) -> Edit | None:
        """The edit; None after reporting everything that is wrong with it."""
        spot = Location(spot.document, spot.path, _owner(value, index))
        fields = read_fields(EditFields, value, spot)
        if not isinstance(value, dict):
            return None
        self._check_follows(value.get("follows"), spot.within("follows"))
        self._notice_id(value.get("id"), spot.within("id"))
        source = self._source(value.get("source"), spot.within("source"))
        reference = _picture(value.get("reference"), spot.within("reference"), self.find)
        inputs = self._inputs(value.get("inputs"), spot.within("inputs"))
        if source is None:
            return None
        recipe, mask = None, None
        if value.get("recipe") is not None:
            recipe = read_recipe(value["recipe"], spot.within("recipe"), RecipeSources(source, self.sources))
        if value.get("mask") is not None:
            mask = read_mask(value["mask"], spot.within("mask"), Names(source.objects, self.find))
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
            objects={thing: outline for thing, outline in source.objects.items() if outline is not None},
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

    def _inputs(self, values: Any, spot: Location) -> tuple[InputImage, ...]:
        """The further pictures that are there; what else is wrong with them was reported with the fields."""
        entries = [value for value in values if isinstance(value, dict)] if isinstance(values, list) else []
        pictures = [
            (_picture(entry.get("image"), spot.within(index, "image"), self.find), entry.get("role", "image"))
            for index, entry in enumerate(entries)
        ]
        return tuple(InputImage(picture, role) for picture, role in pictures if picture)

    def _notice_id(self, name: Any, spot: Location) -> None:
        """Ids name files, and some file systems take 'Cat' and 'cat' for the same."""
        if not isinstance(name, str):
            return
        key = _same_file(name)
        if key in self.lines_of_ids:
            spot.report(f"the id is used twice, on lines {self.lines_of_ids[key]} and {spot.line}")
        else:
            self.lines_of_ids[key] = spot.line

    def _check_follows(self, name: Any, spot: Location) -> None:
        if isinstance(name, str) and _same_file(name) not in self.lines_of_ids:
            spot.report(f"'follows' must name an edit further up, got {format_value(name)}")

    def _source(self, word: Any, spot: Location) -> RecipeSource | None:
        if not isinstance(word, str) or not word.strip():
            return None
        if word in self.sources:
            return self.sources[word]
        if not looks_like_path(word):
            spot.report(describe_unknown("source", word, self.sources))
            return None
        if word not in self.paths:
            self.paths[word] = RecipeSource(_picture(word, spot, self.find))
        return self.paths[word]


def _owner(value: Any, index: int) -> str:
    name = value.get("id") if isinstance(value, dict) else None
    return f"edit {format_value(name)}" if isinstance(name, str) and name.strip() else f"edit number {index + 1}"


def _same_file(name: str) -> str:
    return unicodedata.normalize("NFC", name).casefold()
