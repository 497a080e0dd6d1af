"""YAML and JSON Lines files as plain values with line numbers.

YAML is read from its events, not by a loader: tags and aliases are refused, so nothing is constructed and no small file
can expand into a huge one; nesting is bounded; and plain words follow YAML 1.2 (`on` is not true).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Never

import yaml

PartPath = tuple[str | int, ...]
"""Keys and indices from the top of a file to one of its parts: ("edits", 3, "type")."""

MAX_DEPTH = 30
INTEGER = re.compile(r"[-+]?[0-9]{1,18}")
LEADING_ZERO = re.compile(r"[-+]?0[0-9]+")
DECIMAL = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]{1,3})?")
DECIMAL_OF_YAML_1_1 = re.compile(r"([-+]?[0-9]+\.[0-9]*|\.[0-9]+)([eE][-+][0-9]+)?")
_CONSTANTS = (("null", None), ("true", True), ("false", False))
CONSTANTS: dict[str, bool | None] = {
    "": None,
    "~": None,
    **{spelling: value for word, value in _CONSTANTS for spelling in (word, word.title(), word.upper())},
}


class AmbiguousNumber(float):
    """A number to YAML 1.2 and to JSON that YAML 1.1 reads and writes as text, such as `1e2`.

    A text field takes it as it is written: `fields.Word`.
    """

    def __init__(self, written: str) -> None:
        super().__init__()
        self.written = written


@dataclass(slots=True)
class Lines:
    """The line on which a part begins, and those of the parts inside it."""

    line: int
    parts: dict[str | int, Lines] = field(default_factory=dict)

    def find(self, path: PartPath) -> int:
        """Return the line of a part, or of the nearest enclosing part that has one."""
        lines = self
        for step in path:
            if step not in lines.parts:
                break
            lines = lines.parts[step]
        return lines.line


@dataclass(slots=True)
class Document:
    """Content of a file, the line of each part, and its faults."""

    file: str
    value: Any = None
    lines: Lines = field(default_factory=lambda: Lines(1))
    faults: list[tuple[int, str]] = field(default_factory=list)

    def problems(self) -> list[str]:
        """Return every fault as `file:line: message`, sorted by line."""
        return [f"{self.file}:{line}: {text}" for line, text in sorted(self.faults, key=lambda fault: fault[0])]

    def entries(self) -> Iterator[tuple[Location, Any]]:
        """Yield the values of a JSON Lines file with their locations."""
        for index, value in enumerate(self.value["edits"] if self.value else ()):
            yield Location(self, ("edits", index)), value


@dataclass(frozen=True, slots=True)
class Location:
    """A part of a document, for reporting faults."""

    document: Document
    path: PartPath = ()
    owner: str = ""
    """Name of the enclosing entry in messages: `edit 'cat-black'`."""

    def within(self, *steps: str | int) -> Location:
        """Return the location of a part inside this one."""
        return Location(self.document, (*self.path, *steps), self.owner)

    def report(self, text: str) -> None:
        """Record a fault of this part."""
        self.document.faults.append((self.line, f"{self.owner}: {text}" if self.owner else text))

    @property
    def line(self) -> int:
        """Line on which the part begins."""
        return self.document.lines.find(self.path)


class UnreadablePartError(Exception):
    """A part that cannot be read, so that nothing after it can be read either."""

    def __init__(self, line: int, text: str) -> None:
        self.line = line
        self.text = text
        super().__init__(text)


def read_yaml(text: str, file: str) -> Document:
    """Parse a YAML file; problems are in the `faults` of the document."""
    document = Document(file)
    try:
        events = yaml.parse(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
        document.value, document.lines = _only_document(events, document.faults)
    except UnreadablePartError as error:
        document.faults.append((error.line, error.text))
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
                raise UnreadablePartError(
                    _line(event), "a second YAML document begins here; a benchmark file holds one"
                )
            value, lines = _part(next(events), events, 0, faults)
    return value, lines


def _line(event: Any) -> int:
    return int(event.start_mark.line) + 1


def _part(event: Any, events: Iterator[Any], depth: int, faults: list[tuple[int, str]]) -> tuple[Any, Lines]:
    line = _line(event)
    if isinstance(event, yaml.AliasEvent):
        raise UnreadablePartError(line, f"the alias '*{event.anchor}' is not allowed; write the value out")
    if event.tag is not None:
        raise UnreadablePartError(line, f"the tag '{event.tag}' is not allowed; write a plain value")
    if depth > MAX_DEPTH:
        raise UnreadablePartError(line, f"nested more than {MAX_DEPTH} levels deep")
    if isinstance(event, yaml.ScalarEvent):
        return (_plain(event.value) if event.implicit[0] else event.value), Lines(line)
    if isinstance(event, yaml.SequenceStartEvent):
        return _list(line, events, depth, faults)
    return _mapping(line, events, depth, faults)


def _list(line: int, events: Iterator[Any], depth: int, faults: list[tuple[int, str]]) -> tuple[list[Any], Lines]:
    values: list[Any] = []
    lines = Lines(line)
    while not isinstance(event := next(events), yaml.SequenceEndEvent):
        value, part_lines = _part(event, events, depth + 1, faults)
        if not isinstance(value, int | float):  # a polygon's numbers need no line numbers
            lines.parts[len(values)] = part_lines
        values.append(value)
    return values, lines


def _mapping(
    line: int, events: Iterator[Any], depth: int, faults: list[tuple[int, str]]
) -> tuple[dict[str, Any], Lines]:
    values: dict[str, Any] = {}
    lines = Lines(line)
    while not isinstance(event := next(events), yaml.MappingEndEvent):
        key_line = _line(event)
        if not isinstance(event, yaml.ScalarEvent):
            raise UnreadablePartError(key_line, "a key must be a word, not a list, a mapping or an alias")
        value, part_lines = _part(next(events), events, depth + 1, faults)
        if event.value in values:
            faults.append((key_line, f"the key '{event.value}' was given before, on line {lines.find((event.value,))}"))
            continue
        values[event.value] = value
        lines.parts[event.value] = Lines(key_line, part_lines.parts)
    return values, lines


def _plain(word: str) -> Any:
    """Return the value of an unquoted word.

    >>> [_plain(word) for word in ("12", "-0.5", "on", "true", "~", "12:30", "007", "1e2")]
    [12, -0.5, 'on', True, None, '12:30', '007', 100.0]
    """
    if word in CONSTANTS:
        return CONSTANTS[word]
    if LEADING_ZERO.fullmatch(word):
        return word
    if INTEGER.fullmatch(word):
        return int(word)
    if not DECIMAL.fullmatch(word):
        return word
    return float(word) if DECIMAL_OF_YAML_1_1.fullmatch(word) else AmbiguousNumber(word)


def read_jsonl(text: str, file: str) -> Document:
    """Parse a file with one JSON object, an edit, on each line; blank lines are skipped."""
    document = Document(file)
    edits: list[Any] = []
    lines = Lines(1)
    for number, value in parse_json_lines(text.split("\n"), document):
        lines.parts[len(edits)] = Lines(number)
        edits.append(value)
    if edits:
        document.value, document.lines = {"edits": edits}, Lines(1, {"edits": lines})
    return document


def parse_json_lines(lines: Iterable[str], document: Document) -> Iterator[tuple[int, Any]]:
    """Yield line number and value of each line that is not blank; invalid lines become faults of the document."""
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            value = json.loads(line, object_pairs_hook=_unique_keys, parse_constant=_refuse_constant)
        except json.JSONDecodeError as error:
            document.faults.append((number, f"not valid JSON: {error.msg} (column {error.colno})"))
        except (ValueError, RecursionError) as error:
            document.faults.append((number, f"not valid JSON: {error}"))
        else:
            yield number, value


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values = dict(pairs)
    if len(values) < len(pairs):
        keys = [key for key, _ in pairs]
        raise ValueError(f"the key '{next(key for key in keys if keys.count(key) > 1)}' is given twice")
    return values


def _refuse_constant(word: str) -> Never:
    raise ValueError(f"{word} is not a number")
