"""GEdit-Bench: what people really asked for, in English and Chinese, eleven tasks (Liu et al. 2025, "Step1X-Edit")."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

from editgauge._util.datasets import Faults, FileRow, Ids, read_rows, require_data, table_files
from editgauge._util.fields import describe_unknown, format_value
from editgauge._util.images import ImageFile
from editgauge._util.text import format_count
from editgauge.benchmarks.image_store import ImageFolder, image_value, store_image
from editgauge.edit_types import UNSPECIFIED, vocabulary
from editgauge.instructions.parsed import complete_edit
from editgauge.types import Benchmark, Edit

NEEDED = "the snapshot of the hub dataset stepfun-ai/GEdit-Bench, or a folder with its records as JSON lines and images"
TASKS: dict[str, int] = {
    "background_change": 40,
    "color_alter": 40,
    "material_alter": 40,
    "motion_change": 40,
    "ps_human": 70,  # retouching of faces and bodies
    "style_change": 60,
    "subject-add": 60,
    "subject-remove": 57,
    "subject-replace": 60,
    "text_change": 99,  # lettering in the picture
    "tone_transfer": 40,
}
"""The set's tasks, and how many edits of each there are in either language."""
TYPES = vocabulary("gedit")
IMAGES = ("input_image_raw", "input_image", "image_path", "image")
"""Columns in which the source image is looked for, in this order."""
COLUMNS = ("key", "task_type", "instruction", "instruction_language", "Intersection_exist", *IMAGES)


def load(data: Path | None = None) -> Benchmark:
    """GEdit-Bench: requests of real users in English and Chinese; --data the hub snapshot's folder.

    Images inside Arrow or Parquet files are written once to the cache, under the hash of their content.
    """
    path = require_data("gedit", data, NEEDED)
    files = table_files(path)
    faults = Faults("gedit", files[0])
    reader = _Reader(faults, files[0].parent)
    read = [reader.edit(row) for row in read_rows(files, COLUMNS, faults)]
    edits = faults.done(edit for edit in read if edit)
    return Benchmark("gedit", edits, _about(edits), "MIT, as stated on the hub")


def _about(edits: tuple[Edit, ...]) -> str:
    counts = Counter((edit.extras["language"], edit.extras["task"]) for edit in edits)
    languages = Counter(edit.extras["language"] for edit in edits)
    listed = ", ".join(f"{count} in '{language}'" for language, count in languages.items())
    other = [
        f"{counts[language, task]} {task} in '{language}' (published: {published})"
        for language in languages
        for task, published in TASKS.items()
        if counts[language, task] != published
    ]
    size = f"{format_count(len(edits), 'edit')} ({listed})"
    return f"{size}: {', '.join(other)}" if other else f"{size}, as many of each task as published"


class _Reader:
    """Reads records, and notices one that was there before."""

    def __init__(self, faults: Faults, folder: Path) -> None:
        self.faults = faults
        self.image_folder = ImageFolder(folder, faults)
        self.ids = Ids()
        self.seen: set[tuple[str, str, str]] = set()

    def edit(self, row: FileRow) -> Edit | None:
        """Read the edit of a record, or return None after noting all faults."""
        values, record = row.values, row.values.get("key") or f"{row.file.name}, row {row.number}"
        keys = ("key", "task_type", "instruction", "instruction_language")
        key, task, text, language = (self.faults.text(record, values, name) for name in keys)
        if task and task not in TASKS:
            self.faults.add(record, describe_unknown("task", task, TASKS))
        if not (key and task and text and language):
            return None
        if (key, task, language) in self.seen:
            self.faults.add(record, f"the key is used twice for the task '{task}' in '{language}'")
        self.seen.add((key, task, language))
        source = self._source(values, record, f"fullset/{task}/{language}/{key}_SRCIMG.png")
        if source is None or task not in TASKS:
            return None
        extras: dict[str, Any] = {"key": key, "task": task, "language": language}
        groups = {"task": task, "language": language}
        if isinstance(values.get("Intersection_exist"), bool):
            extras["intersection"] = values["Intersection_exist"]
            groups["intersection"] = str(values["Intersection_exist"]).lower()
        edit = Edit(
            id=self.ids.give(task, language, key),
            source=source,
            type=TYPES.get(task, UNSPECIFIED),
            instruction=text,
            groups=groups,
            extras=extras,
        )
        return complete_edit(edit)

    def _source(self, values: dict[str, Any], record: object, exported: str) -> ImageFile | None:
        """Return the source image from bytes, a path, or the export of the authors' script."""
        value = image_value(next((values[name] for name in IMAGES if values.get(name) is not None), exported))
        if isinstance(value, bytes):
            return store_image(value, "gedit")
        if isinstance(value, str):
            return self.image_folder.picture(value, record)
        self.faults.add(record, f"the image is neither bytes nor a path, got {format_value(value)}")
        return None
