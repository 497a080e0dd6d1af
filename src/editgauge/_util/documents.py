"""Benchmark files as plain values that remember on which line each part stands.

YAML is read from its events, not by a loader: tags and aliases are refused, so nothing is constructed and no small file
can unfold into a huge one; nesting is bounded; and a plain word means what it says (`on` is not true, as in YAML 1.2).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Never

import yaml

Place = tuple[str | int, ...]
"""The way from the top of a file to one of its parts: ("edits", 3, "type")."""

DEEPEST = 30
WHOLE_NUMBER = re.compile(r"[-+]?[0-9]{1,18}")
LEADING_ZERO = re.compile(r"[-+]?0[0-9]+")
DECIMAL = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]{1,3})?")
DECIMAL_OF_YAML_1_1 = re.compile(r"([-+]?[0-9]+\.[0-9]*|\.[0-9]+)([eE][-+][0-9]+)?")
_NAMED = (("null", None), ("true", True), ("false", False))
WORDS: dict[str, bool | None] = {
    "": None,
    "~": None,
    **{spelled: value for word, value in _NAMED for spelled in (word, word.title(), word.upper())},
}


class AmbiguousNumber(float):
    """A number to YAML 1.2 and to JSON that YAML 1.1 reads and writes as text, such as `1e2`.

    A field of text takes it as it is written: `fields.Word`.
    """

    def __init__(self, written: str) -> None:
        super().__init__()
        self.written = written


@dataclass(slots=True)
class Lines:
    """The line on which a part begins, and those of the parts inside it."""

    line: int
    parts: dict[str | int, Lines] = field(default_factory=dict)

    def find(self, place: Place) -> int:
        """The line of that part, or of the nearest known part around it."""
        here = self
        for step in place:
            if step not in here.parts:
                break
            here = here.parts[step]
        return here.line


@dataclass(slots=True)
class Document:
    """What a benchmark file says, where, and what is wrong with it."""

    file: str
    value: Any = None
    lines: Lines = field(default_factory=lambda: Lines(1))
    faults: list[tuple[int, str]] = field(default_factory=list)

    def problems(self) -> list[str]:
        """Every fault as `file:line: what is wrong`, in the order of the lines."""
        return [f"{self.file}:{line}: {text}" for line, text in sorted(self.faults, key=lambda fault: fault[0])]

    def entries(self) -> Iterator[tuple[Spot, Any]]:
        """The values of a file with one on each line, and where they stand."""
        for place, value in enumerate(self.value["edits"] if self.value else ()):
            yield Spot(self, ("edits", place)), value


@dataclass(frozen=True, slots=True)
class Spot:
    """A part of a document, at which something can be reported."""

    document: Document
    place: Place = ()
    owner: str = ""
    """Whose part it is, in the reader's words: `edit 'cat-black'`."""

    def within(self, *steps: str | int) -> Spot:
        """A part inside this one."""
        return Spot(self.document, (*self.place, *steps), self.owner)

    def report(self, text: str) -> None:
        """Notes that something is wrong here."""
        self.document.faults.append((self.line, f"{self.owner}: {text}" if self.owner else text))

    @property
    def line(self) -> int:
        """The line on which it begins."""
        return self.document.lines.find(self.place)


class UnreadablePart(Exception):
    """A part that cannot be read at all, so that nothing after it can be either."""

    def __init__(self, line: int, text: str) -> None:
        self.line = line
        self.text = text
        super().__init__(text)


def read_yaml(text: str, file: str) -> Document:
    """The values and lines of a YAML file; its `faults` say what could not be read."""
    document = Document(file)
    try:
        events = yaml.parse(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
        document.value, document.lines = _only_document(events, document.faults)
    except UnreadablePart as refused:
        document.faults.append((refused.line, refused.text))
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        document.faults.append((mark.line + 1 if mark else 1, f"not valid YAML: {error.problem or error.context}"))
    except yaml.reader.ReaderError as error:
        line = text.encode()[: error.position].count(b"\n") + 1
        document.faults.append((line, f"not valid YAML: {error.reason}"))
    return document


def _only_document(events: Iterator[Any], faults: list[tuple[int, str]]) -> tuple[Any, Lines]:
    value: Any = None
    lines = Lines(1)
    for event in events:
        if isinstance(event, yaml.DocumentStartEvent):
            if lines.parts or value is not None:
                raise UnreadablePart(_line(event), "a second YAML document begins here; a benchmark file holds one")
            value, lines = _part(next(events), events, 0, faults)
    return value, lines


def _line(event: Any) -> int:
    return int(event.start_mark.line) + 1


def _part(event: Any, events: Iterator[Any], depth: int, faults: list[tuple[int, str]]) -> tuple[Any, Lines]:
    line = _line(event)
    if isinstance(event, yaml.AliasEvent):
        raise UnreadablePart(line, f"the alias '*{event.anchor}' is not allowed; write the value out")
    if event.tag is not None:
        raise UnreadablePart(line, f"the tag '{event.tag}' is not allowed; write a plain value")
    if depth > DEEPEST:
        raise UnreadablePart(line, f"nested more than {DEEPEST} levels deep")
    if isinstance(event, yaml.ScalarEvent):
        return (_plain(event.value) if event.implicit[0] else event.value), Lines(line)
    if isinstance(event, yaml.SequenceStartEvent):
        return _list(line, events, depth, faults)
    return _mapping(line, events, depth, faults)


def _list(line: int, events: Iterator[Any], depth: int, faults: list[tuple[int, str]]) -> tuple[list[Any], Lines]:
    values: list[Any] = []
    lines = Lines(line)
    while not isinstance(event := next(events), yaml.SequenceEndEvent):
        value, place = _part(event, events, depth + 1, faults)
        if not isinstance(value, int | float):  # a polygon's numbers need no lines of their own
            lines.parts[len(values)] = place
        values.append(value)
    return values, lines


def _mapping(
    line: int, events: Iterator[Any], depth: int, faults: list[tuple[int, str]]
) -> tuple[dict[str, Any], Lines]:
    values: dict[str, Any] = {}
    lines = Lines(line)
    while not isinstance(event := next(events), yaml.MappingEndEvent):
        here = _line(event)
        if not isinstance(event, yaml.ScalarEvent):
            raise UnreadablePart(here, "a key must be a word, not a list, a mapping or an alias")
        value, place = _part(next(events), events, depth + 1, faults)
        if event.value in values:
            faults.append((here, f"the key '{event.value}' was given before, on line {lines.find((event.value,))}"))
            continue
        values[event.value] = value
        lines.parts[event.value] = Lines(here, place.parts)
    return values, lines


def _plain(word: str) -> Any:
    """The value of an unquoted word.

    >>> [_plain(word) for word in ("12", "-0.5", "on", "true", "~", "12:30", "007", "1e2")]
    [12, -0.5, 'on', True, None, '12:30', '007', 100.0]
    """
    if word in WORDS:
        return WORDS[word]
    if LEADING_ZERO.fullmatch(word):
        return word
    if WHOLE_NUMBER.fullmatch(word):
        return int(word)
    if not DECIMAL.fullmatch(word):
        return word
    return float(word) if DECIMAL_OF_YAML_1_1.fullmatch(word) else AmbiguousNumber(word)


def read_jsonl(text: str, file: str) -> Document:
    """The same for a file with one JSON object, an edit, on each line; blank lines are skipped."""
    document = Document(file)
    edits: list[Any] = []
    places = Lines(1)
    for number, value in each_value(text.split("\n"), document):
        places.parts[len(edits)] = Lines(number)
        edits.append(value)
    if edits:
        document.value, document.lines = {"edits": edits}, Lines(1, {"edits": places})
    return document


def each_value(lines: Iterable[str], document: Document) -> Iterator[tuple[int, Any]]:
    """The number of each line that is not blank, and its value; notes in the document which could not be read."""
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            value = json.loads(line, object_pairs_hook=_once, parse_constant=_no_number)
        except json.JSONDecodeError as error:
            document.faults.append((number, f"not valid JSON: {error.msg} (column {error.colno})"))
        except (ValueError, RecursionError) as error:
            document.faults.append((number, f"not valid JSON: {error}"))
        else:
            yield number, value


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values = dict(pairs)
    if len(values) < len(pairs):
        keys = [key for key, _ in pairs]
        raise ValueError(f"the key '{next(key for key in keys if keys.count(key) > 1)}' is given twice")
    return values


def _no_number(word: str) -> Never:
    raise ValueError(f"{word} is not a number")
