"""PIE-Bench: 700 images with prompts, instructions and masks in ten types (Ju et al. 2024, "PnP Inversion")."""

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
MASK_SIDE = 512
"""Height and width of the masks in pixels."""
TYPES: dict[str, tuple[str, int]] = {
    "0": ("random", 140),
    "1": ("change object", 80),
    "2": ("add object", 80),
    "3": ("delete object", 80),
    "4": ("change content", 40),  # such as a facial expression; has no edit type
    "5": ("change pose", 40),
    "6": ("change color", 40),
    "7": ("change material", 40),
    "8": ("change background", 80),
    "9": ("change style", 80),
}
"""Name and published number of edits of each type, by its id."""
LICENSE = "none stated by the authors, who distribute the set through a form"


def load(data: Path | None = None) -> Benchmark:
    """PIE-Bench: prompts, instructions and masks in ten types; --data the folder with mapping_file.json."""
    file = find_data_file("pie_bench", data, "mapping_file.json", NEEDED)
    faults = Faults("pie_bench", file)
    mapping = read_json(file, faults, dict)
    image_folder = ImageFolder(file.parent / "annotation_images", faults)
    ids = Ids()
    candidates = [_parse_edit(key, values, image_folder, ids, faults) for key, values in mapping.items()]
    edits = faults.done(edit for edit in candidates if edit)
    return Benchmark("pie_bench", edits, _describe(edits), LICENSE)


def _describe(edits: tuple[Edit, ...]) -> str:
    """Return the number of edits, and how it differs from the paper."""
    counts = Counter(str(edit.extras["editing_type_id"]) for edit in edits)
    differences = [
        f"{counts[key]} of type {key} '{name}' (the paper says {published})"
        for key, (name, published) in TYPES.items()
        if counts[key] != published
    ]
    text = format_count(len(edits), "edit")
    text += f": {', '.join(differences)}" if differences else " in ten types, as many of each as the paper says"
    prompt_count = sum(edit.instruction == edit.target_caption for edit in edits)
    return f"{text}; {prompt_count} have no instruction, their target prompt is used" if prompt_count else text


def _parse_edit(key: str, values: Any, image_folder: ImageFolder, ids: Ids, faults: Faults) -> Edit | None:
    if not isinstance(values, dict):
        faults.add(key, f"must be a mapping, got {format_value(values)}")
        return None
    path = faults.text(key, values, "image_path")
    source_prompt = faults.text(key, values, "original_prompt")
    target_prompt = faults.text(key, values, "editing_prompt")
    type_id = str(values.get("editing_type_id"))
    if type_id not in TYPES:
        faults.add(key, f"'editing_type_id' is one of 0 to 9, got {format_value(values.get('editing_type_id'))}")
    source = image_folder.picture(path, key) if path else None
    mask = _parse_mask(key, values.get("mask"), faults)
    instruction = values.get("editing_instruction") or ""
    if not isinstance(instruction, str):
        faults.add(key, f"'editing_instruction' must be a text, got {format_value(instruction)}")
    if source is None or mask is None or source_prompt is None or target_prompt is None or type_id not in TYPES:
        return None
    type_name, _ = TYPES[type_id]
    edit = Edit(
        id=ids.give(key),
        source=source,
        type=vocabulary("pie_bench").get(type_name, UNSPECIFIED),
        instruction=" ".join(str(instruction).split()) or _strip_brackets(target_prompt),
        source_caption=_strip_brackets(source_prompt),
        target_caption=_strip_brackets(target_prompt),
        mask=mask,
        groups={"task": type_name},
        extras={
            "key": key,
            "image_path": values["image_path"],
            "editing_type_id": type_id,
            "original_prompt": values["original_prompt"],
            "editing_prompt": values["editing_prompt"],
            "blended_word": values.get("blended_word") or "",
        },
    )
    return complete_edit(edit, form=None if instruction else "caption")


def _strip_brackets(prompt: str) -> str:
    """Remove the brackets around the changed words.

    >>> _strip_brackets("a slanted [rusty] bicycle[]")
    'a slanted rusty bicycle'
    """
    return " ".join(prompt.replace("[", "").replace("]", "").split())


def _parse_mask(key: str, value: Any, faults: Faults) -> RunLengths | None:
    """Return the mask, with the border of one pixel that the authors add."""
    runs = [int(token) for token in value.split() if token.isdecimal()] if isinstance(value, str) else value
    problem = runs_problem(runs, MASK_SIDE, MASK_SIDE)
    if problem or (isinstance(value, str) and len(runs) != len(value.split())):
        faults.add(key, f"'mask': {problem or 'run lengths are whole numbers'}")
        return None
    return RunLengths(paired(runs), MASK_SIDE, MASK_SIDE, frame=1)
