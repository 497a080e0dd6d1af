"""EditVal: 13 types of edits of MS-COCO photographs (Basu et al. 2023).

Read from the authors' `object.json`, from the forms that the paper prints (Listing 1, section 3.1), or from the CSV
file of edits that PixLens writes.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from editgauge._util.datasets import Faults, Ids, find_data_file, read_json, require_data, size_note
from editgauge._util.fields import describe_unknown, format_value
from editgauge._util.images import ImageFile
from editgauge._util.phrases import instruction, read_placing
from editgauge._util.text import format_count
from editgauge.benchmarks.image_store import missing_images
from editgauge.edit_types import read_edit_type, vocabulary
from editgauge.errors import BadInputError, UnknownNameError, UnscorableError
from editgauge.types import Benchmark, Edit, Position, Relation

TYPES = tuple(vocabulary("editval").values())
FILES = ("object.json", "editval.json")
NEEDED = "EditVal's `object.json`, the folder it is in, or PixLens's `EditVal_edits.csv`"
PUBLISHED = 648, 92
"""Edits and images, by the paper."""
NAMES = ("{}.jpg", "{:0>12}.jpg", "COCO_train2014_{:0>12}.jpg")
FOLDERS = ("", "train2017", "train2014", "images", "{kind}", "editval_instances/{kind}")
"""Where an image may be in the folder, and under which names; PixLens's archive has a folder for each class."""
PROMPT_COLUMNS = ("instruction_prompt", "description_prompt")
EDIT_COLUMNS = ("edit_type", "category", "image_id", "from_attribute", "to_attribute")
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
    """EditVal as PixLens uses it: also the removal of each object; options as for `editval`.

    With PixLens's own `EditVal_edits.csv` as --data, or beside object.json, edits hold the prompts of PixLens, which
    name its outcome files.
    """
    edits = _read("editval-pixlens", data, images)
    by_image = {(edit.extras["class"], edit.extras["image_id"]): edit for edit in edits}
    removals = tuple(_removal(by_image[index]) for index in sorted(by_image))
    prompts = _pixlens_prompts(data)
    added = f"and {format_count(len(removals), 'object removal')} that PixLens adds, one per image"
    about = f"{size_note(edits, PUBLISHED)}, {added}{missing_images('editval-pixlens', edits, ADVICE)}"
    return Benchmark(
        "editval-pixlens", tuple(_with_prompts(edit, prompts) for edit in (*edits, *removals)), about, LICENSE
    )


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


def _edit_file(name: str, data: Path | None) -> Path:
    path = require_data(name, data, NEEDED)
    files = [path / file for file in FILES if (path / file).is_file()]
    file = files[0] if files else _pixlens_table(path)
    return file or find_data_file(name, path, FILES[0], NEEDED)


def _read(name: str, data: Path | None, images: Path | None) -> tuple[Edit, ...]:
    file = _edit_file(name, data)
    faults = Faults(name, file)
    classes = _from_table(file) if file.suffix.lower() == ".csv" else read_json(file, faults, dict)
    folder, ids = images or file.parent, Ids()
    return faults.done(
        edit
        for kind, pictures in classes.items()
        for number, operations in _mapping(pictures, kind, faults).items()
        for edit in _of_image(str(kind), str(number), operations, folder, ids=ids, faults=faults)
    )


def _mapping(value: Any, record: str, faults: Faults) -> Mapping[str, Any]:
    if isinstance(value, dict) and value:
        return value
    faults.add(record, f"must be a mapping that is not empty, got {format_value(value)}")
    return {}


def _of_image(kind: str, number: str, operations: Any, folder: Path, *, ids: Ids, faults: Faults) -> Iterator[Edit]:
    record = f"{kind}/{number}"
    if not (number.isascii() and number.isdigit()):
        faults.add(record, "the key of an image must be its MS-COCO number")
        return
    source, subject = _photograph(kind, number, folder), kind.replace("_", " ")
    for word, values in _mapping(operations, record, faults).items():
        edit_type = _type(word)
        if edit_type is None:
            faults.add(record, describe_unknown("edit type", word, TYPES))
            continue
        for before, raw in _changes(values, f"{record}/{word}", faults):
            parts = _parts(edit_type, raw, subject, f"{record}/{word}", faults)
            if parts is None:
                continue
            to, position = parts
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


def _changes(values: Any, record: str, faults: Faults) -> Iterator[tuple[str | None, str]]:
    """Yield source and target attributes of an edit type, in any of the published forms.

    `{"from": [...], "to": [...]}` as released, a list of such mappings (Listing 1), or a list of targets (section 3.1).
    """
    if isinstance(values, list) and values and all(isinstance(value, str) for value in values):
        values = {"to": values}
    targets: set[str] = set()
    for mapping in values if isinstance(values, list) and values else [values]:
        operations = _mapping(mapping, record, faults)
        if not operations:
            continue
        origins = _texts(operations.get("from", [""]), f"{record}/from", faults)
        for target in _texts(operations.get("to"), f"{record}/to", faults):
            if target in targets:
                faults.add(record, f"{format_value(target)} is given twice")
                continue
            targets.add(target)
            yield (origins[0].strip() or None) if origins else None, target


def _pixlens_table(path: Path) -> Path | None:
    """Return the CSV file of edits that PixLens wrote, if it is the given file or in the given folder."""
    if path.is_file():
        return path if path.suffix.lower() == ".csv" else None
    return next(iter(sorted(path.glob("*edits*.csv"))), None)


def _table_rows(file: Path) -> list[dict[str, str]]:
    with file.open(encoding="utf-8-sig", newline="") as lines:
        rows = csv.DictReader(lines)
        missing = [name for name in (*EDIT_COLUMNS, PROMPT_COLUMNS[0]) if name not in (rows.fieldnames or ())]
        if missing:
            raise BadInputError(
                f"'{file}' is no CSV file of edits by PixLens: it lacks the columns {', '.join(missing)}."
            )
        return [{name: value or "" for name, value in row.items() if name} for row in rows]


def _from_table(file: Path) -> dict[str, Any]:
    """Return the edits of PixLens's table in the form of `object.json`, without the removals that it adds."""
    classes: dict[str, Any] = {}
    for row in _table_rows(file):
        kind, category, image, before, to = (row[name] for name in EDIT_COLUMNS)
        if kind != "object_removal":
            entry = (
                classes.setdefault(category, {}).setdefault(image, {}).setdefault(kind, {"from": [before], "to": []})
            )
            entry["to"].append(to)
    return classes


Prompts = Mapping[tuple[str, str, str, str], list[str]]
"""PixLens's prompts of an edit by edit type, class, image and target."""


def _pixlens_prompts(data: Path | None) -> Prompts:
    path = require_data("editval-pixlens", data, NEEDED)
    table = _pixlens_table(path if path.suffix.lower() == ".csv" or path.is_dir() else path.parent)
    return {
        (row["edit_type"], row["category"], row["image_id"], row["to_attribute"]): [
            row[name] for name in PROMPT_COLUMNS if row.get(name)
        ]
        for row in (_table_rows(table) if table else ())
    }


def _with_prompts(edit: Edit, prompts: Prompts) -> Edit:
    extras = edit.extras
    texts = prompts.get((edit.type, extras["class"], extras["image_id"], extras["to"]))
    return replace(edit, extras={**extras, "prompts": texts}) if texts else edit


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


def _photograph(kind: str, number: str, folder: Path) -> ImageFile:
    """Return the path of a photograph by its class and number, whether it exists or not."""
    names = [name.format(number.lstrip("0") or "0") for name in NAMES]
    candidates = [folder / subfolder.format(kind=kind) / name for subfolder in FOLDERS for name in names]
    return ImageFile(names[1], next((path for path in candidates if path.is_file()), folder / names[1]))
