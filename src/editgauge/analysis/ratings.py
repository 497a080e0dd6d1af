"""Read human ratings and choices, and preferences of judges, from CSV or JSON Lines; report all problems together.

Ratings: edit, method, value; optionally rater, question, seed, probability.
Published ratings in their original files: NAME=PATH, such as `imagenhub=FOLDER`.
Choices: edit, first, second, chosen (first, second or tie); optionally rater.
Preferences of a judge: the same, with swapped, seed and unanswered; see `choice_agreement`.
"""

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
MAX_NUMBER = 1e19
"""Largest rating or seed; sums of squares of larger ones overflow."""


def records(file: Path, fields: Sequence[str], problems: Problems) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """Yield every line with its number; report fields that look like misspelled ones."""
    if file.suffix not in {".csv", ".jsonl"}:
        raise BadInputError(f"'{file}' must end with .csv or .jsonl, so that it is clear how to read it.")
    text = read_text(file)
    checked: set[str] = set(fields)
    for line, values in _csv(text, fields, problems) if file.suffix == ".csv" else _jsonl(text, problems):
        for name in [name for name in values if name not in checked]:
            checked.add(name)
            close = difflib.get_close_matches(name.strip().lower(), fields, n=1, cutoff=0.8)
            problems += [(line, f"there is no field {format_value(name)}; did you mean '{close[0]}'?")] if close else []
        yield line, values


def _csv(text: str, fields: Sequence[str], problems: Problems) -> Iterator[tuple[int, Mapping[str, Any]]]:
    reader = csv.DictReader(io.StringIO(text, newline=""), restkey="")
    required = fields[: fields.index("rater")]
    missing = [name for name in required if name not in (reader.fieldnames or ())]
    if missing:
        problems.append((1, f"the header must name {', '.join(required)}; {', '.join(missing)} is not there"))
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
    for location, values in document.entries():
        if isinstance(values, dict):
            yield location.line, values
        else:
            problems.append((location.line, f"must be a mapping, got {format_value(values)}"))


def parse_seed(values: Mapping[str, Any], faults: list[str]) -> int | None:
    """Parse the optional seed of an outcome."""
    seed = None if is_blank(values.get("seed")) else parse_number(values, "seed", faults)
    if seed is not None and seed != int(seed):
        faults.append(f"'seed' must be a whole number, got {format_value(values['seed'])}")
    return None if seed is None else int(seed)


def is_blank(value: object) -> bool:
    """Tell whether a cell is empty."""
    return value is None or (isinstance(value, str) and not value.strip())


def parse_text(values: Mapping[str, Any], name: str, faults: list[str], *, required: bool = True) -> str | None:
    """Parse a text, or an integer as text: raters and edits are often numbered."""
    value = values.get(name)
    if is_blank(value):
        faults += [f"'{name}' is missing"] if required else []
        return None
    if isinstance(value, str | int) and not isinstance(value, bool):
        return str(value).strip()
    faults.append(f"'{name}' must be a text, got {format_value(value)}")
    return None


def parse_number(values: Mapping[str, Any], name: str, faults: list[str]) -> float | None:
    """Parse a finite number."""
    value = values.get(name)
    if is_blank(value):
        faults.append(f"'{name}' is missing")
        return None
    try:
        parsed = math.nan if isinstance(value, bool) or not isinstance(value, str | int | float) else float(value)
    except (ValueError, OverflowError):
        parsed = math.nan
    if abs(parsed) <= MAX_NUMBER:
        return parsed
    limit = "" if math.isnan(parsed) else f" of at most {MAX_NUMBER:.0e}"
    faults.append(f"'{name}' must be a number{limit}, got {format_value(value)}")
    return None


Choice = Literal["first", "second", "tie"]
SIDES: Mapping[str, Choice] = {"first": "first", "second": "second", "tie": "tie"}
RATING_FIELDS = ("edit", "method", "value", "rater", "question", "seed", "probability")
CHOICE_FIELDS = ("edit", "first", "second", "chosen", "rater")
PREFERENCE_FIELDS = ("edit", "first", "second", "rater", "chosen", "swapped", "seed", "unanswered")


@dataclass(frozen=True, slots=True)
class Rating:
    """One person's rating of one outcome."""

    edit: str
    method: str
    """Empty where the file names none: the run's only method."""
    value: float
    rater: str | None = None
    question: str = ""
    seed: int | None = None
    probability: float | None = None
    """Sampling probability of the outcome; None where equal for all, or unknown."""

    @property
    def about(self) -> tuple[tuple[str, str, int | None], ...]:
        """Return the outcome as the file names it."""
        return ((self.edit, self.method, self.seed),)


@dataclass(frozen=True, slots=True)
class PreferredOutcome:
    """One person's choice between two outcomes of an edit."""

    edit: str
    first: str
    second: str
    choice: Choice
    rater: str | None = None

    @property
    def about(self) -> tuple[tuple[str, str, int | None], ...]:
        """Return both outcomes as the file names them."""
        return (self.edit, self.first, None), (self.edit, self.second, None)


@dataclass(frozen=True, slots=True)
class JudgePreference:
    """A judge's choice between two outcomes of an edit, in one order or both."""

    edit: str
    first: str
    second: str
    choice: Choice | None
    """In the requested order; None without an answer."""
    swapped: Choice | None
    """In the swapped order, still naming the outcome; None without an answer or request."""
    both_orders: bool
    rater: str | None = None
    seed: int | None = None

    @property
    def about(self) -> tuple[tuple[str, str, int | None], ...]:
        """Return both outcomes as the file names them."""
        return (self.edit, self.first, self.seed), (self.edit, self.second, self.seed)

    @property
    def is_answered(self) -> bool:
        """Tell whether every requested order has an answer."""
        return self.choice is not None and (self.swapped is not None or not self.both_orders)


Answer = TypeVar("Answer", Rating, PreferredOutcome, JudgePreference)


def read_ratings(file: Path) -> list[Rating]:
    """Read ratings from a file or `NAME=PATH`; raise `BadInputError` with all problems, line by line."""
    if published := _published(file):
        return published
    return _read(file, "ratings", RATING_FIELDS, _rating, lambda r: (r.edit, r.method, r.seed, r.question, r.rater))


def published_answers(file: Path) -> list[dict[str, object]] | None:
    """Read answers from a benchmark's own files, given as `NAME=PATH`; None for a plain path."""
    name, equals, path = str(file).partition("=")
    if not equals or file.exists():
        return None
    if name not in rated:
        raise UnknownNameError("benchmark with ratings", name, rated)
    return published_ratings(name, Path(path))


def _published(file: Path) -> list[Rating] | None:
    answers = published_answers(file)
    if answers is None:
        return None
    return [
        Rating(str(answer["edit"]), str(answer["method"]), float(str(answer["value"])), str(answer["rater"]), question)
        for answer in answers
        for question in [str(answer["question"])]
    ]


def read_choices(file: Path) -> list[PreferredOutcome]:
    """Read choices from a file; raise `BadInputError` with all problems, line by line."""
    return _read(
        file,
        "choices",
        CHOICE_FIELDS,
        _choice,
        lambda choice: (choice.edit, *sorted((choice.first, choice.second)), choice.rater),
    )


def read_preferences(file: Path) -> list[JudgePreference]:
    """Read a judge's preferences; raise `BadInputError` with all problems, line by line."""
    return _read(
        file,
        "preferences",
        PREFERENCE_FIELDS,
        _preference,
        lambda v: (v.edit, *sorted((v.first, v.second)), v.rater, v.seed),
    )


def _read(
    file: Path,
    kind: str,
    fields: Sequence[str],
    parse: Callable[[Mapping[str, Any], list[str]], Answer | None],
    identity: Callable[[Answer], tuple[object, ...]],
) -> list[Answer]:
    problems: Problems = []
    answers: list[Answer] = []
    lines: dict[tuple[object, ...], int] = {}
    for line, values in records(file, fields, problems):
        faults: list[str] = []
        answer = parse(values, faults)
        problems += [(line, fault) for fault in faults]
        if answer is None:
            continue
        answers.append(answer)
        first_line = lines.setdefault(identity(answer), line)
        if answer.rater is not None and first_line != line:  # without a name it may be another rater
            problems.append((line, f"rater {format_value(answer.rater)} answered this before, on line {first_line}"))
    if problems:
        listed = [f"{file.name}:{line}: {text}" for line, text in sorted(problems)]
        raise BadInputError(f"The {kind} in '{file}' have problems.", listed)
    if not answers:
        raise BadInputError(f"'{file}' holds no {kind}.")
    return answers


def _rating(values: Mapping[str, Any], faults: list[str]) -> Rating | None:
    edit, method = (parse_text(values, name, faults) for name in ("edit", "method"))
    value = parse_number(values, "value", faults)
    rater, question = (parse_text(values, name, faults, required=False) for name in ("rater", "question"))
    seed = parse_seed(values, faults)
    probability = None if is_blank(values.get("probability")) else parse_number(values, "probability", faults)
    if probability is not None and not 0 < probability <= 1:
        faults.append(f"'probability' must be above 0 and at most 1, got {format_value(values['probability'])}")
    if faults or edit is None or method is None or value is None:
        return None
    return Rating(edit, method, value, rater, question or "", seed, probability)


def _choice(values: Mapping[str, Any], faults: list[str]) -> PreferredOutcome | None:
    edit, first, second = _compared(values, faults)
    choice, rater = _side(values, "chosen", faults, required=True), parse_text(values, "rater", faults, required=False)
    if faults or edit is None or first is None or second is None or choice is None:
        return None
    return PreferredOutcome(edit, first, second, choice, rater)


def _preference(values: Mapping[str, Any], faults: list[str]) -> JudgePreference | None:
    edit, first, second = _compared(values, faults)
    choice, swapped = (_side(values, name, faults, required=False) for name in ("chosen", "swapped"))
    rater, seed = parse_text(values, "rater", faults, required=False), parse_seed(values, faults)
    faults += [] if "chosen" in values else ["'chosen' is missing; a judge that gave no answer has null"]
    if faults or edit is None or first is None or second is None:
        return None
    return JudgePreference(edit, first, second, choice, swapped, "swapped" in values, rater, seed)


def _compared(values: Mapping[str, Any], faults: list[str]) -> tuple[str | None, str | None, str | None]:
    edit, first, second = (parse_text(values, name, faults) for name in ("edit", "first", "second"))
    if first is not None and first == second:
        faults.append(f"'first' and 'second' are the same method, {format_value(first)}")
    return edit, first, second


def _side(values: Mapping[str, Any], name: str, faults: list[str], *, required: bool) -> Choice | None:
    side = parse_text(values, name, faults, required=required)
    if side is not None and side not in SIDES:
        faults.append(f"'{name}' must be first, second or tie, got {format_value(side)}")
    return SIDES.get(side or "")
