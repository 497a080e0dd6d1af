"""What the loaders of public sets share: their files, ids, and faults that are reported all at once."""

from __future__ import annotations

import hashlib
import json
import pickle
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from editgauge._util import files
from editgauge._util.documents import read_jsonl
from editgauge._util.fields import format_value
from editgauge._util.text import format_count
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
        place = f"line {record}" if isinstance(record, int) else f"record {format_value(record)}"
        self.problems.append(f"{self.file.name}: {place}: {text}")

    def text(self, record: object, values: Mapping[str, Any], key: str) -> str | None:
        """The text under a key, with single blanks; None after noting that it is missing, empty or no text."""
        value = values.get(key)
        if isinstance(value, str) and value.strip():
            return " ".join(value.split())
        self.add(
            record, f"'{key}' is missing" if value is None else f"'{key}' must be a text, got {format_value(value)}"
        )
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


def require_data(benchmark: str, data: Path | None, what: str) -> Path:
    """The place a user gave; raises `BadInputError` that says what to give when there is none."""
    if data is None:
        raise BadInputError(f"The benchmark '{benchmark}' is not shipped with EditGauge. Give --data: {what}.")
    if not data.exists():
        raise BadInputError(f"There is nothing at '{data}'. The benchmark '{benchmark}' needs there: {what}.")
    return data


def find_data_file(benchmark: str, data: Path | None, name: str, what: str) -> Path:
    """The file of that name: given itself, or by the folder it is in."""
    place = require_data(benchmark, data, what)
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
        raise BadInputError(f"'{file}' must hold a JSON {word}, got {format_value(value)}.")
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
        name = require_data = "-".join(slug(str(part)) for part in parts)
        count = 1
        while name in self._given:
            count += 1
            name = f"{require_data}-{count}"
        self._given.add(name)
        return name


def size_note(edits: Sequence[Edit], published: tuple[int, int]) -> str:
    """How many edits and images were found, compared with what the paper says where that is another number."""
    sizes = len(edits), len({edit.source.name for edit in edits})
    size = f"{format_count(sizes[0], 'edit')} of {format_count(sizes[1], 'image')}"
    return size if sizes == published else f"{size} (the paper says {published[0]} of {published[1]})"


FORMATS = (".arrow", ".parquet", ".jsonl", ".json")
PICKLES = (".pkl", ".pickle")
NOT_RECORDS = {"dataset_info.json", "dataset_infos.json", "dataset_dict.json", "state.json"}
"""What the `datasets` library writes next to the records."""
ROWS_AT_ONCE = 64
"""Rows hold whole pictures."""


@dataclass(frozen=True, slots=True)
class FileRow:
    """One record, and the line or row of the file it stands in."""

    file: Path
    number: int
    values: dict[str, Any]


def table_files(place: Path, split: str | None = None) -> list[Path]:
    """The files with records in a folder or one level below it, all of one format; or the file itself.

    A split is the beginning of a file's name (`dev-00000-of-00004.parquet`, `dev.jsonl`) or a folder's name.
    """
    if place.is_file():
        return [place]
    by_format = {format_: _files_of(place, format_) for format_ in FORMATS}
    files = next((files for files in by_format.values() if files), [])
    if not files:
        raise BadInputError(f"'{place}' holds no records: no file that ends with {', '.join(FORMATS)}.")
    if split is None:
        return files
    chosen = [file for file in files if _split_of(file, place) == split]
    if not chosen:
        known = sorted({_split_of(file, place) for file in files})
        raise BadInputError(f"'{place}' has no split '{split}'. There are: {', '.join(known)}.")
    return chosen


def _files_of(folder: Path, format_: str) -> list[Path]:
    files = [*sorted(folder.glob(f"*{format_}")), *sorted(folder.glob(f"*/*{format_}"))]
    return [file for file in files if file.name not in NOT_RECORDS and not file.name.startswith(".")]


def _split_of(file: Path, folder: Path) -> str:
    word = file.stem.partition("-")[0]
    return file.parent.name if word == "data" and file.parent != folder else word


def read_rows(files: Sequence[Path], columns: Sequence[str], faults: Faults) -> Iterator[FileRow]:
    """The records in the order of the files; from Parquet and Arrow only these columns, where they are there."""
    for file in files:
        if file.suffix == ".jsonl":
            yield from _lines(file, faults)
        elif file.suffix == ".json":
            yield from _records(file, read_json(file, faults, object), faults)
        elif file.suffix in {".parquet", ".arrow"}:
            yield from _batches(file, columns)
        elif file.suffix in PICKLES:
            yield from _records(file, read_plain_pickle(file), faults)
        else:
            raise BadInputError(f"'{file}' is in no format that can be read ({', '.join((*FORMATS, *PICKLES))}).")


def _lines(file: Path, faults: Faults) -> Iterator[FileRow]:
    document = read_jsonl(read_text(file), file.name)
    faults.problems += document.problems()
    for spot, values in document.entries():
        yield from _row(file, spot.line, values, faults)


def _records(file: Path, value: Any, faults: Faults) -> Iterator[FileRow]:
    """A list of records, or a mapping of keys to records or to lists of them."""
    if isinstance(value, dict):
        several = [(key, each) for key, some in value.items() for each in (some if isinstance(some, list) else [some])]
        value = [{"key": key, **each} if isinstance(each, dict) else each for key, each in several]
    for number, values in enumerate(value if isinstance(value, list) else [value], start=1):
        yield from _row(file, number, values, faults)


class _PlainUnpickler(pickle.Unpickler):
    """Makes nothing but plain values: a pickle that names a class or a function is refused before anything is run."""

    def find_class(self, module: str, name: str) -> Any:
        raise pickle.UnpicklingError(f"it names '{module}.{name}'")

    def persistent_load(self, pid: Any) -> Any:
        raise pickle.UnpicklingError("it refers to something outside of the file")


def read_plain_pickle(file: Path) -> Any:
    """What a pickle of numbers, texts, lists and mappings holds; raises `BadInputError` for one that needs more than that.

    A pickle can run any code when it is read in the usual way. This way it cannot.
    """
    try:
        with file.open("rb") as content:
            return _PlainUnpickler(content).load()
    except Exception as error:  # a damaged pickle may fail anywhere
        raise BadInputError(
            f"The pickle '{file}' cannot be read safely: {error or type(error).__name__}. Only numbers, texts, lists "
            "and mappings are taken from a pickle, because anything else could run code on your machine. If you trust "
            "the file, load it in Python and save it as JSON (json.dump)."
        ) from error


def _row(file: Path, number: int, values: Any, faults: Faults) -> Iterator[FileRow]:
    if isinstance(values, dict):
        yield FileRow(file, number, values)
    else:
        faults.problems.append(f"{file.name}: line {number}: must be a mapping, got {format_value(values)}")


def column_names(file: Path, faults: Faults) -> list[str]:
    """The columns of a table; of JSON, the keys of its first record."""
    if file.suffix in {".parquet", ".arrow"}:
        with _opened(file) as table:
            return list(table.schema.names)
    first = next(read_rows([file], (), faults), None)
    return list(first.values) if first else []


def _batches(file: Path, columns: Sequence[str]) -> Iterator[FileRow]:
    number = 0
    with _opened(file) as table:
        there = [name for name in columns if name in table.schema.names]
        for batch in table.batches(there):
            for start in range(0, len(batch), ROWS_AT_ONCE):
                for values in batch.slice(start, ROWS_AT_ONCE).to_pylist():
                    number += 1
                    yield FileRow(file, number, values)


@dataclass(frozen=True, slots=True)
class _Table:
    schema: Any
    batches: Callable[[list[str]], Iterator[Any]]


@contextmanager
def _opened(file: Path) -> Iterator[_Table]:
    """A Parquet or Arrow file; whatever is wrong with it, here or while it is read, is reported as `BadInputError`."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with pa.OSFile(str(file)) as source:
            if file.suffix == ".parquet":
                parquet = pq.ParquetFile(source)
                yield _Table(parquet.schema_arrow, lambda there: parquet.iter_batches(ROWS_AT_ONCE, columns=there))
            else:
                yield _arrow(source)
    except (pa.ArrowException, OSError) as error:
        raise BadInputError(f"'{file}' cannot be read as {file.suffix[1:]} ({error}). Is the file complete?") from error


def _arrow(source: Any) -> _Table:
    """The `datasets` library writes streams; other tools write files with a table of contents."""
    import pyarrow as pa

    try:
        stream = pa.ipc.open_stream(source)
        return _Table(stream.schema, lambda there: (batch.select(there) for batch in stream))
    except pa.ArrowInvalid:
        source.seek(0)
        table = pa.ipc.open_file(source)
        numbers = range(table.num_record_batches)
        return _Table(table.schema, lambda there: (table.get_batch(number).select(there) for number in numbers))
