"""Reader of public benchmarks whose records are declared in `layouts.yaml`."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from importlib import resources
from pathlib import Path, PurePosixPath
from typing import Any

import yaml
from pydantic import BaseModel, ConfigDict, Field

from editgauge._util.datasets import Faults, FileRow, Ids, read_json, read_rows, require_data
from editgauge._util.fields import format_value
from editgauge._util.images import ImageFile
from editgauge._util.masks import MaskFile
from editgauge._util.text import format_count
from editgauge.benchmarks.image_store import ImageFolder, image_value, store_image
from editgauge.edit_types import UNSPECIFIED, vocabulary
from editgauge.errors import BadInputError
from editgauge.instructions.parsed import complete_edit
from editgauge.types import Benchmark, Edit, InputImage, InputRole

FOLDERS = ("@folder", "@parent", "@grandparent")
"""Fields with the names of the folder that holds the file of a record, and of the two above it."""
NUMBER = "@number"
Field_ = list[str]
"""Names under which a value is looked for, in this order."""


class PublicLayout(BaseModel):
    """Declared layout of a public benchmark: fields of its records and folders of its images."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    about: str
    needed: str
    """What to give as --data."""
    license: str
    files: list[str] = Field(min_length=1)
    """Patterns of files with records below --data; the first that matches any counts."""
    single: bool = False
    """Whether a JSON file that holds a mapping holds one record, rather than records by key."""
    key: Field_
    """What makes the edit's id; of several fields all that are there."""
    source: Field_
    """A path, bytes, or a list of either: the first is the source, the others are further pictures."""
    inputs: Field_ = []
    """Fields with further pictures; all that are there count."""
    role: InputRole = "image"
    """What further pictures are for."""
    pictures: list[str] = ["."]
    """Folders of the pictures, relative to the file with the record."""
    suffix: str = ""
    """Of pictures that are named without one."""
    instruction: Field_
    list_group: str | None = None
    """The instruction is a list of edits; this group holds the index of each, counted from 1."""
    reference: Field_ = []
    mask: Field_ = []
    mask_suffix: str = ""
    """Replaces the suffix of the source's file name in that of its mask, where such a file lies beside it."""
    source_caption: Field_ = []
    target_caption: Field_ = []
    groups: Mapping[str, Field_] = {}
    vocabulary: str | None = None
    """Whose words the group `task` uses for edit types (`edit_types.py`)."""
    types: Mapping[str, str] = {}
    """Words of the group `task`, in lower case, with their edit types, where there is no vocabulary."""
    extras: list[str] = []
    """Fields that are kept as they are; outcomes are found by them."""
    published: int | None = None
    """How many edits the authors count."""


@cache
def declared_layouts() -> dict[str, PublicLayout]:
    """All declared sets by name."""
    text = (resources.files("editgauge.benchmarks") / "data" / "layouts.yaml").read_text("utf-8")
    return {name: PublicLayout.model_validate(values) for name, values in yaml.safe_load(text).items()}


def load_declared(name: str, data: Path | None = None) -> Benchmark:
    """Load a declared benchmark; one `BadInputError` lists every fault of its records."""
    layout = declared_layouts()[name]
    files = _files(name, require_data(name, data, layout.needed), layout)
    faults = Faults(name, files[0])
    reader = RecordReader(name, layout, faults)
    edits = faults.done(reader.all_edits(files))
    return Benchmark(name, edits, about_edits(layout, edits), layout.license)


def _loader(name: str) -> Callable[..., Benchmark]:
    def load(data: Path | None = None) -> Benchmark:
        return load_declared(name, data)

    layout = declared_layouts()[name]
    load.__doc__ = f"{layout.about}.\n\n--data: {layout.needed}."
    return load


def _files(name: str, path: Path, layout: PublicLayout) -> list[Path]:
    if path.is_file():
        return [path]
    for pattern in layout.files:
        if files := sorted(file for file in path.glob(pattern) if not file.name.startswith(".")):
            return files
    raise BadInputError(
        f"'{path}' has no file {' or '.join(layout.files)}. The benchmark '{name}' needs: {layout.needed}."
    )


def about_edits(layout: PublicLayout, edits: tuple[Edit, ...]) -> str:
    """Return the number of edits, in total and per group."""
    parts = [format_count(len(edits), "edit")]
    if layout.published not in (None, len(edits)):
        parts[0] += f" (the authors say {layout.published})"
    for name in layout.groups:
        counts = Counter(edit.groups[name] for edit in edits if name in edit.groups)
        if counts:
            parts.append(f"{name}: {', '.join(f'{value} {count}' for value, count in sorted(counts.items()))}")
    return "; ".join(parts)


class RecordReader:
    """Reads the records of one set."""

    def __init__(self, name: str, layout: PublicLayout, faults: Faults) -> None:
        self.name = name
        self.layout = layout
        self.faults = faults
        self.ids = Ids()
        self.types = vocabulary(layout.vocabulary) if layout.vocabulary else dict(layout.types)

    def all_edits(self, files: Iterable[Path]) -> Iterator[Edit]:
        """Yield the edits of all files; a file that cannot be read is noted and skipped."""
        for file in files:
            try:
                yield from self.edits(file)
            except BadInputError as error:
                self.faults.problems.append(str(error))

    def edits(self, file: Path) -> Iterator[Edit]:
        """Yield the edits of a file; faulty records are noted and skipped."""
        self.faults.file = file
        image_folders = [
            ImageFolder(path, self.faults) for folder in self.layout.pictures if (path := file.parent / folder).is_dir()
        ]
        for row in self._rows(file):
            folders = dict(zip(FOLDERS, (folder.name for folder in file.absolute().parents), strict=False))
            values = {**row.values, **folders, NUMBER: str(row.number - 1)}
            yield from self.edits_of(values, _record(values, self.layout, row), image_folders)

    def _rows(self, file: Path) -> Iterator[FileRow]:
        value = read_json(file, self.faults, object) if self.layout.single else None
        if isinstance(value, dict):
            yield FileRow(file, 1, value)
        else:
            yield from read_rows([file], self._columns, self.faults)

    @property
    def _columns(self) -> list[str]:
        layout = self.layout
        fields = [layout.key, layout.source, layout.inputs, layout.instruction, layout.reference, layout.mask]
        fields += [layout.extras, layout.source_caption, layout.target_caption, *layout.groups.values()]
        return list(dict.fromkeys(name.partition(".")[0] for some in fields for name in some))

    def edits_of(self, values: Mapping[str, Any], record: object, image_folders: list[ImageFolder]) -> Iterator[Edit]:
        """Yield the edits of one record; faults are noted."""
        layout, number = self.layout, len(self.faults.problems)
        texts = self._instructions(values, record)
        pictures = self._pictures(values, layout.source, record, image_folders)
        references = self._pictures(values, layout.reference, record, image_folders, needed=False)
        masks = self._pictures(values, layout.mask, record, image_folders, needed=False)
        further_inputs = [
            picture
            for field in layout.inputs
            for picture in self._pictures(values, [field], record, image_folders, needed=False)
        ]
        if len(self.faults.problems) > number or not pictures:
            return
        source, *further = [*pictures, *further_inputs]
        mask = _mask(source, masks, layout.mask_suffix)
        groups = {name: text for name, fields in layout.groups.items() if (text := _text(_first(values, fields)))}
        key = [text for field in _key_fields(layout.key) if (text := _text(_value(values, field)))]
        for index, text in enumerate(texts, start=1):
            index_group = {layout.list_group: str(index)} if layout.list_group else {}
            edit = Edit(
                id=self.ids.give(*(key or [str(record)]), *index_group.values()),
                source=source,
                type=self.types.get(groups.get("task", "").casefold(), UNSPECIFIED),
                instruction=text,
                source_caption=_text(_first(values, layout.source_caption)) or None,
                target_caption=_text(_first(values, layout.target_caption)) or None,
                reference=references[0] if references else None,
                mask=mask,
                inputs=tuple(InputImage(candidate, layout.role) for candidate in further),
                groups=groups | index_group,
                extras={"key": "-".join(key), **groups, **self._extras(values)},
            )
            yield complete_edit(edit)

    def _extras(self, values: Mapping[str, Any]) -> dict[str, Any]:
        extras = {name: values.get(name) for name in self.layout.extras}
        return {name: value for name, value in extras.items() if isinstance(value, str | int | float | bool)}

    def _instructions(self, values: Mapping[str, Any], record: object) -> list[str]:
        value = _first(values, self.layout.instruction)
        texts = value if self.layout.list_group and isinstance(value, list) else [value]
        if not texts or not all(isinstance(text, str) and text.strip() for text in texts):
            wanted_texts = "a list of texts" if self.layout.list_group else "a text"
            name = self.layout.instruction[0]
            self.faults.add(
                record,
                f"'{name}' is missing"
                if value is None
                else f"'{name}' must be {wanted_texts}, got {format_value(value)}",
            )
            return []
        return [" ".join(text.split()) for text in texts]

    def _pictures(
        self,
        values: Mapping[str, Any],
        fields: Field_,
        record: object,
        image_folders: list[ImageFolder],
        *,
        needed: bool = True,
    ) -> list[ImageFile]:
        """Return the images of a field, which holds one or a list; faults are noted."""
        value = _first(values, fields)
        some = value if isinstance(value, list) else [] if value is None or value == "" else [value]
        if not some and needed:
            self.faults.add(record, f"'{fields[0]}' is missing: the source picture")
        pictures = [self._picture(item, record, image_folders, fields[0], optional=not needed) for item in some]
        return [image for image in pictures if image]

    def _picture(
        self, value: Any, record: object, image_folders: list[ImageFolder], field: str, *, optional: bool
    ) -> ImageFile | None:
        value = image_value(value)
        if isinstance(value, bytes):
            return store_image(value, self.name)
        if not isinstance(value, str | int) or isinstance(value, bool):
            self.faults.add(record, f"'{field}' is neither a picture nor a path, got {format_value(value)}")
            return None
        word = str(value).strip()
        if self.layout.suffix and not PurePosixPath(word).suffix:
            word += self.layout.suffix
        holders = [folder for folder in image_folders if (folder.folder / word).is_file()] or image_folders
        return holders[0].picture(word, record, optional=optional) if holders else None


def _mask(source: ImageFile, masks: list[ImageFile], suffix: str) -> MaskFile | None:
    if masks:
        return MaskFile(masks[0].path, masks[0].name)
    path = source.path.with_name(f"{source.path.stem}{suffix}")
    return MaskFile(path, str(PurePosixPath(source.name).with_name(path.name))) if suffix and path.is_file() else None


def _key_fields(fields: Field_) -> list[str]:
    return [field for field in fields if field != NUMBER] or fields


def _record(values: Mapping[str, Any], layout: PublicLayout, row: FileRow) -> object:
    """Return the name of a record for messages."""
    keys = [text for field in layout.key if field != NUMBER and (text := _text(_value(values, field)))]
    return "/".join(keys) if keys else f"{row.file.name}, row {row.number}"


def _first(values: Mapping[str, Any], fields: Field_) -> Any:
    return next((value for field in fields if (value := _value(values, field)) is not None), None)


def _value(values: Mapping[str, Any], field: str) -> Any:
    """Return the value of a field; a dot descends into a mapping, and NaN means missing."""
    value: Any = values
    for part in field.split("."):
        value = value.get(part) if isinstance(value, Mapping) else None
    return None if isinstance(value, float) and math.isnan(value) else value


def _text(value: Any) -> str:
    """Return a scalar as text, anything else as an empty text."""
    if isinstance(value, bool):
        return str(value).lower()
    return " ".join(str(value).split()) if isinstance(value, str | int | float) else ""


imgedit = _loader("imgedit")
kris = _loader("kris")
rise = _loader("rise")
gedit_v2 = _loader("gedit-v2")
emu_edit = _loader("emu-edit")
complex_edit = _loader("complex-edit")
omnicontext = _loader("omnicontext")
hatie = _loader("hatie")
edit_compass = _loader("edit-compass")
imagenworld = _loader("imagenworld")
rededit = _loader("rededit")
texteditbench = _loader("texteditbench")
uniredit = _loader("uniredit")
wiseedit = _loader("wiseedit")
