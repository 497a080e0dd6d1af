"""The lines of a file in which people, or a judge, answered: CSV or JSON lines; all problems are reported together."""

from __future__ import annotations

import csv
import difflib
import io
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeVar

from editgauge._util.datasets import read_text
from editgauge._util.documents import read_jsonl
from editgauge._util.fields import format_value
from editgauge._util.text import from_csv_text
from editgauge.benchmarks.datasets import published_ratings, rated
from editgauge.errors import BadInputError, UnknownNameError

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
            problems += [(line, f"there is no field {format_value(name)}; did you mean '{close[0]}'?")] if close else []
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
            problems.append((spot.line, f"must be a mapping, got {format_value(values)}"))


def seed_of(values: Mapping[str, Any], faults: list[str]) -> int | None:
    """The seed of an outcome, where the line names one."""
    seed = None if blank(values.get("seed")) else number(values, "seed", faults)
    if seed is not None and seed != int(seed):
        faults.append(f"'seed' must be a whole number, got {format_value(values['seed'])}")
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
    faults.append(f"'{name}' must be a text, got {format_value(value)}")
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
    faults.append(f"'{name}' must be a number{limit}, got {format_value(value)}")
    return None


Choice = Literal["first", "second", "tie"]
SIDES: Mapping[str, Choice] = {"first": "first", "second": "second", "tie": "tie"}
RATING_FIELDS = ("edit", "method", "value", "rater", "question", "seed", "probability")
CHOICE_FIELDS = ("edit", "first", "second", "chosen", "rater")
VERDICT_FIELDS = ("edit", "first", "second", "rater", "chosen", "swapped", "seed", "unanswered")


@dataclass(frozen=True, slots=True)
class Rating:
    """What one person gave one outcome."""

    edit: str
    method: str
    """Empty where the file names none: the run's only method is meant."""
    value: float
    rater: str | None = None
    question: str = ""
    seed: int | None = None
    probability: float | None = None
    """The chance with which the sample took the outcome; None where all had the same, or it is not known."""

    @property
    def about(self) -> tuple[tuple[str, str, int | None], ...]:
        """The outcome as the file names it."""
        return ((self.edit, self.method, self.seed),)


@dataclass(frozen=True, slots=True)
class PreferredOutcome:
    """Which of two outcomes of an edit a person prefers."""

    edit: str
    first: str
    second: str
    chosen: Choice
    rater: str | None = None

    @property
    def about(self) -> tuple[tuple[str, str, int | None], ...]:
        """Both outcomes as the file names them."""
        return (self.edit, self.first, None), (self.edit, self.second, None)


@dataclass(frozen=True, slots=True)
class JudgePreference:
    """Which of two outcomes of an edit a judge prefers, asked in one order or in both."""

    edit: str
    first: str
    second: str
    chosen: Choice | None
    """In the given order; None without an answer."""
    swapped: Choice | None
    """In the other order, still naming the outcome; None without an answer, or when it was not asked."""
    both_orders: bool
    rater: str | None = None
    seed: int | None = None

    @property
    def about(self) -> tuple[tuple[str, str, int | None], ...]:
        """Both outcomes as the file names them."""
        return (self.edit, self.first, self.seed), (self.edit, self.second, self.seed)

    @property
    def is_answered(self) -> bool:
        """Whether there is an answer in every order that was asked."""
        return self.chosen is not None and (self.swapped is not None or not self.both_orders)


Answer = TypeVar("Answer", Rating, PreferredOutcome, JudgePreference)


def read_ratings(file: Path) -> list[Rating]:
    """The ratings of a file, or of `NAME=PATH`; raises `BadInputError` that lists everything wrong, line by line."""
    if published := _published(file):
        return published
    return _read(file, "ratings", RATING_FIELDS, _rating, lambda r: (r.edit, r.method, r.seed, r.question, r.rater))


def published_answers(file: Path) -> list[dict[str, object]] | None:
    """The answers in a benchmark's own files, given as `NAME=PATH`; None for a plain path."""
    name, equals, place = str(file).partition("=")
    if not equals or file.exists():
        return None
    if name not in rated:
        raise UnknownNameError("benchmark with ratings", name, rated)
    return published_ratings(name, Path(place))


def _published(file: Path) -> list[Rating] | None:
    answers = published_answers(file)
    if answers is None:
        return None
    return [
        Rating(str(each["edit"]), str(each["method"]), float(str(each["value"])), str(each["rater"]), question)
        for each in answers
        for question in [str(each["question"])]
    ]


def read_choices(file: Path) -> list[PreferredOutcome]:
    """The choices of a file; raises `BadInputError` that lists everything wrong with it, line by line."""
    return _read(file, "choices", CHOICE_FIELDS, _choice, lambda c: (c.edit, *sorted((c.first, c.second)), c.rater))


def read_preferences(file: Path) -> list[JudgePreference]:
    """What a judge said about pairs; raises `BadInputError` that lists everything wrong with the file, line by line."""
    return _read(
        file, "verdicts", VERDICT_FIELDS, _verdict, lambda v: (v.edit, *sorted((v.first, v.second)), v.rater, v.seed)
    )


def _read(
    file: Path,
    what: str,
    fields: Sequence[str],
    make: Callable[[Mapping[str, Any], list[str]], Answer | None],
    identity: Callable[[Answer], tuple[object, ...]],
) -> list[Answer]:
    problems: Problems = []
    answers: list[Answer] = []
    lines: dict[tuple[object, ...], int] = {}
    for line, values in records(file, fields, problems):
        faults: list[str] = []
        one = make(values, faults)
        problems += [(line, fault) for fault in faults]
        if one is None:
            continue
        answers.append(one)
        before = lines.setdefault(identity(one), line)
        if one.rater is not None and before != line:  # without a name it may be another person
            problems.append((line, f"rater {format_value(one.rater)} answered this before, on line {before}"))
    if problems:
        listed = [f"{file.name}:{line}: {text}" for line, text in sorted(problems)]
        raise BadInputError(f"The {what} in '{file}' have problems.", listed)
    if not answers:
        raise BadInputError(f"'{file}' holds no {what}.")
    return answers


def _rating(values: Mapping[str, Any], faults: list[str]) -> Rating | None:
    edit, method = (word(values, name, faults) for name in ("edit", "method"))
    value = number(values, "value", faults)
    rater, question = (word(values, name, faults, needed=False) for name in ("rater", "question"))
    seed = seed_of(values, faults)
    probability = None if blank(values.get("probability")) else number(values, "probability", faults)
    if probability is not None and not 0 < probability <= 1:
        faults.append(f"'probability' must be above 0 and at most 1, got {format_value(values['probability'])}")
    if faults or edit is None or method is None or value is None:
        return None
    return Rating(edit, method, value, rater, question or "", seed, probability)


def _choice(values: Mapping[str, Any], faults: list[str]) -> PreferredOutcome | None:
    edit, first, second = _compared(values, faults)
    chosen, rater = _side(values, "chosen", faults, needed=True), word(values, "rater", faults, needed=False)
    if faults or edit is None or first is None or second is None or chosen is None:
        return None
    return PreferredOutcome(edit, first, second, chosen, rater)


def _verdict(values: Mapping[str, Any], faults: list[str]) -> JudgePreference | None:
    edit, first, second = _compared(values, faults)
    chosen, swapped = (_side(values, name, faults, needed=False) for name in ("chosen", "swapped"))
    rater, seed = word(values, "rater", faults, needed=False), seed_of(values, faults)
    faults += [] if "chosen" in values else ["'chosen' is missing; a judge that gave no answer has null"]
    if faults or edit is None or first is None or second is None:
        return None
    return JudgePreference(edit, first, second, chosen, swapped, "swapped" in values, rater, seed)


def _compared(values: Mapping[str, Any], faults: list[str]) -> tuple[str | None, str | None, str | None]:
    edit, first, second = (word(values, name, faults) for name in ("edit", "first", "second"))
    if first is not None and first == second:
        faults.append(f"'first' and 'second' are the same method, {format_value(first)}")
    return edit, first, second


def _side(values: Mapping[str, Any], name: str, faults: list[str], *, needed: bool) -> Choice | None:
    said = word(values, name, faults, needed=needed)
    if said is not None and said not in SIDES:
        faults.append(f"'{name}' must be first, second or tie, got {format_value(said)}")
    return SIDES.get(said or "")
