"""TEdBench: 100 target captions for 40 photographs (Kawar et al. 2023, "Imagic")."""

from __future__ import annotations

import hashlib
import re
from dataclasses import replace
from importlib import resources
from pathlib import Path, PurePosixPath

from editgauge._util.datasets import Faults, Ids, find_data_file, read_json, size_note
from editgauge._util.documents import read_yaml
from editgauge._util.fields import format_value
from editgauge._util.images import ImageFile
from editgauge.benchmarks.image_store import missing_images
from editgauge.edit_types import UNSPECIFIED, read_edit_type
from editgauge.instructions.parsed import complete_edit, parse_summary
from editgauge.types import Benchmark, Edit

NAME = re.compile(r"[a-z]{2,}")
NEEDED = "the folder `tedbench`, with input_list.json and originals/"
PUBLISHED = 100, 40
"""Edits and images, by the paper."""


def load(data: Path | None = None) -> Benchmark:
    """TEdBench: 100 target captions for 40 photographs; --data the folder with input_list.json.

    The set gives no edit types; ours were read off the captions and pictures (tedbench.yaml). An edit whose photograph
    is missing stays in the benchmark, so that it is counted as unscored.
    """
    file = find_data_file("tedbench", data, "input_list.json", NEEDED)
    faults = Faults("tedbench", file)
    types = _types()
    originals = file.parent / "originals"
    ids, edits, names = Ids(), [], set()
    for number, entry in enumerate(read_json(file, faults, list), start=1):
        if not isinstance(entry, dict):
            faults.add(f"number {number}", f"must be a mapping, got {format_value(entry)}")
            continue
        image, text = (faults.text(f"number {number}", entry, key) for key in ("img_name", "target_text"))
        if image is None or text is None:
            continue
        record = f"{image}: {text}"
        if PurePosixPath(image).name != image or "\\" in image:
            faults.add(record, "'img_name' must be a file name without a folder")
        elif record in names:
            faults.add(record, "is given twice")
        elif (key := fingerprint(image, text)) not in types:
            faults.add(record, "has no edit type: it is not one of the 100 edits published in 2023")
        else:
            edits.append(
                _read(
                    Edit(
                        id=ids.give(PurePosixPath(image).stem, text),
                        source=ImageFile(image, originals / image),
                        type=types[key],
                        instruction=text,
                        target_caption=text,
                        extras={"image": image, "target_text": entry["target_text"]},
                    )
                )
            )
        names.add(record)
    benchmark = faults.done(edits)
    missing = missing_images("tedbench", benchmark, f"Give --data: {NEEDED}.")
    about = f"{size_note(benchmark, PUBLISHED)}; edit types by EditGauge, {parse_summary(benchmark)}{missing}"
    return Benchmark("tedbench", benchmark, about, "none stated by the authors")


def _read(edit: Edit) -> Edit:
    """Fill the fields of an edit from its caption; the replaced object is named by the photograph."""
    if edit.type == UNSPECIFIED:
        return edit
    read = complete_edit(edit, form="caption")
    if read.type != "object_replacement" or read.reading is None or read.from_:
        return read
    subject = " ".join(word for word in NAME.findall(PurePosixPath(edit.source.name).stem.lower()) if word != "new")
    step = replace(read.reading.steps[0], subject=subject or None, from_=subject or None)
    return replace(read, subject=subject or None, from_=subject or None, reading=replace(read.reading, steps=(step,)))


def fingerprint(image: str, text: str) -> str:
    """Return the hash of an edit in the table of types; the texts themselves may not be redistributed."""
    plain = " ".join(text.lower().rstrip(". ").split())
    return hashlib.sha256(f"{image}\n{plain}".encode()).hexdigest()[:10]


def _types() -> dict[str, str]:
    table = read_yaml(
        (resources.files("editgauge.benchmarks") / "data" / "tedbench.yaml").read_text("utf-8"), "tedbench.yaml"
    )
    return {key: read_edit_type(word) for word, keys in table.value.items() for key in keys.split()}
