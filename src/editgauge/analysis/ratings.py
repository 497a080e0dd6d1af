"""What people said: ratings and choices, read from files with every problem told at once.

Ratings (CSV or JSON lines): edit, method, value; and where there are any, rater, question, seed.
Choices (JSON lines, or CSV): edit, first, second, chosen (first, second or tie); and where there is one, rater.
"""

from __future__ import annotations

import csv
import difflib
import io
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeVar, get_args

from editgauge.benchmarks.fields import shown
from editgauge.benchmarks.lines import read_jsonl
from editgauge.benchmarks.public import read_text
from editgauge.core.errors import BadInput

Chosen = Literal["first", "second", "tie"]
RATING_FIELDS = ("edit", "method", "value", "rater", "question", "seed")
CHOICE_FIELDS = ("edit", "first", "second", "chosen", "rater")
Problems = list[tuple[int, str]]


@dataclass(frozen=True, slots=True)
class Rating:
    """What one person gave one outcome."""

    edit: str
    method: str
    value: float
    rater: str | None = None
    question: str = ""
    seed: int | None = None

    @property
    def about(self) -> tuple[tuple[str, str, int | None], ...]:
        """The outcome as the file names it."""
        return ((self.edit, self.method, self.seed),)


@dataclass(frozen=True, slots=True)
class Choice:
    """Which of two outcomes of an edit a person prefers."""

    edit: str
    first: str
    second: str
    chosen: Chosen
    rater: str | None = None

    @property
    def about(self) -> tuple[tuple[str, str, int | None], ...]:
        """Both outcomes as the file names them."""
        return (self.edit, self.first, None), (self.edit, self.second, None)


Told = TypeVar("Told", Rating, Choice)


def read_ratings(file: Path) -> list[Rating]:
    """The ratings of a file; raises `BadInput` that lists everything wrong with it, line by line."""
    return _read(file, "ratings", RATING_FIELDS, _rating, lambda r: (r.edit, r.method, r.seed, r.question, r.rater))


def read_choices(file: Path) -> list[Choice]:
    """The choices of a file; raises `BadInput` that lists everything wrong with it, line by line."""
    return _read(file, "choices", CHOICE_FIELDS, _choice, lambda c: (c.edit, *sorted((c.first, c.second)), c.rater))


def _read(
    file: Path,
    what: str,
    fields: Sequence[str],
    make: Callable[[Mapping[str, Any], list[str]], Told | None],
    identity: Callable[[Told], tuple[object, ...]],
) -> list[Told]:
    problems: Problems = []
    told: list[Told] = []
    lines: dict[tuple[object, ...], int] = {}
    for line, values in _records(file, fields, problems):
        faults: list[str] = []
        one = make(values, faults)
        problems += [(line, fault) for fault in faults]
        if one is None:
            continue
        told.append(one)
        before = lines.setdefault(identity(one), line)
        if one.rater is not None and before != line:  # without a name it may be another person
            problems.append((line, f"rater {shown(one.rater)} answered this before, on line {before}"))
    if problems:
        listed = [f"{file.name}:{line}: {text}" for line, text in sorted(problems)]
        raise BadInput(f"The {what} in '{file}' have problems.", listed)
    if not told:
        raise BadInput(f"'{file}' holds no {what}.")
    return told


def _records(file: Path, fields: Sequence[str], problems: Problems) -> Iterator[tuple[int, Mapping[str, Any]]]:
    if file.suffix not in {".csv", ".jsonl"}:
        raise BadInput(f"'{file}' must end with .csv or .jsonl, so that it is clear how to read it.")
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
            yield reader.line_num, row
    except csv.Error as error:
        problems.append((reader.line_num, f"not valid CSV: {error}"))


def _jsonl(text: str, problems: Problems) -> Iterator[tuple[int, Mapping[str, Any]]]:
    document = read_jsonl(text, "")
    problems += document.faults
    for place, values in enumerate(document.value["edits"] if document.value else ()):
        line = document.lines.find(("edits", place))
        if isinstance(values, dict):
            yield line, values
        else:
            problems.append((line, f"must be a mapping, got {shown(values)}"))


def _rating(values: Mapping[str, Any], faults: list[str]) -> Rating | None:
    edit, method = (_word(values, name, faults) for name in ("edit", "method"))
    value = _number(values, "value", faults)
    rater, question = (_word(values, name, faults, needed=False) for name in ("rater", "question"))
    seed = None if _blank(values.get("seed")) else _number(values, "seed", faults)
    if seed is not None and seed != int(seed):
        faults.append(f"'seed' must be a whole number, got {shown(values['seed'])}")
    if faults or edit is None or method is None or value is None:
        return None
    return Rating(edit, method, value, rater, question or "", None if seed is None else int(seed))


def _choice(values: Mapping[str, Any], faults: list[str]) -> Choice | None:
    edit, first, second, chosen = (_word(values, name, faults) for name in ("edit", "first", "second", "chosen"))
    rater = _word(values, "rater", faults, needed=False)
    if chosen is not None and chosen not in get_args(Chosen):
        faults.append(f"'chosen' must be first, second or tie, got {shown(chosen)}")
    if first is not None and first == second:
        faults.append(f"'first' and 'second' are the same method, {shown(first)}")
    if faults or edit is None or first is None or second is None:
        return None
    return Choice(
        edit, first, second, "first" if chosen == "first" else "second" if chosen == "second" else "tie", rater
    )


def _blank(value: object) -> bool:
    return value is None or (isinstance(value, str) and not value.strip())


def _word(values: Mapping[str, Any], name: str, faults: list[str], *, needed: bool = True) -> str | None:
    """A text, or a whole number as text: raters and edits are often numbered."""
    value = values.get(name)
    if _blank(value):
        faults += [f"'{name}' is missing"] if needed else []
        return None
    if isinstance(value, str | int) and not isinstance(value, bool):
        return str(value).strip()
    faults.append(f"'{name}' must be a text, got {shown(value)}")
    return None


def _number(values: Mapping[str, Any], name: str, faults: list[str]) -> float | None:
    value = values.get(name)
    if _blank(value):
        faults.append(f"'{name}' is missing")
        return None
    try:
        number = math.nan if isinstance(value, bool) or not isinstance(value, str | int | float) else float(value)
    except (ValueError, OverflowError):
        number = math.nan
    if math.isfinite(number):
        return number
    faults.append(f"'{name}' must be a number, got {shown(value)}")
    return None
