"""EditVal: 13 types of edits of MS-COCO photographs (Basu et al. 2023), from the authors' `object.json`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from editgauge._util.datasets import Faults, Ids, find_data_file, read_json, size_note
from editgauge._util.fields import describe_unknown, format_value
from editgauge._util.images import ImageFile
from editgauge._util.phrases import read_placing
from editgauge._util.text import format_count
from editgauge.benchmarks.image_store import missing_images
from editgauge.benchmarks.wording import instruction
from editgauge.edit_types import read_edit_type, vocabulary
from editgauge.errors import UnknownNameError, UnscorableError
from editgauge.types import Benchmark, Edit, Position, Relation

TYPES = tuple(vocabulary("editval").values())
NEEDED = "EditVal's `object.json`, or the folder it is in"
PUBLISHED = 648, 92
"""Edits and images, by the paper."""
NAMES = ("{}.jpg", "{:0>12}.jpg", "COCO_train2014_{:0>12}.jpg")
PLACES = ("", "train2017", "train2014", "images")
"""Where an image may be in the folder given, and under which names."""
SIDES: dict[str, Relation] = {"left": "left", "right": "right", "center": "center"}
SIZES = ("small", "large")
ADVICE = "Give --images: a folder of MS-COCO train2017 images, such as '123456.jpg' or '000000123456.jpg'."
LICENSE = "object.json states no license; each photograph is under its own Creative Commons license, named by MS-COCO"


def load(data: Path | None = None, images: Path | None = None) -> Benchmark:
    """EditVal: edits of 13 types on MS-COCO photographs; --data object.json, --images a COCO folder.

    An edit whose photograph is missing stays in the benchmark, so that it is counted as unscored.
    """
    edits = _read("editval", data, images)
    about = f"{size_note(edits, PUBLISHED)}{missing_images('editval', edits, ADVICE)}"
    return Benchmark("editval", edits, about, LICENSE)


def load_pixlens(data: Path | None = None, images: Path | None = None) -> Benchmark:
    """EditVal as PixLens uses it: also the removal of each object; options as for `editval`."""
    edits = _read("editval-pixlens", data, images)
    one_each = {(edit.extras["class"], edit.extras["image_id"]): edit for edit in edits}
    removals = tuple(_removal(one_each[index]) for index in sorted(one_each))
    added = f"and {format_count(len(removals), 'object removal')} that PixLens adds, one per image"
    about = f"{size_note(edits, PUBLISHED)}, {added}{missing_images('editval-pixlens', edits, ADVICE)}"
    return Benchmark("editval-pixlens", (*edits, *removals), about, LICENSE)


def _removal(edit: Edit) -> Edit:
    text = instruction("object_removal", str(edit.subject), None, "")
    return Edit(
        id=f"{edit.id.partition(f'-{edit.type}-')[0]}-object_removal",
        source=edit.source,
        type="object_removal",
        instruction=text,
        subject=edit.subject,
        extras={**edit.extras, "to": ""},
    )


def _read(name: str, data: Path | None, images: Path | None) -> tuple[Edit, ...]:
    file = find_data_file(name, data, "object.json", NEEDED)
    faults = Faults(name, file)
    classes = read_json(file, faults, dict)
    folder, ids = images or file.parent, Ids()
    return faults.done(
        edit
        for kind, pictures in classes.items()
        for number, operations in _mapping(pictures, kind, faults).items()
        for edit in _of_image(str(kind), str(number), operations, folder, ids, faults)
    )


def _mapping(value: Any, record: str, faults: Faults) -> Mapping[str, Any]:
    if isinstance(value, dict) and value:
        return value
    faults.add(record, f"must be a mapping that is not empty, got {format_value(value)}")
    return {}


def _of_image(kind: str, number: str, operations: Any, folder: Path, ids: Ids, faults: Faults) -> Iterator[Edit]:
    record = f"{kind}/{number}"
    if not (number.isascii() and number.isdigit()):
        faults.add(record, "the key of an image must be its MS-COCO number")
        return
    source, subject = _photograph(number, folder), kind.replace("_", " ")
    for word, values in _mapping(operations, record, faults).items():
        edit_type = _type(word)
        if edit_type is None:
            faults.add(record, describe_unknown("edit type", word, TYPES))
            continue
        at = f"{record}/{word}"
        edits_of_type = _mapping(values, at, faults)
        if not edits_of_type:
            continue
        befores = _texts(edits_of_type.get("from", [""]), f"{at}/from", faults)
        for index, raw in enumerate(wishes := _texts(edits_of_type.get("to"), f"{at}/to", faults)):
            if raw in wishes[:index]:
                faults.add(at, f"{format_value(raw)} is given twice")
                continue
            parts = _parts(edit_type, raw, subject, at, faults)
            if parts is None:
                continue
            to, position = parts
            before = (befores[0].strip() or None) if befores else None
            yield Edit(
                id=ids.give(kind, number, edit_type, raw),
                source=source,
                type=edit_type,
                instruction=instruction(edit_type, subject, before, to, position),
                subject=subject,
                from_=before,
                to=to,
                position=position,
                groups={"class": kind},
                extras={"image_id": number, "class": kind, "to": raw},
            )


def _type(word: str) -> str | None:
    try:
        edit_type = read_edit_type(word)
    except UnknownNameError:
        return None
    return edit_type if edit_type in TYPES else None


def _texts(value: Any, record: str, faults: Faults) -> list[str]:
    values = [value] if isinstance(value, str) else value
    if isinstance(values, list) and values and all(isinstance(one, str) for one in values):
        return values
    faults.add(record, f"must be a list of texts, got {format_value(value)}")
    return []


def _parts(kind: str, raw: str, subject: str, record: str, faults: Faults) -> tuple[str, Position | None] | None:
    """Parse the target and its position, or return None after noting the fault."""
    words = " ".join(raw.split())
    if not words:
        faults.add(record, "'to' holds an empty text")
        return None
    if kind == "positional_addition":
        try:
            label, position = read_placing(words)
        except UnscorableError as unable:
            faults.add(record, unable.detail)
            return None
        return label, Position(position.relation, position.anchor or subject)
    if kind == "alter_parts":
        return (words[4:] if words.lower().startswith("add ") else words), None
    if kind == "position_replacement" and words.lower() in SIDES:
        return words.lower(), Position(SIDES[words.lower()])
    if kind == "size" and words.lower() in SIZES:
        return words.lower(), None
    if kind in {"position_replacement", "size"}:
        faults.add(record, describe_unknown("wish", raw, SIDES if kind == "position_replacement" else SIZES))
        return None
    return words, None


def _photograph(number: str, folder: Path) -> ImageFile:
    """Return the path of a photograph by its number, whether it exists or not."""
    names = [name.format(number.lstrip("0") or "0") for name in NAMES]
    candidates = [folder / subfolder / name for subfolder in PLACES for name in names]
    return ImageFile(names[1], next((subfolder for subfolder in candidates if subfolder.is_file()), folder / names[1]))
