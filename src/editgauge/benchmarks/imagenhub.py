"""ImagenHub's text-guided image editing: 179 instructions chosen from MagicBrush (Ku et al. 2024)."""

from __future__ import annotations

from pathlib import Path, PurePosixPath
from typing import Any

from editgauge._util.datasets import Faults, Ids, find_data_file, read_json, size_note
from editgauge._util.fields import format_value
from editgauge._util.images import ImageFile
from editgauge.benchmarks.image_store import ImageFolder
from editgauge.edit_types import UNSPECIFIED
from editgauge.instructions.parsed import complete_edit, parse_summary
from editgauge.types import Benchmark, Edit

NEEDED = "the folder `ImagenHub_Text-Guided_IE`, with dataset_lookup.json and input/"
PUBLISHED = 179, 179
"""Edits and images, by the paper."""
LICENSE = "ImagenHub is MIT; pictures and texts come from MagicBrush (CC-BY-4.0)"


def load(data: Path | None = None) -> Benchmark:
    """ImagenHub's 179 text-guided edits; --data the folder with dataset_lookup.json and input/.

    The set gives no edit types: the instruction is read, with the captions; what is not understood is `unspecified`.
    """
    file = find_data_file("imagenhub", data, "dataset_lookup.json", NEEDED)
    faults = Faults("imagenhub", file)
    lookup = read_json(file, faults, dict)
    image_folder = ImageFolder(file.parent / "input", faults)
    ids = Ids()
    read = [_edit(uid, values, image_folder, ids, faults) for uid, values in lookup.items()]
    edits = faults.done(edit for edit in read if edit)
    about = f"{size_note(edits, PUBLISHED)}; {parse_summary(edits)}"
    return Benchmark("imagenhub", edits, about, LICENSE)


def _edit(uid: str, values: Any, image_folder: ImageFolder, ids: Ids, faults: Faults) -> Edit | None:
    if not isinstance(values, dict):
        faults.add(uid, f"must be a mapping, got {format_value(values)}")
        return None
    keys = ("instruction", "source_global_caption", "target_global_caption")
    text, before, after = (faults.text(uid, values, key) for key in keys)
    source = image_folder.picture(uid, uid)
    if text is None or source is None:
        return None
    accepted = image_folder.folder.with_name("GroundTruth") / uid
    edit = Edit(
        id=ids.give(PurePosixPath(uid).stem),
        source=source,
        type=UNSPECIFIED,
        instruction=text,
        source_caption=before,
        target_caption=after,
        reference=ImageFile(f"GroundTruth/{uid}", accepted) if accepted.is_file() else None,
        photograph=photograph_of(uid),
        extras={"uid": uid},
    )
    return complete_edit(edit)


def photograph_of(uid: str) -> str:
    """MagicBrush's photograph behind a file name; the turns of one session were made from the same one.

    >>> photograph_of("sample_1234_2.jpg"), photograph_of("sample_1234_1.jpg")
    ('sample_1234', 'sample_1234')
    """
    return PurePosixPath(uid).stem.rpartition("_")[0] or uid
