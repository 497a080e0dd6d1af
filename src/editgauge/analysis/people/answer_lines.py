"""The lines of a file in which people, or a judge, answered: CSV or JSON lines; all problems are reported together."""

from __future__ import annotations

import csv
import difflib
import io
import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from editgauge._util.datasets import read_text
from editgauge._util.documents import read_jsonl
from editgauge._util.fields import shown
from editgauge._util.text import from_csv_text
from editgauge.errors import BadInputError

Problems = list[tuple[int, str]]
LARGEST = 1e19
"""Of ratings and seeds; squares and sums of squares of larger ones leave the range of numbers."""


def records(file: Path, fields: Sequence[str], problems: Problems) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """Every line with its number; a field that is nearly one of these is a problem, others are left alone."""
    if file.suffix not in {".csv", ".jsonl"}:
        raise BadInputError(f"'{file}' must end with .csv or .jsonl, so that it is clear how to read it.")
    text = read_text(file)
    questioned: set[str] = set(fields)
    for line, values in _csv(text, fields, problems) if file.suffix == ".csv" else _jsonl(text, problems):
        for name in [name for name in values if name not in questioned]:
            questioned.add(name)
            close = difflib.get_close_matches(name.strip().lower(), fields, n=1, cutoff=0.8)
            problems += [(line, f"there is no field {shown(name)}; did you mean '{close[0]}'?")] if close else []
        yield line, values


def _csv(text: str, fields: Sequence[str], problems: Problems) -> Iterator[tuple[int, Mapping[str, Any]]]:
    reader = csv.DictReader(io.StringIO(text, newline=""), restkey="")
    needed = fields[: fields.index("rater")]
    lacking = [name for name in needed if name not in (reader.fieldnames or ())]
    if lacking:
        problems.append((1, f"the header must name {', '.join(needed)}; {', '.join(lacking)} is not there"))
        return
    try:
        for row in reader:
            if "" in row:
                problems.append((reader.line_num, "more values than the header has names; is a comma not quoted?"))
            yield (
                reader.line_num,
                {name: from_csv_text(cell) if isinstance(cell, str) else cell for name, cell in row.items()},
            )
    except csv.Error as error:
        problems.append((reader.line_num, f"not valid CSV: {error}"))


def _jsonl(text: str, problems: Problems) -> Iterator[tuple[int, Mapping[str, Any]]]:
    document = read_jsonl(text, "")
    problems += document.faults
    for spot, values in document.entries():
        if isinstance(values, dict):
            yield spot.line, values
        else:
            problems.append((spot.line, f"must be a mapping, got {shown(values)}"))


def seed_of(values: Mapping[str, Any], faults: list[str]) -> int | None:
    """The seed of an outcome, where the line names one."""
    seed = None if blank(values.get("seed")) else number(values, "seed", faults)
    if seed is not None and seed != int(seed):
        faults.append(f"'seed' must be a whole number, got {shown(values['seed'])}")
    return None if seed is None else int(seed)


def blank(value: object) -> bool:
    """Whether nothing stands there."""
    return value is None or (isinstance(value, str) and not value.strip())


def word(values: Mapping[str, Any], name: str, faults: list[str], *, needed: bool = True) -> str | None:
    """A text, or a whole number as text: raters and edits are often numbered."""
    value = values.get(name)
    if blank(value):
        faults += [f"'{name}' is missing"] if needed else []
        return None
    if isinstance(value, str | int) and not isinstance(value, bool):
        return str(value).strip()
    faults.append(f"'{name}' must be a text, got {shown(value)}")
    return None


def number(values: Mapping[str, Any], name: str, faults: list[str]) -> float | None:
    """A finite number."""
    value = values.get(name)
    if blank(value):
        faults.append(f"'{name}' is missing")
        return None
    try:
        parsed = math.nan if isinstance(value, bool) or not isinstance(value, str | int | float) else float(value)
    except (ValueError, OverflowError):
        parsed = math.nan
    if abs(parsed) <= LARGEST:
        return parsed
    limit = "" if math.isnan(parsed) else f" of at most {LARGEST:.0e}"
    faults.append(f"'{name}' must be a number{limit}, got {shown(value)}")
    return None
