"""EdiVal: three turns of object-centered edits on each picture (Chen et al. 2025, "EdiVal-Agent")."""

from __future__ import annotations

import ast
import csv
import io
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from editgauge._util.datasets import Faults, Ids, read_text, require_data
from editgauge._util.fields import format_value
from editgauge._util.images import ImageFile
from editgauge._util.text import format_count
from editgauge.benchmarks.image_store import ImageFolder
from editgauge.edit_types import UNSPECIFIED, vocabulary
from editgauge.errors import BadInputError
from editgauge.instructions.parsed import complete_edit
from editgauge.types import Benchmark, Edit

NEEDED = "the folder with the CSV of instructions (image_index, turns, task_type, instructions, …) and N_input_raw.jpg"
COLUMNS = ("image_index", "turns", "task_type", "instructions")
NAMES = ("{}_input_raw.jpg", "{}_input_raw.png", "{}.jpg", "{}.png")
"""What a source picture may be called."""
LICENSE = "as stated by the authors"


def load(data: Path | None = None) -> Benchmark:
    """EdiVal: three turns on each picture; --data its CSV of instructions, with the pictures.

    Each turn starts from the method's own last outcome. The pictures are looked for next to the CSV and one folder
    below. What should stay over all turns is kept as `unchanged_objects`.
    """
    path = require_data("edival", data, NEEDED)
    files = [path] if path.is_file() else sorted(path.glob("*.csv"))
    if len(files) != 1:
        raise BadInputError(
            f"'{path}' has {format_count(len(files), 'CSV file')}. The benchmark 'edival' needs: {NEEDED}."
        )
    faults = Faults("edival", files[0])
    rows = csv.DictReader(io.StringIO(read_text(files[0]), newline=""))
    lacking = [name for name in COLUMNS if name not in (rows.fieldnames or ())]
    if lacking:
        raise BadInputError(f"'{files[0]}' has no column {', '.join(lacking)}; it needs {', '.join(COLUMNS)}.")
    reader = _Reader(files[0].parent, faults)
    read = [reader.edit(line, row) for line, row in enumerate(rows, start=2)]
    edits = faults.done(edit for edit in read if edit)
    sessions = len({edit.photograph for edit in edits})
    return Benchmark(
        "edival", edits, f"{format_count(len(edits), 'turn')} on {format_count(sessions, 'picture')}", LICENSE
    )


class _Reader:
    """Reads the rows, and knows the turns before each."""

    def __init__(self, folder: Path, faults: Faults) -> None:
        self.faults = faults
        inside = sorted(
            subfolder for subfolder in folder.iterdir() if subfolder.is_dir() and not subfolder.name.startswith(".")
        )
        self.image_folders = [ImageFolder(subfolder, faults) for subfolder in (folder, *inside)]
        self.ids = Ids()
        self.turns: dict[tuple[str, int], Edit] = {}
        self.types = vocabulary("edival")

    def edit(self, line: int, row: Mapping[str, Any]) -> Edit | None:
        """Read the edit of one turn, or return None after noting all faults."""
        number = len(self.faults.problems)
        index = self.faults.text(line, row, "image_index")
        turn = row["turns"]
        if not (isinstance(turn, str) and turn.isdecimal() and 1 <= int(turn) <= 100):
            self.faults.add(line, f"'turns' is the number of the turn, at least 1; got {format_value(turn)}")
        texts, tasks = self._list(line, row, "instructions"), self._list(line, row, "task_type")
        source = self._source(index, line) if index else None
        if len(self.faults.problems) > number or not index or source is None:
            return None
        before = self.turns.get((index, int(turn) - 1))
        if int(turn) > 1 and before is None:
            self.faults.add(line, f"turn {turn} of picture {index} comes before turn {int(turn) - 1}, or without it")
            return None
        unchanged = self._list(line, row, "unchanged_objects") if row.get("unchanged_objects") else []
        edit = Edit(
            id=self.ids.give(index, turn),
            source=source,
            type=self.types.get(tasks[-1], UNSPECIFIED),
            instruction=" ".join(texts[-1].strip('"').split()),
            turn=int(turn),
            follows=before.id if before else None,
            photograph=index,
            groups={"task": tasks[-1]},
            extras={"image_index": index, "turn": int(turn), "unchanged_objects": unchanged},
        )
        self.turns[index, int(turn)] = complete = complete_edit(edit)
        return complete

    def _list(self, line: int, row: Mapping[str, Any], name: str) -> list[str]:
        """Parse a list of texts in Python syntax."""
        try:
            value = ast.literal_eval(row.get(name) or "")
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            value = None
        is_list = isinstance(value, list) and all(isinstance(item, str) for item in value)
        if is_list and (value or name == "unchanged_objects"):
            return list(value)
        self.faults.add(
            line, f"'{name}' must be a list of texts such as ['Remove the cat'], got {format_value(row.get(name))}"
        )
        return []

    def _source(self, index: str, line: int) -> ImageFile | None:
        candidates = [(image_folder, name.format(index)) for image_folder in self.image_folders for name in NAMES]
        existing = [(image_folder, name) for image_folder, name in candidates if (image_folder.folder / name).is_file()]
        image_folder, name = existing[0] if existing else candidates[0]
        return image_folder.picture(name, line)
