"""Helpers for readers of public datasets: files, tables, ids, and problems that are reported all at once."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import pickle
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from editgauge._util import files
from editgauge._util.documents import read_jsonl
from editgauge._util.fields import format_value
from editgauge._util.text import format_count
from editgauge.errors import BadInputError
from editgauge.types import Edit

MAX_SLUG_BYTES = 48
"""Length of one part of an id; longer ones are cut and get a few digits of their hash."""


_skipped: ContextVar[list[str] | None] = ContextVar("skipped", default=None)


@contextmanager
def skip_broken_records() -> Iterator[list[str]]:
    """Within the context, readers leave out broken records and note their problems in the returned list."""
    problems: list[str] = []
    token = _skipped.set(problems)
    try:
        yield problems
    finally:
        _skipped.reset(token)


def skipped_problems() -> list[str] | None:
    """Return the list for problems of broken records that are left out, or None if they are errors."""
    return _skipped.get()


class Faults:
    """Problems of a dataset, each with the record in which it occurs."""

    def __init__(self, benchmark: str, file: Path) -> None:
        self.benchmark = benchmark
        self.file = file
        self.problems: list[str] = []

    def add(self, record: object, text: str) -> None:
        """Add a problem of a record, which is named by its key in the file or by its line."""
        self.problems.append(self._describe(record, text))

    def skip(self, record: object, text: str) -> bool:
        """Note a missing file of a record that is kept; return False, after adding a problem, if it is an error."""
        skipped = skipped_problems()
        (self.problems if skipped is None else skipped).append(self._describe(record, text))
        return skipped is not None

    def _describe(self, record: object, text: str) -> str:
        location = f"line {record}" if isinstance(record, int) else f"record {format_value(record)}"
        return f"{self.file}: {location}: {text}"

    def text(self, record: object, values: Mapping[str, Any], key: str) -> str | None:
        """Return the text under a key, with single spaces; add a problem and return None if there is none."""
        value = values.get(key)
        if isinstance(value, str) and value.strip():
            return " ".join(value.split())
        self.add(
            record, f"'{key}' is missing" if value is None else f"'{key}' must be a text, got {format_value(value)}"
        )
        return None

    def done(self, edits: Iterable[Edit] = ()) -> tuple[Edit, ...]:
        """Return the edits; raise `BadInputError` with every problem, or if there are no edits."""
        result, skipped = tuple(edits), skipped_problems()
        if self.problems and result and skipped is not None:
            skipped += self.problems
        elif self.problems:
            count = "a problem" if len(self.problems) == 1 else f"{len(self.problems)} problems"
            raise BadInputError(
                f"The benchmark '{self.benchmark}' has {count}. Pass `skip_broken=True` to go on without such records.",
                self.problems,
            )
        if not result:
            raise BadInputError(f"'{self.file}' holds no edits for the benchmark '{self.benchmark}'.")
        return result


def require_data(benchmark: str, data: Path | None, what: str) -> Path:
    """Return the path of a dataset; raise `BadInputError` that describes what is needed when there is none."""
    if data is None:
        raise BadInputError(f"The benchmark '{benchmark}' is not shipped with EditGauge. Pass `data`: {what}.")
    if not data.exists():
        raise BadInputError(f"'{data}' does not exist. The benchmark '{benchmark}' needs `data`: {what}.")
    return data


def find_data_file(benchmark: str, data: Path | None, name: str, what: str) -> Path:
    """Return a file of a dataset; `data` is the file itself or its folder."""
    path = require_data(benchmark, data, what)
    file = path / name if path.is_dir() else path
    if not file.is_file():
        raise BadInputError(f"'{path}' has no '{name}'. The benchmark '{benchmark}' needs: {what}.")
    return file


def read_text(file: Path) -> str:
    """Read a UTF-8 file; raise `BadInputError` if that is not possible."""
    try:
        return files.read_text(file, "utf-8-sig")
    except UnicodeDecodeError as error:
        raise BadInputError(f"'{file}' is not UTF-8 text (byte {error.object[error.start]:#04x}).") from error
    except OSError as error:
        raise BadInputError(f"'{file}' cannot be read: {error.strerror or error}.") from error


def read_json(file: Path, faults: Faults, kind: type) -> Any:
    """Read a JSON file that must hold a `kind`; duplicate keys are reported, because JSON keeps only the last."""

    def check_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        values: dict[str, Any] = {}
        for key, value in pairs:
            if key in values:
                faults.add(key, "the key is given twice")
            values[key] = value
        return values

    try:
        text = re.sub(r"^\s*//.*$", "", read_text(file), flags=re.MULTILINE)  # comments, as papers print them
        value = json.loads(text, object_pairs_hook=check_duplicates)
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
    """Return a text as part of a file name, the same on every machine.

    >>> slug("Wine glass to left!"), slug("stop_sign"), slug("?").startswith("x-")
    ('wine-glass-to-left', 'stop_sign', True)
    """
    plain = re.sub(r"[^\w]+", "-", unicodedata.normalize("NFKC", text).casefold()).strip("-_")
    if plain and len(plain.encode()) <= MAX_SLUG_BYTES:
        return plain
    digits = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return f"{plain.encode()[: MAX_SLUG_BYTES - 9].decode('utf-8', 'ignore').rstrip('-_') or 'x'}-{digits}"


class Ids:
    """Generator of readable, unique ids that are valid file names, also on case-insensitive file systems."""

    def __init__(self) -> None:
        self._used: set[str] = set()

    def give(self, *parts: object) -> str:
        """Return the joined parts; a second edit of the same name gets `-2`, a third `-3`."""
        name = base = "-".join(slug(str(part)) for part in parts)
        count = 1
        while name in self._used:
            count += 1
            name = f"{base}-{count}"
        self._used.add(name)
        return name


def size_note(edits: Sequence[Edit], published: tuple[int, int]) -> str:
    """Return the number of edits and images, and those of the paper where they differ."""
    sizes = len(edits), len({edit.source.name for edit in edits})
    size = f"{format_count(sizes[0], 'edit')} of {format_count(sizes[1], 'image')}"
    return size if sizes == published else f"{size} (the paper says {published[0]} of {published[1]})"


FORMATS = (".arrow", ".parquet", ".jsonl", ".json")
PICKLES = (".pkl", ".pickle")
NOT_RECORDS = {"dataset_info.json", "dataset_infos.json", "dataset_dict.json", "state.json"}
"""Metadata files that the `datasets` library writes next to the records."""
BATCH_ROWS = 64  # small, because rows hold images


@dataclass(frozen=True, slots=True)
class FileRow:
    """One record with its file and row number."""

    file: Path
    number: int
    values: dict[str, Any]


def table_files(path: Path, split: str | None = None) -> list[Path]:
    """Return the files with records in a folder or one level below it, all of one format; or the file itself.

    A split is the beginning of a file's name (`dev-00000-of-00004.parquet`, `dev.jsonl`) or a folder's name.
    """
    if path.is_file():
        return [path]
    by_format = {format_: _files_of(path, format_) for format_ in FORMATS}
    files = next((files for files in by_format.values() if files), [])
    if not files:
        raise BadInputError(f"'{path}' holds no records: no file that ends with {', '.join(FORMATS)}.")
    if split is None:
        return files
    selection = [file for file in files if _split_of(file, path) == split]
    if not selection:
        splits = sorted({_split_of(file, path) for file in files})
        raise BadInputError(f"'{path}' has no split '{split}'. There are: {', '.join(splits)}.")
    return selection


def _files_of(folder: Path, format_: str) -> list[Path]:
    files = [*sorted(folder.glob(f"*{format_}")), *sorted(folder.glob(f"*/*{format_}"))]
    return [file for file in files if file.name not in NOT_RECORDS and not file.name.startswith(".")]


def _split_of(file: Path, folder: Path) -> str:
    word = file.stem.partition("-")[0]
    return file.parent.name if word == "data" and file.parent != folder else word


def read_rows(files: Sequence[Path], columns: Sequence[str], faults: Faults) -> Iterator[FileRow]:
    """Yield the records of all files; of Parquet and Arrow files only the given columns, where they exist."""
    for file in files:
        if file.suffix == ".jsonl":
            yield from _lines(file, faults)
        elif file.suffix == ".json":
            yield from _records(file, read_json(file, faults, object), faults)
        elif file.suffix in {".parquet", ".arrow"}:
            yield from _batches(file, columns)
        elif file.suffix == ".csv":
            rows = csv.DictReader(io.StringIO(read_text(file), newline=""))
            yield from (FileRow(file, number, dict(row)) for number, row in enumerate(rows, start=1))
        elif file.suffix in PICKLES:
            yield from _records(file, read_plain_pickle(file), faults)
        else:
            raise BadInputError(f"'{file}' is in no format that can be read ({', '.join((*FORMATS, *PICKLES))}).")


def _lines(file: Path, faults: Faults) -> Iterator[FileRow]:
    document = read_jsonl(read_text(file), str(file))
    faults.problems += document.problems()
    for location, values in document.entries():
        yield from _row(file, location.line, values, faults)


def _records(file: Path, value: Any, faults: Faults) -> Iterator[FileRow]:
    """Yield the records of a list, or of a mapping of keys to records or lists of records."""
    if isinstance(value, dict):
        records = [
            (key, record) for key, entry in value.items() for record in (entry if isinstance(entry, list) else [entry])
        ]
        value = [{"key": key, **record} if isinstance(record, dict) else record for key, record in records]
    for number, values in enumerate(value if isinstance(value, list) else [value], start=1):
        yield from _row(file, number, values, faults)


class _PlainUnpickler(pickle.Unpickler):
    """Unpickler for plain values; a pickle that names a class or a function is refused before anything runs."""

    def find_class(self, module: str, name: str) -> Any:
        raise pickle.UnpicklingError(f"it names '{module}.{name}'")

    def persistent_load(self, _pid: Any) -> Any:
        raise pickle.UnpicklingError("it refers to something outside of the file")


def read_plain_pickle(file: Path) -> Any:
    """Load a pickle of numbers, texts, lists and mappings safely; raise `BadInputError` for anything else.

    The usual way of loading a pickle can run any code.
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
        faults.problems.append(f"{file}: line {number}: must be a mapping, got {format_value(values)}")


def column_names(file: Path, faults: Faults) -> list[str]:
    """Return the columns of a table; for JSON, the keys of the first record."""
    if file.suffix in {".parquet", ".arrow"}:
        with _opened(file) as table:
            return list(table.schema.names)
    first = next(read_rows([file], (), faults), None)
    return list(first.values) if first else []


def _batches(file: Path, columns: Sequence[str]) -> Iterator[FileRow]:
    number = 0
    with _opened(file) as table:
        present = [name for name in columns if name in table.schema.names]
        for batch in table.batches(present):
            for start in range(0, len(batch), BATCH_ROWS):
                for values in batch.slice(start, BATCH_ROWS).to_pylist():
                    number += 1
                    yield FileRow(file, number, values)


@dataclass(frozen=True, slots=True)
class _Table:
    schema: Any
    batches: Callable[[list[str]], Iterator[Any]]


@contextmanager
def _opened(file: Path) -> Iterator[_Table]:
    """Open a Parquet or Arrow file; errors while it is read become `BadInputError`."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with pa.OSFile(str(file)) as source:
            if file.suffix == ".parquet":
                parquet = pq.ParquetFile(source)
                yield _Table(parquet.schema_arrow, lambda names: parquet.iter_batches(BATCH_ROWS, columns=names))
            else:
                yield _arrow(source)
    except (pa.ArrowException, OSError) as error:
        raise BadInputError(f"'{file}' cannot be read as {file.suffix[1:]} ({error}). Is the file complete?") from error


def _arrow(source: Any) -> _Table:
    """Open an Arrow stream, as the `datasets` library writes, or an Arrow file, as other tools do."""
    import pyarrow as pa

    try:
        stream = pa.ipc.open_stream(source)
        return _Table(stream.schema, lambda names: (batch.select(names) for batch in stream))
    except pa.ArrowInvalid:
        source.seek(0)
        table = pa.ipc.open_file(source)
        numbers = range(table.num_record_batches)
        return _Table(table.schema, lambda names: (table.get_batch(number).select(names) for number in numbers))
