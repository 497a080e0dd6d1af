"""Any data set of the Hugging Face hub, or of a local table, by a mapping of its columns."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import Field

from editgauge.benchmarks.folder import FILES, ImagesOf
from editgauge.benchmarks.format.reader import read_benchmark
from editgauge.benchmarks.hub_records import Table, hub_table, local_table
from editgauge.benchmarks.image_store import store_image
from editgauge.core.errors import BadInput
from editgauge.core.reading.fields import EditFields, Fields, Text, Word, read_fields, shown, unknown
from editgauge.core.reading.lines import Document, Lines, Spot, read_yaml
from editgauge.core.reading.sources import read_text, slug
from editgauge.core.text import counted
from editgauge.core.types import Benchmark, id_problem

FILE = "huggingface.yaml"
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
    """A data set of the Hugging Face hub, or a local table, by a mapping of its columns.

    Args:
        mapping: the mapping file, or a folder that holds it as `huggingface.yaml`.
    """
    file = mapping / FILE if mapping.is_dir() else mapping
    rivals = [name for name in FILES if mapping.is_dir() and (mapping / name).is_file()]
    if rivals:
        raise BadInput(f"'{mapping}' has both {FILE} and {rivals[0]}; keep one of them.")
    document = read_yaml(read_text(file), file.name)
    top = Spot(document)
    fields = read_fields(MappingFields, document.value, top)
    columns = _columns(fields.columns, top.within("columns")) if fields else {}
    if fields is None or document.faults:
        raise BadInput(f"The mapping '{file}' cannot be used:", document.problems())
    needed = [*(name for spec in columns.values() for name in spec.get("columns", ()))]
    needed += [*fields.groups.values(), *fields.extras]
    table = (
        local_table(file.parent / fields.dataset, fields.split, needed)
        if (file.parent / fields.dataset).exists()
        else hub_table(fields.dataset, fields.split, fields.revision, needed)
    )
    missing = [unknown("column", name, table.names) for name in dict.fromkeys(needed) if name not in table.names]
    if missing:
        raise BadInput(f"The mapping '{file}' does not fit the data set '{fields.dataset}':", missing)
    name = fields.name or slug(fields.dataset)
    return _Maker(fields, columns, name).benchmark(table)


def _columns(names: Mapping[str, Any], spot: Spot) -> Columns:
    """Each part as `{columns: [...]}` or `{value: ...}`; everything else is reported."""
    read: Columns = {}
    for part, value in names.items():
        at = spot.within(part)
        if part not in PARTS:
            at.report(unknown("part of an edit", part, PARTS))
        elif isinstance(value, str) and value:
            read[part] = {"columns": [value]}
        elif part == "id" and isinstance(value, list) and value and all(isinstance(each, str) for each in value):
            read[part] = {"columns": value}
        elif isinstance(value, dict) and set(value) == {"value"} and part not in IMAGES:
            read[part] = dict(value)
        elif (
            part == "mask" and isinstance(value, dict) and set(value) == {"erased"} and isinstance(value["erased"], str)
        ):
            read[part] = {"columns": [value["erased"]], "erased": True}
        else:
            at.report(f"'{part}' is the name of a column or {{value: ...}}, got {shown(value)}")
    for part in ("source", "type", "instruction"):
        if part not in names:
            spot.report(f"'{part}' is missing")
    return read


class _Maker:
    """Makes entries of our own format out of records, and lets its reader check them."""

    def __init__(self, fields: MappingFields, columns: Columns, name: str) -> None:
        self.fields = fields
        self.columns = columns
        self.name = name
        self.kept: dict[str, Path] = {}

    def benchmark(self, table: Table) -> Benchmark:
        """The benchmark; raises one `BadInput` with every problem, each with its row or line."""
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
                document, lambda word: self.kept.get(word) or folder(word), name=self.name, where=where
            )
        except BadInput as error:
            problems = [*problems, *error.problems]
        if problems or made is None:
            raise BadInput(f"The data set '{where}' has {counted(len(problems), 'problem')}:", problems)
        if made.about:
            return made
        split = f", split '{self.fields.split}'" if self.fields.split else ""
        return Benchmark(made.name, made.edits, f"{counted(len(edits), 'edit')} of '{where}'{split}", made.license)

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
        groups = {name: str(values[column]) for name, column in self.fields.groups.items() if _is_there(values[column])}
        return {**entry, **({"groups": groups} if groups else {}), **({"extras": extras} if extras else {})}

    def _word(self, value: Any) -> Any:
        """A path for an image that is a path, `{bytes, path}` or bytes; bytes are kept in the cache."""
        if isinstance(value, dict):
            value = value.get("bytes") or value.get("path")
        if not isinstance(value, bytes):
            return value
        picture = store_image(value, slug(self.name))
        word = f"images/{picture.name}"
        self.kept[word] = picture.path
        return word


def _is_there(value: Any) -> bool:
    return value is not None and bool(str(value).strip())
