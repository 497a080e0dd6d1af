"""Attributes of edits: short phrases that tell what a source image shows, and what its edit should show (AugCLIP).

A file has one JSON object on each line, `{"edit_id": "cat-black", "source": ["white cat", …], "target": ["black cat",
…]}`; `by` says who wrote them, `caption` what the source image was said to show. Written once, it serves every run.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from editgauge._util.datasets import read_text
from editgauge._util.documents import read_jsonl
from editgauge._util.fields import format_value
from editgauge._util.files import write_jsonl
from editgauge.errors import BadInputError, UnscorableError
from editgauge.types import Benchmark, Edit

SIDES = ("source", "target")
KEYS = ("edit_id", *SIDES, "by", "caption")
EXTRA = "attributes"
"""Where an edit keeps them, among its extras."""
HOW_TO_GET_THEM = (
    "write them with `editgauge build attributes BENCHMARK --out attributes.jsonl` (--rules, or --judge ADDRESS) and "
    "give `--attributes attributes.jsonl`"
)


@dataclass(frozen=True, slots=True)
class Attributes:
    """Phrases that describe source and target of an edit, the most distinctive first."""

    source: tuple[str, ...]
    target: tuple[str, ...]
    by: str = ""
    """Who wrote them: `rules.v1`, or a judge with its prompts."""
    caption: str = ""
    """What the source image was said to show, where they were made from a caption."""


def of_edit(edit: Edit) -> Attributes:
    """Return the attributes of an edit; raise `UnscorableError` with advice if it has none."""
    stored = edit.extras.get(EXTRA)
    if stored is None:
        raise UnscorableError("not_applicable", f"the edit has no attributes; {HOW_TO_GET_THEM}")
    problems = _problems(stored)
    if problems:
        raise UnscorableError("not_applicable", f"the edit's attributes cannot be used: {'; '.join(problems)}")
    return _attributes(stored)


def attach(benchmark: Benchmark, attributes: Mapping[str, Attributes]) -> Benchmark:
    """Add attributes to the edits of a benchmark."""
    edits = tuple(_with(edit, attributes.get(edit.id)) for edit in benchmark.edits)
    if edits and attributes and not any(edit.id in attributes for edit in edits):
        raise BadInputError(
            f"None of the {len(attributes)} attribute lists belongs to an edit of '{benchmark.name}': they are for "
            f"edits such as '{next(iter(attributes))}', and its edits are called as in '{edits[0].id}'."
        )
    return replace(benchmark, edits=edits)


def read_attributes(file: Path | str) -> dict[str, Attributes]:
    """Read attributes by edit; list all faults."""
    path = Path(file)
    document = read_jsonl(read_text(path), path.name)
    by_edit: dict[str, Attributes] = {}
    for location, entry in document.entries():
        name = entry.get("edit_id") if isinstance(entry, dict) else None
        if not isinstance(entry, dict):
            location.report(f"must be a mapping, got {format_value(entry)}")
        elif not isinstance(name, str) or not name.strip():
            location.report(
                f"'edit_id' must be a text, got {format_value(name)}" if "edit_id" in entry else "'edit_id' is missing"
            )
        elif name in by_edit:
            location.report(f"the edit '{name}' was given before")
        else:
            problems = [f"there is no key '{key}'; there are {', '.join(KEYS)}" for key in entry if key not in KEYS]
            problems += _problems(entry)
            for problem in problems:
                location.report(f"edit '{name}': {problem}")
            by_edit[name] = _attributes(entry) if not problems else Attributes((), ())
    if document.faults:
        raise BadInputError(f"The attributes in '{path}' have problems.", document.problems())
    return by_edit


def write_attributes(file: Path | str, attributes: Mapping[str, Attributes]) -> None:
    """Write attributes as one line per edit."""
    write_jsonl(Path(file), ({"edit_id": name, **_plain(attribute)} for name, attribute in attributes.items()))


def _with(edit: Edit, attributes: Attributes | None) -> Edit:
    return edit if attributes is None else replace(edit, extras={**edit.extras, EXTRA: _plain(attributes)})


def _plain(attributes: Attributes) -> dict[str, Any]:
    lists = {"source": list(attributes.source), "target": list(attributes.target)}
    return lists | {key: value for key in ("by", "caption") if (value := getattr(attributes, key))}


def _attributes(entry: Mapping[str, Any]) -> Attributes:
    source, target = (tuple(" ".join(phrase.split()) for phrase in entry[side]) for side in SIDES)
    return Attributes(source, target, entry.get("by", ""), entry.get("caption", ""))


def _problems(entry: Any) -> list[str]:
    if not isinstance(entry, Mapping):
        return [f"they must be lists by side ({' and '.join(SIDES)}), got {format_value(entry)}"]
    texts = {key: entry[key] for key in ("by", "caption") if key in entry}
    problems = [
        f"'{key}' must be a text, got {format_value(text)}" for key, text in texts.items() if not isinstance(text, str)
    ]
    for side in SIDES:
        problems += _side_problems(side, entry[side]) if side in entry else [f"'{side}' is missing"]
    return problems


def _side_problems(side: str, phrases: Any) -> list[str]:
    if not isinstance(phrases, list | tuple):
        return [f"'{side}' must be a list of texts, got {format_value(phrases)}"]
    if not phrases:
        return [f"'{side}' is empty"]
    return [f"'{side}' holds {format_value(phrase)}, which is no text" for phrase in phrases if not _is_text(phrase)]


def _is_text(phrase: Any) -> bool:
    return isinstance(phrase, str) and bool(phrase.strip())
