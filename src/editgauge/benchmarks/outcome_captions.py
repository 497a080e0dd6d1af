"""Difference captions of single outcomes: a machine's, and what people made of it.

The file has a line per outcome: `{"edit": …, "method": …, "seed": 0, "caption": …, "by": …, "people": [ … ]}`.
`editgauge judges captions` writes it, `study create --captions` shows the captions to people, and `run --captions`
scores with them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from editgauge._util.datasets import read_text
from editgauge._util.documents import read_jsonl
from editgauge._util.files import write_jsonl
from editgauge.errors import BadInputError
from editgauge.types import Benchmark, Edit, Outcome

EXTRA = "outcome_captions"
"""Where an edit holds them, by method and seed."""
FIELDS = ("edit", "method", "seed", "caption", "by", "people")


@dataclass(frozen=True, slots=True)
class OutcomeCaption:
    """Difference captions of one outcome."""

    caption: str
    """By a machine; empty where it wrote none."""
    by: str = ""
    people: tuple[str, ...] = ()
    """The caption as people corrected and completed it, one for each of them."""


Captions = dict[tuple[str, str, int], OutcomeCaption]
"""By edit, method and seed."""


def caption_of(edit: Edit, outcome: Outcome) -> OutcomeCaption | None:
    """Return the captions of an outcome, if it has any."""
    entry = edit.extras.get(EXTRA, {}).get(_key(outcome.method, outcome.seed))
    return OutcomeCaption(entry["caption"], entry["by"], tuple(entry["people"])) if entry else None


def attach_captions(benchmark: Benchmark, captions: Mapping[tuple[str, str, int], OutcomeCaption]) -> Benchmark:
    """Add captions to the edits of a benchmark; raise `BadInputError` if none matches."""
    by_edit: dict[str, dict[str, Any]] = defaultdict(dict)
    for (edit, method, seed), caption in captions.items():
        entry = {"caption": caption.caption, "by": caption.by, "people": list(caption.people)}
        by_edit[edit][_key(method, seed)] = entry
    ids = {edit.id for edit in benchmark.edits}
    if captions and not ids & by_edit.keys():
        raise BadInputError(
            f"None of the {len(captions)} captions belongs to an edit of '{benchmark.name}': they are for edits such "
            f"as '{next(iter(by_edit))}'."
        )
    edits = [
        replace(edit, extras={**edit.extras, EXTRA: by_edit[edit.id]}) if edit.id in by_edit else edit
        for edit in benchmark.edits
    ]
    return replace(benchmark, edits=tuple(edits))


def read_captions(file: str | Path) -> Captions:
    """Read captions; list all faults."""
    path = Path(file)
    if not path.is_file():
        raise BadInputError(f"There is no file '{path}' with captions; `editgauge judges captions` writes one.")
    document = read_jsonl(read_text(path), path.name)
    captions: Captions = {}
    problems = list(document.problems()) if document.faults else []
    for number, (_, entry) in enumerate(document.entries(), start=1):
        fault = _fault(entry)
        if fault:
            problems.append(f"line {number}: {fault}")
            continue
        key = entry["edit"], entry["method"], entry.get("seed", 0)
        if key in captions:
            problems.append(f"line {number}: the outcome {key[0]}, {key[1]}, seed {key[2]} was given before")
        people = tuple(" ".join(item.split()) for item in entry.get("people", []) if item.strip())
        captions[key] = OutcomeCaption(" ".join(entry.get("caption", "").split()), entry.get("by", ""), people)
    if problems:
        raise BadInputError(f"The captions in '{path}' have problems.", problems[:20])
    return captions


def write_captions(file: str | Path, captions: Mapping[tuple[str, str, int], OutcomeCaption]) -> None:
    """Write captions as one line per outcome."""
    lines = [
        {
            "edit": edit,
            "method": method,
            "seed": seed,
            "caption": caption.caption,
            "by": caption.by,
            "people": [*caption.people],
        }
        for (edit, method, seed), caption in captions.items()
    ]
    write_jsonl(Path(file), lines)


def _key(method: str, seed: int) -> str:
    return f"{method}/{seed}"


def _fault(entry: Any) -> str | None:
    if not isinstance(entry, dict):
        return "must be a mapping"
    strange = [key for key in entry if key not in FIELDS]
    if strange:
        return f"there is no field '{strange[0]}'; there are {', '.join(FIELDS)}"
    texts = [name for name in ("edit", "method") if not isinstance(entry.get(name), str)]
    texts += [name for name in ("caption", "by") if not isinstance(entry.get(name, ""), str)]
    if texts:
        return f"'{texts[0]}' must be a text"
    if type(entry.get("seed", 0)) is not int:
        return "'seed' must be a whole number"
    people = entry.get("people", [])
    if not isinstance(people, list) or not all(isinstance(person, str) for person in people):
        return "'people' must be a list of texts"
    return None
