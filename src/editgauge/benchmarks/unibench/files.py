"""Files of UniBench annotations: read with every fault told at once, written so that they read again."""

from __future__ import annotations

import json
import re
from pathlib import Path

from editgauge.benchmarks.unibench.annotations import Annotations, described
from editgauge.benchmarks.unibench.validate import faults_of
from editgauge.core.errors import BadInput
from editgauge.core.files import write_text
from editgauge.core.reading.sources import Faults, read_json

NAME = "unibench"
_NUMBERS = re.compile(r"\[\n\s*-?[0-9][^\[\]{}\"]*\]")
"""JSON writes a line break within a text otherwise, so no text is ever taken for such a list."""


def read_annotations(file: Path) -> Annotations:
    """The annotations of a file; raises `BadInput` that lists every fault with its place."""
    faults = Faults(NAME, file)
    value = read_json(file, faults, dict)
    found = [*faults.problems, *(f"{file.name}: {fault}" for fault in faults_of(value))]
    if found:
        raise BadInput(f"The annotations in '{file}' have {_counted(len(found))}:", found)
    return Annotations.model_validate(value)


def write_annotations(annotations: Annotations, file: Path) -> None:
    """Writes annotations; raises `BadInput` with every fault instead of writing what could not be read again."""
    value = described(annotations)
    found = faults_of(value)
    if found:
        raise BadInput(f"These annotations are not written to '{file}', for they have {_counted(len(found))}:", found)
    write_text(file, _on_one_line(json.dumps(value, ensure_ascii=False, indent=1)) + "\n")


def _on_one_line(text: str) -> str:
    """Readable JSON with every list of numbers on one line: a mask has hundreds."""
    return _NUMBERS.sub(lambda found: re.sub(r"\n\s*", " ", found.group()).replace("[ ", "[").replace(" ]", "]"), text)


def _counted(number: int) -> str:
    return "a fault" if number == 1 else f"{number} faults"
