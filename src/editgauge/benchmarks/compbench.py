"""CompBench, as Parquet files of the hub or as the folders that the authors' download script makes of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from editgauge._util.datasets import Faults, read_rows, require_data
from editgauge.benchmarks._declared import RecordReader, about_edits, declared_layouts, load_declared
from editgauge.benchmarks.image_store import ImageFolder
from editgauge.types import Benchmark, Edit

NAME = "compbench"
TASKS = "tasks"
"""The folder that the script writes, below the authors' repository."""


@dataclass(frozen=True, slots=True)
class TaskFolder:
    """One task: a file of records, and folders of pictures with one name in each."""

    task: str
    records: str
    pictures: str
    folders: tuple[str, str, str] = ("ori_images", "edited_images", "masks")
    """Of sources, ground truth and masks."""
    instruction: str = "instruction"
    captions: tuple[str, ...] = ("caption",)
    turn: str = ""
    """Of one turn: the folder that the hub writes before the picture's name."""


LOCAL = ("input_image", "edited_image", "mask")
SEVERAL = "multi_turn_editing"
TASK_FOLDERS = (
    *(TaskFolder(task, f"{task}/metadata.json", task, LOCAL) for task in ("add", "remove", "replace")),
    TaskFolder("implicit_reasoning", "implicit_reasoning/implicit_info.jsonl", "implicit_reasoning"),
    *(
        TaskFolder(task, f"act_loc_view/{task}/instructions.jsonl", f"act_loc_view/{task}")
        for task in ("action", "location", "view")
    ),
    *(
        TaskFolder(
            task=f"multi_object_{verb}",
            records=f"{SEVERAL}/multi_object_{verb}.jsonl",
            pictures=f"{SEVERAL}/multi_object_{verb}",
            instruction=f"{verb}_ins",
            captions=("caption1", "caption2"),
        )
        for verb in ("add", "remove")
    ),
    *(
        TaskFolder(
            task=f"multi_turn_{verb}",
            records=f"{SEVERAL}/multi_turn_{verb}.jsonl",
            pictures=f"{SEVERAL}/{turn}_{verb}",
            instruction=f"{turn}_{verb}_ins",
            captions=(f"{turn}_caption",),
            turn=f"{turn}_{verb}",
        )
        for verb in ("add", "remove")
        for turn in ("turn1", "turn2")
    ),
)


def load(data: Path | None = None) -> Benchmark:
    """CompBench: edits of crowded scenes, with masks and ground truth (Jia et al. 2025).

    --data: the Parquet files of BohanJia/CompBench, or the folder `tasks` of the authors' download script.
    """
    layout = declared_layouts()[NAME]
    path = require_data(NAME, data, layout.needed)
    root = path / TASKS if (path / TASKS).is_dir() else path
    parts = [part for part in TASK_FOLDERS if (root / part.records).is_file()]
    if not parts:
        return load_declared(NAME, data)
    faults = Faults(NAME, root / parts[0].records)
    reader = RecordReader(NAME, layout, faults)
    image_folder = ImageFolder(root, faults)
    edits = faults.done(edit for part in parts for edit in _edits(part, reader, image_folder))
    unmasked = sum(edit.mask is None for edit in edits)
    masks = f"; {unmasked} without a mask" if unmasked else ""
    return Benchmark(NAME, edits, about_edits(layout, edits) + masks, layout.license)


def _edits(part: TaskFolder, reader: RecordReader, image_folder: ImageFolder) -> Iterator[Edit]:
    reader.faults.file = image_folder.folder / part.records
    for row in read_rows([reader.faults.file], (), reader.faults):
        name = row.values.get("image_path") or row.values.get("image_name")
        if not isinstance(name, str) or not name.strip():
            reader.faults.add(row.number, "'image_path' or 'image_name' is missing: the name of the picture")
            continue
        record = "/".join(filter(None, (part.turn, name)))
        yield from reader.edits_of(_as_on_the_hub(part, row.values, name, image_folder.folder), record, [image_folder])


def _as_on_the_hub(part: TaskFolder, values: dict[str, Any], name: str, root: Path) -> dict[str, Any]:
    """Return the record with the fields of the Parquet files, without missing masks and references."""
    source, truth, mask = (str(PurePosixPath(part.pictures, folder, name)) for folder in part.folders)
    of_first_object = str(PurePosixPath(part.pictures, part.folders[2], f"{PurePosixPath(name).stem}_t1.png"))
    existing = {
        "edited_image": [path for path in (truth,) if (root / path).is_file()],
        "mask": [path for path in (mask, of_first_object) if (root / path).is_file()],
    }
    return {
        "task": part.task,
        "image_path": "/".join(filter(None, (part.turn, name))),
        "instruction": values.get(part.instruction),
        "caption": "|".join(text for field in part.captions if isinstance(text := values.get(field), str) and text),
        "input_image": source,
        **{field: paths[0] for field, paths in existing.items() if paths},
    }
