"""Outcomes on disk: `<folder>/<edit id>.png`, or JSON lines that name the images.

A line is `{"id": edit id, "image_path": file}` or `{"id": edit id, "absence": why there is no image}`, and may hold
`seed` and `prompt`. A folder that holds `outcomes.jsonl` is read by it.
"""

from __future__ import annotations

import json
import unicodedata
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from editgauge.core.errors import BadInput
from editgauge.core.images import IMAGE_SUFFIXES
from editgauge.core.types import Outcome, id_problem

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

LIST = "outcomes.jsonl"


@dataclass(frozen=True, slots=True)
class Found:
    """The outcomes of one method, one or more for every edit, and what matched no edit."""

    outcomes: tuple[Outcome, ...]
    strangers: tuple[str, ...]

    @property
    def present(self) -> int:
        """How many outcomes have an image."""
        return sum(outcome.image is not None for outcome in self.outcomes)


def find_outcomes(method: str, place: Path, edit_ids: Sequence[str]) -> Found:
    """What a method left at that place for these edits; an edit without anything gets a recorded absence."""
    problem = id_problem(method)
    if problem:
        raise BadInput(f"The method's name cannot be used: {problem}.")
    if place.is_dir():
        listed = place / LIST
        return _from_lines(method, listed, edit_ids) if listed.is_file() else _from_files(method, place, edit_ids)
    if place.is_file():
        return _from_lines(method, place, edit_ids)
    raise BadInput(f"There are no outcomes of '{method}' at '{place}': no such folder or JSONL file.")


def _from_files(method: str, folder: Path, edit_ids: Sequence[str]) -> Found:
    files: dict[str, list[Path]] = {}
    for path in sorted(folder.iterdir()):
        if path.is_file() and path.suffix.lower() in IMAGE_SUFFIXES:
            files.setdefault(_same_letters(path.stem), []).append(path)
    if not files:
        raise BadInput(f"'{folder}' holds no images of '{method}'; expected files such as '{edit_ids[0]}.png'.")
    twice = [f"{paths[0].stem}: {', '.join(p.name for p in paths)}" for paths in files.values() if len(paths) > 1]
    if twice:
        raise BadInput(f"'{folder}' holds more than one image for an edit; keep one of each.", twice)
    outcomes = []
    for edit_id in edit_ids:
        found = files.pop(_same_letters(edit_id), None)
        if found:
            outcomes.append(Outcome(edit_id=edit_id, method=method, image=found[0]))
        else:
            outcomes.append(Outcome(edit_id=edit_id, method=method, absence=f"no file '{edit_id}.png' in the folder"))
    return Found(tuple(outcomes), tuple(paths[0].name for paths in files.values()))


def _same_letters(name: str) -> str:
    """Some file systems store 'é' as two characters; both spellings name the same file."""
    return unicodedata.normalize("NFC", name)


def _from_lines(method: str, listed: Path, edit_ids: Sequence[str]) -> Found:
    wanted = set(edit_ids)
    by_edit: dict[str, list[Outcome]] = {}
    strangers, problems = [], []
    try:
        lines = listed.read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput(f"'{listed}' cannot be read: {error}.") from error
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            outcome = _read_line(method, line, listed.parent)
        except (ValueError, BadInput) as error:
            problems.append(f"{listed.name}:{number}: {error}")
            continue
        if outcome.edit_id in wanted:
            by_edit.setdefault(outcome.edit_id, []).append(outcome)
        else:
            strangers.append(outcome.edit_id)
    problems += _repeated(outcome for outcomes in by_edit.values() for outcome in outcomes)
    if problems:
        raise BadInput(f"'{listed}' has problems.", problems)
    missing = f"no line in {listed.name}"
    outcomes = [
        outcome
        for edit_id in edit_ids
        for outcome in by_edit.get(edit_id, [Outcome(edit_id=edit_id, method=method, absence=missing)])
    ]
    return Found(tuple(outcomes), tuple(strangers))


def _read_line(method: str, line: str, folder: Path) -> Outcome:
    told: Any = json.loads(line)
    if not isinstance(told, dict) or not isinstance(told.get("id"), str):
        raise BadInput('expected {"id": ..., "image_path": ...} or {"id": ..., "absence": ...}')
    unknown = set(told) - {"id", "image_path", "absence", "seed", "prompt"}
    if unknown:
        raise BadInput(f"unknown keys {sorted(unknown)}; known are id, image_path, absence, seed, prompt")
    image = told.get("image_path")
    seed = told.get("seed", 0)
    if not isinstance(seed, int):
        raise BadInput(f"seed must be a whole number, got {seed!r}")
    return Outcome(
        edit_id=told["id"],
        method=method,
        seed=seed,
        image=None if image is None else folder / str(image),
        absence=told.get("absence"),
        prompt=told.get("prompt"),
    )


def _repeated(outcomes: Iterable[Outcome]) -> list[str]:
    counts = Counter((outcome.edit_id, outcome.seed) for outcome in outcomes)
    return [f"edit '{edit_id}', seed {seed} is listed {n} times" for (edit_id, seed), n in counts.items() if n > 1]
