"""Records of a data set with their columns: from a local table, or from the Hugging Face hub."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from editgauge.core.errors import BadInput
from editgauge.core.reading.sources import Faults
from editgauge.core.reading.tables import FORMATS, column_names, read_rows, table_files

HUB_ID = re.compile(r"\w[\w.-]*(/\w[\w.-]*)?")


@dataclass(frozen=True, slots=True)
class Table:
    """Records with their row or line, wherever they come from."""

    label: str
    """What to call it in a message."""
    names: list[str]
    """All columns, also those not asked for."""
    rows: Iterator[tuple[int, dict[str, Any]]]
    home: Path
    """Where paths of images begin."""
    problems: list[str]
    """Filled while the rows are read."""


def local_table(place: Path, split: str | None, needed: Sequence[str]) -> Table:
    """A Parquet, Arrow or JSON lines file, or a folder of them."""
    files = table_files(place, split)
    names = column_names(files[0], Faults("", files[0]))
    faults = Faults("", files[0])
    rows = read_rows(files, needed, faults)
    # Lines are those of the one file; rows of several files are counted on.
    has_lines = files[0].suffix == ".jsonl" and len(files) == 1
    numbered = ((row.number if has_lines else count, row.values) for count, row in enumerate(rows, start=1))
    return Table(files[0].name if len(files) == 1 else place.name, names, numbered, files[0].parent, faults.problems)


def hub_table(dataset: str, split: str | None, revision: str | None, needed: Sequence[str]) -> Table:
    """A data set by the `datasets` library, its images as they were stored."""
    if Path(dataset).suffix in FORMATS or not HUB_ID.fullmatch(dataset):
        raise BadInput(f"There is no file or folder '{dataset}' next to the mapping, and it is no id of the hub.")
    try:
        datasets: Any = import_module("datasets")
    except ImportError as error:
        raise BadInput(
            f"Reading '{dataset}' from the hub needs the library `datasets`: pip install 'editgauge[hub]'. "
            "A local Parquet, Arrow or JSON lines file needs none."
        ) from error
    try:
        loaded: Any = datasets.load_dataset(dataset, split=split, revision=revision)
    except Exception as error:  # the library raises its own, the hub's, and those of the network
        raise BadInput(f"The data set '{dataset}' could not be loaded: {error}") from error
    if isinstance(loaded, dict):
        if len(loaded) != 1:
            raise BadInput(f"Give a 'split' of '{dataset}'. There are: {', '.join(loaded)}.")
        loaded = next(iter(loaded.values()))
    names = list(loaded.column_names)
    there = [name for name in dict.fromkeys(needed) if name in names]
    loaded = loaded.select_columns(there)
    for name in there:
        if isinstance(loaded.features[name], datasets.Image):
            loaded = loaded.cast_column(name, datasets.Image(decode=False))
    return Table(dataset, names, enumerate(loaded, start=1), Path(), [])
