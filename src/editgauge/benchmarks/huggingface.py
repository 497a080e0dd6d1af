"""Any data set of the Hugging Face hub, or of a local table, by a mapping of its columns."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

from pydantic import Field

from editgauge._util.datasets import FORMATS, Faults, column_names, read_rows, read_text, slug, table_files
from editgauge._util.documents import Document, Lines, Location, read_yaml
from editgauge._util.fields import EditFields, Fields, Text, Word, describe_unknown, format_value, read_fields
from editgauge._util.text import format_count
from editgauge.benchmarks._format import read_benchmark
from editgauge.benchmarks.folder import FILES, ImagesOf
from editgauge.benchmarks.image_store import image_value, store_image
from editgauge.errors import BadInputError
from editgauge.types import Benchmark, id_problem

FILE = "huggingface.yaml"
HUB_ID = re.compile(r"\w[\w.-]*(/\w[\w.-]*)?")
IMAGES = ("source", "mask", "reference")
KEYS = tuple(field.alias or name for name, field in EditFields.model_fields.items())
PARTS = tuple(key for key in KEYS if key not in {"position", "recipe", "inputs", "groups", "extras"})
"""What a column can be mapped to."""
Columns = dict[str, dict[str, Any]]


class MappingFields(Fields):
    """The top of a mapping file."""

    name: Text | None = None
    about: Word | None = None
    license: Word | None = None
    dataset: Text
    split: Text | None = None
    revision: Text | None = None
    columns: dict[str, Any]
    types: dict[str, Any] = Field(default_factory=dict)
    groups: dict[str, Text] = Field(default_factory=dict)
    """Name of a group to the column that holds it."""
    extras: list[Text] = Field(default_factory=list)


def load(mapping: Path) -> Benchmark:
    """Load a dataset of the Hugging Face hub or a local table by a mapping of its columns.

    Args:
        mapping: the mapping file, or a folder that holds it as `huggingface.yaml`.

    """
    file = mapping / FILE if mapping.is_dir() else mapping
    rivals = [name for name in FILES if mapping.is_dir() and (mapping / name).is_file()]
    if rivals:
        raise BadInputError(f"'{mapping}' has both {FILE} and {rivals[0]}; keep one of them.")
    document = read_yaml(read_text(file), file.name)
    top = Location(document)
    fields = read_fields(MappingFields, document.value, top)
    columns = _columns(fields.columns, top.within("columns")) if fields else {}
    if fields is None or document.faults:
        raise BadInputError(f"The mapping '{file}' cannot be used:", document.problems())
    needed = [*(name for spec in columns.values() for name in spec.get("columns", ()))]
    needed += [*fields.groups.values(), *fields.extras]
    table = (
        local_table(file.parent / fields.dataset, fields.split, needed)
        if (file.parent / fields.dataset).exists()
        else hub_table(fields.dataset, fields.split, fields.revision, needed)
    )
    missing = [
        describe_unknown("column", name, table.names) for name in dict.fromkeys(needed) if name not in table.names
    ]
    if missing:
        raise BadInputError(f"The mapping '{file}' does not fit the data set '{fields.dataset}':", missing)
    name = fields.name or slug(fields.dataset)
    return _Maker(fields, columns, name).benchmark(table)


def _columns(names: Mapping[str, Any], location: Location) -> Columns:
    """Each part as `{columns: [...]}` or `{value: ...}`; everything else is reported."""
    read: Columns = {}
    for part, value in names.items():
        at = location.within(part)
        if part not in PARTS:
            at.report(describe_unknown("part of an edit", part, PARTS))
        elif isinstance(value, str) and value:
            read[part] = {"columns": [value]}
        elif part == "id" and isinstance(value, list) and value and all(isinstance(item, str) for item in value):
            read[part] = {"columns": value}
        elif isinstance(value, dict) and set(value) == {"value"} and part not in IMAGES:
            read[part] = dict(value)
        elif (
            part == "mask" and isinstance(value, dict) and set(value) == {"erased"} and isinstance(value["erased"], str)
        ):
            read[part] = {"columns": [value["erased"]], "erased": True}
        else:
            at.report(f"'{part}' is the name of a column or {{value: ...}}, got {format_value(value)}")
    for part in ("source", "type", "instruction"):
        if part not in names:
            location.report(f"'{part}' is missing")
    return read


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


def local_table(path: Path, split: str | None, needed: Sequence[str]) -> Table:
    """Open a Parquet, Arrow or JSON lines file, or a folder of them."""
    files = table_files(path, split)
    names = column_names(files[0], Faults("", files[0]))
    faults = Faults("", files[0])
    rows = read_rows(files, needed, faults)
    # Lines are those of the one file; rows of several files are counted on.
    has_lines = files[0].suffix == ".jsonl" and len(files) == 1
    numbered = ((row.number if has_lines else count, row.values) for count, row in enumerate(rows, start=1))
    return Table(files[0].name if len(files) == 1 else path.name, names, numbered, files[0].parent, faults.problems)


def hub_table(dataset: str, split: str | None, revision: str | None, needed: Sequence[str]) -> Table:
    """Open a dataset with the `datasets` library; images stay encoded."""
    if Path(dataset).suffix in FORMATS or not HUB_ID.fullmatch(dataset):
        raise BadInputError(f"There is no file or folder '{dataset}' next to the mapping, and it is no id of the hub.")
    try:
        datasets: Any = import_module("datasets")
    except ImportError as error:
        raise BadInputError(
            f"Reading '{dataset}' from the hub needs the library `datasets`: pip install 'editgauge[hub]'. "
            "A local Parquet, Arrow or JSON lines file needs none."
        ) from error
    try:
        loaded: Any = datasets.load_dataset(dataset, split=split, revision=revision)
    except Exception as error:  # the library raises its own, the hub's, and those of the network
        raise BadInputError(f"The data set '{dataset}' could not be loaded: {error}") from error
    if isinstance(loaded, dict):
        if len(loaded) != 1:
            raise BadInputError(f"Give a 'split' of '{dataset}'. There are: {', '.join(loaded)}.")
        loaded = next(iter(loaded.values()))
    names = list(loaded.column_names)
    available = [name for name in dict.fromkeys(needed) if name in names]
    loaded = loaded.select_columns(available)
    for name in available:
        if isinstance(loaded.features[name], datasets.Image):
            loaded = loaded.cast_column(name, datasets.Image(decode=False))
    return Table(dataset, names, enumerate(loaded, start=1), Path(), [])


@dataclass(frozen=True, slots=True)
class _Maker:
    """Makes entries of our own format out of records, and lets its reader check them."""

    fields: MappingFields
    columns: Columns
    name: str
    stored: dict[str, Path] = field(default_factory=dict)
    """Pictures that came as bytes, by the path under which the entries name them."""

    def benchmark(self, table: Table) -> Benchmark:
        """Return the benchmark; one `BadInputError` lists all faults with their rows."""
        edits: list[dict[str, Any]] = []
        lines: dict[str | int, Lines] = {}
        for number, values in table.rows:
            lines[len(edits)] = Lines(number)
            edits.append(self._entry(number, values))
        top = {"name": slug(self.name), "about": self.fields.about, "license": self.fields.license, "edits": edits}
        document = Document(table.label, top, Lines(1, {"edits": Lines(1, lines)}))
        problems = table.problems
        folder = ImagesOf(table.home, follows_links=True)
        where = self.fields.dataset
        made = None
        try:
            made = read_benchmark(
                document, lambda word: self.stored.get(word) or folder(word), name=self.name, where=where
            )
        except BadInputError as error:
            problems = [*problems, *error.problems]
        if problems or made is None:
            raise BadInputError(f"The data set '{where}' has {format_count(len(problems), 'problem')}:", problems)
        if made.about:
            return made
        split = f", split '{self.fields.split}'" if self.fields.split else ""
        return Benchmark(made.name, made.edits, f"{format_count(len(edits), 'edit')} of '{where}'{split}", made.license)

    def _entry(self, number: int, values: dict[str, Any]) -> dict[str, Any]:
        entry: dict[str, Any] = {"id": f"row-{number:06}"}
        for part, spec in self.columns.items():
            entries = [spec["value"]] if "value" in spec else [values.get(name) for name in spec["columns"]]
            if entries == [None]:
                continue
            if part == "id":
                name = "-".join(map(str, entries))
                entry[part] = slug(name) if id_problem(name) else name
            elif part in IMAGES:
                word = self._word(entries[0])
                entry[part] = {"erased": word} if "erased" in spec else word
            elif part == "type":
                entry[part] = self.fields.types.get(str(entries[0]), entries[0])
            else:
                entry[part] = entries[0]
        extras = {name: values[name] for name in self.fields.extras if values.get(name) is not None}
        groups = {
            name: str(values[column]) for name, column in self.fields.groups.items() if _is_present(values[column])
        }
        return {**entry, **({"groups": groups} if groups else {}), **({"extras": extras} if extras else {})}

    def _word(self, value: Any) -> Any:
        """Return the path of an image given as path, `{bytes, path}` or bytes; bytes go to the cache."""
        value = image_value(value)
        if not isinstance(value, bytes):
            return value
        picture = store_image(value, slug(self.name))
        word = f"images/{picture.name}"
        self.stored[word] = picture.path
        return word


def _is_present(value: Any) -> bool:
    return value is not None and bool(str(value).strip())
