"""PIE-Bench: 700 pictures with prompts, instructions and masks in ten types (Ju et al. 2024, "PnP Inversion")."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

from editgauge._util.datasets import Faults, Ids, find_data_file, read_json
from editgauge._util.fields import format_value
from editgauge._util.text import format_count
from editgauge.benchmarks._format import RunLengths, paired, runs_problem
from editgauge.benchmarks.image_store import ImageFolder
from editgauge.edit_types import UNSPECIFIED, vocabulary
from editgauge.instructions.parsed import complete_edit
from editgauge.types import Benchmark, Edit

NEEDED = "the folder `data` of PIE-Bench, with mapping_file.json and annotation_images/"
SIDE = 512
"""Pixels of the square in which the masks were drawn."""
TYPES: dict[str, tuple[str, int]] = {
    "0": ("random", 140),
    "1": ("change object", 80),
    "2": ("add object", 80),
    "3": ("delete object", 80),
    "4": ("change content", 40),  # such as a facial expression: none of our types
    "5": ("change pose", 40),
    "6": ("change color", 40),
    "7": ("change material", 40),
    "8": ("change background", 80),
    "9": ("change style", 80),
}
"""The set's types by id: its name, and how many the authors count."""
LICENSE = "none stated by the authors, who hand the set out through a form"


def load(data: Path | None = None) -> Benchmark:
    """PIE-Bench: prompts, instructions and masks in ten types; --data the folder with mapping_file.json."""
    file = find_data_file("pie_bench", data, "mapping_file.json", NEEDED)
    faults = Faults("pie_bench", file)
    mapping = read_json(file, faults, dict)
    image_folder = ImageFolder(file.parent / "annotation_images", faults)
    ids = Ids()
    read = [_edit(key, values, image_folder, ids, faults) for key, values in mapping.items()]
    edits = faults.done(edit for edit in read if edit)
    return Benchmark("pie_bench", edits, _about(edits), LICENSE)


def _about(edits: tuple[Edit, ...]) -> str:
    counts = Counter(str(edit.extras["editing_type_id"]) for edit in edits)
    other = [
        f"{counts[key]} of type {key} '{name}' (the paper says {published})"
        for key, (name, published) in TYPES.items()
        if counts[key] != published
    ]
    without = sum(edit.instruction == edit.target_caption for edit in edits)
    text = format_count(len(edits), "edit")
    text += f": {', '.join(other)}" if other else " in ten types, as many of each as the paper says"
    return f"{text}; {without} have no instruction, their target prompt is used" if without else text


def _edit(key: str, values: Any, image_folder: ImageFolder, ids: Ids, faults: Faults) -> Edit | None:
    if not isinstance(values, dict):
        faults.add(key, f"must be a mapping, got {format_value(values)}")
        return None
    path, before, after = (
        faults.text(key, values, word) for word in ("image_path", "original_prompt", "editing_prompt")
    )
    type_id = str(values.get("editing_type_id"))
    if type_id not in TYPES:
        faults.add(key, f"'editing_type_id' is one of 0 to 9, got {format_value(values.get('editing_type_id'))}")
    source = image_folder.picture(path, key) if path else None
    mask = _mask(key, values.get("mask"), faults)
    text = values.get("editing_instruction") or ""
    if not isinstance(text, str):
        faults.add(key, f"'editing_instruction' must be a text, got {format_value(text)}")
    if source is None or mask is None or before is None or after is None or type_id not in TYPES:
        return None
    edit = Edit(
        id=ids.give(key),
        source=source,
        type=vocabulary("pie_bench").get(TYPES[type_id][0], UNSPECIFIED),
        instruction=" ".join(str(text).split()) or _plain(after),
        source_caption=_plain(before),
        target_caption=_plain(after),
        mask=mask,
        groups={"task": TYPES[type_id][0]},
        extras={
            "key": key,
            "image_path": values["image_path"],
            "editing_type_id": type_id,
            "original_prompt": values["original_prompt"],
            "editing_prompt": values["editing_prompt"],
            "blended_word": values.get("blended_word") or "",
        },
    )
    return complete_edit(edit, form=None if text else "caption")


def _plain(prompt: str) -> str:
    """Remove the brackets around the changed words.

    >>> _plain("a slanted [rusty] bicycle[]")
    'a slanted rusty bicycle'
    """
    return " ".join(prompt.replace("[", "").replace("]", "").split())


def _mask(key: str, value: Any, faults: Faults) -> RunLengths | None:
    """Read the mask, with the border of one pixel that the authors add."""
    runs = [int(word) for word in value.split() if word.isdecimal()] if isinstance(value, str) else value
    problem = runs_problem(runs, SIDE, SIDE)
    if problem or (isinstance(value, str) and len(runs) != len(value.split())):
        faults.add(key, f"'mask': {problem or 'run lengths are whole numbers'}")
        return None
    return RunLengths(paired(runs), SIDE, SIDE, frame=1)
