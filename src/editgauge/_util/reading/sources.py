"""What the loaders of public sets share: their files, ids, and faults that are reported all at once."""

from __future__ import annotations

import hashlib
import json
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from editgauge._util import files
from editgauge._util.reading.fields import shown
from editgauge._util.text import counted
from editgauge.errors import BadInputError
from editgauge.types import Edit

LONGEST_PART = 48
"""Bytes of one part of an id; longer ones are cut and get a few digits of their hash."""


class Faults:
    """Collects what is wrong with a public set; each fault names the record it is in."""

    def __init__(self, benchmark: str, file: Path) -> None:
        self.benchmark = benchmark
        self.file = file
        self.problems: list[str] = []

    def add(self, record: object, text: str) -> None:
        """Notes that something is wrong with a record: its key in the file, or its line."""
        place = f"line {record}" if isinstance(record, int) else f"record {shown(record)}"
        self.problems.append(f"{self.file.name}: {place}: {text}")

    def text(self, record: object, values: Mapping[str, Any], key: str) -> str | None:
        """The text under a key, with single blanks; None after noting that it is missing, empty or no text."""
        value = values.get(key)
        if isinstance(value, str) and value.strip():
            return " ".join(value.split())
        self.add(record, f"'{key}' is missing" if value is None else f"'{key}' must be a text, got {shown(value)}")
        return None

    def done(self, edits: Iterable[Edit] = ()) -> tuple[Edit, ...]:
        """The edits, if nothing was wrong and there are any; else one `BadInputError` with every fault."""
        whole = tuple(edits)
        if self.problems:
            count = "a problem" if len(self.problems) == 1 else f"{len(self.problems)} problems"
            raise BadInputError(f"The benchmark '{self.benchmark}' in '{self.file.parent}' has {count}:", self.problems)
        if not whole:
            raise BadInputError(f"'{self.file}' holds no edits for the benchmark '{self.benchmark}'.")
        return whole


def wanted(benchmark: str, data: Path | None, what: str) -> Path:
    """The place a user gave; raises `BadInputError` that says what to give when there is none."""
    if data is None:
        raise BadInputError(f"The benchmark '{benchmark}' is not shipped with EditGauge. Give --data: {what}.")
    if not data.exists():
        raise BadInputError(f"There is nothing at '{data}'. The benchmark '{benchmark}' needs there: {what}.")
    return data


def file_in(benchmark: str, data: Path | None, name: str, what: str) -> Path:
    """The file of that name: given itself, or by the folder it is in."""
    place = wanted(benchmark, data, what)
    file = place / name if place.is_dir() else place
    if not file.is_file():
        raise BadInputError(f"'{place}' has no '{name}'. The benchmark '{benchmark}' needs: {what}.")
    return file


def read_text(file: Path) -> str:
    """A text file as UTF-8; raises `BadInputError` that says why it cannot be read."""
    try:
        return files.read_text(file, "utf-8-sig")
    except UnicodeDecodeError as error:
        raise BadInputError(f"'{file}' is not UTF-8 text (byte {error.object[error.start]:#04x}).") from error
    except OSError as error:
        raise BadInputError(f"'{file}' cannot be read: {error.strerror or error}.") from error


def read_json(file: Path, faults: Faults, kind: type) -> Any:
    """What a JSON file says: a `dict` or a `list`. A key given twice is a fault, for JSON would keep only the last."""

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        values: dict[str, Any] = {}
        for key, value in pairs:
            if key in values:
                faults.add(key, "the key is given twice")
            values[key] = value
        return values

    try:
        value = json.loads(read_text(file), object_pairs_hook=once)
    except json.JSONDecodeError as error:
        raise BadInputError(
            f"'{file}' is not valid JSON: {error.msg} (line {error.lineno}, column {error.colno})."
        ) from error
    except RecursionError as error:
        raise BadInputError(f"'{file}' is nested too deep.") from error
    if not isinstance(value, kind):
        word = "mapping" if kind is dict else "list"
        raise BadInputError(f"'{file}' must hold a JSON {word}, got {shown(value)}.")
    return value


def slug(text: str) -> str:
    """The text as a part of a file name, the same on every machine.

    >>> slug("Wine glass to left!"), slug("stop_sign"), slug("?").startswith("x-")
    ('wine-glass-to-left', 'stop_sign', True)
    """
    plain = re.sub(r"[^\w]+", "-", unicodedata.normalize("NFKC", text).casefold()).strip("-_")
    if plain and len(plain.encode()) <= LONGEST_PART:
        return plain
    digits = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return f"{plain.encode()[: LONGEST_PART - 9].decode('utf-8', 'ignore').rstrip('-_') or 'x'}-{digits}"


class Ids:
    """Gives ids that are readable, fit for file names, and different even where capitals make no difference."""

    def __init__(self) -> None:
        self._given: set[str] = set()

    def give(self, *parts: object) -> str:
        """The parts joined; a second edit of the same name gets `-2`, a third `-3`, in the order of the file."""
        name = wanted = "-".join(slug(str(part)) for part in parts)
        count = 1
        while name in self._given:
            count += 1
            name = f"{wanted}-{count}"
        self._given.add(name)
        return name


def size_note(edits: Sequence[Edit], published: tuple[int, int]) -> str:
    """How many edits and images were found, compared with what the paper says where that is another number."""
    sizes = len(edits), len({edit.source.name for edit in edits})
    size = f"{counted(sizes[0], 'edit')} of {counted(sizes[1], 'image')}"
    return size if sizes == published else f"{size} (the paper says {published[0]} of {published[1]})"
