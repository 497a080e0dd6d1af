"""Outcomes on disk: a folder in one of the layouts in use, or JSON lines that name the images.

A line is `{"id": edit id, "image_path": file}`, as EvalScope has it too, or `{"id": edit id, "absence": why there is no
image}`. It may hold `seed` and `prompt`, `rewriter` and the original `instruction` where the prompt was rewritten, and
what `editgauge edit` adds, `source_prompt` and `seconds`. An id that no edit has is taken for the benchmark's own key
of an edit, if only one has that key. A folder that holds `outcomes.jsonl` is read by it, unless a layout is requested.
"""

from __future__ import annotations

import json
import os
import re
from array import array
from collections import Counter, defaultdict
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from editgauge._util.disk_list import DiskList
from editgauge._util.files import open_text
from editgauge._util.images import IMAGE_SUFFIXES
from editgauge.errors import BadInputError
from editgauge.methods._layout_files import Fault, escape_name, list_tree, normalize_name
from editgauge.methods._layout_matching import explain_absence, list_faults, recognize
from editgauge.types import Edit, Outcome, id_problem

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

OUTCOMES_FILE = "outcomes.jsonl"
KEYS = ("id", "image_path", "absence", "seed", "prompt", "source_prompt", "instruction", "rewriter", "seconds")
GENERATED_FILES = {OUTCOMES_FILE, "method.json"}
"""What `editgauge edit` writes next to the outcomes."""


class ContainmentCheck:
    """Tells whether a file is in a folder, links followed; each folder of files is resolved once."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder.resolve()
        self._parents: dict[Path, Path] = {}

    def __call__(self, file: Path) -> bool:
        """Whether the file itself, wherever links lead, is in the folder or below it."""
        try:
            if file.is_symlink() or file.name in {"", ".", ".."}:
                return file.resolve().is_relative_to(self._folder)
            if file.parent not in self._parents:
                self._parents[file.parent] = file.parent.resolve()
        except (OSError, ValueError, RuntimeError):  # a circle of links, a name with a null byte: nothing to read there
            return False
        return self._parents[file.parent].is_relative_to(self._folder)


class OutcomeCounts(NamedTuple):
    """Numbers of outcomes with an image, without one, and of seeds."""

    present: int
    absent: int
    seeds: int


@dataclass(frozen=True)
class FoundOutcomes:
    """The outcomes of one method, one or more for every edit, and what is not as it should be."""

    outcomes: Sequence[Outcome]
    """In the order of the edits, those of one edit together."""
    unexpected: tuple[str, ...]
    """Files, or ids in a list, that match no edit."""
    layout: str = "jsonl"
    """The name of the layout, or `jsonl` for a list."""
    how: str = "JSONL list"
    faults: tuple[Fault, ...] = ()
    rivals: tuple[str, ...] = ()
    """Names of layouts by which as many outcomes are found, in other files."""

    @cached_property
    def counts(self) -> OutcomeCounts:
        """Numbers of outcomes and seeds."""
        present, seeds = 0, set()
        for outcome in self.outcomes:
            if outcome.image is not None:
                present += 1
                seeds.add(outcome.seed)
        return OutcomeCounts(present, len(self.outcomes) - present, len(seeds))

    @cached_property
    def rewriters(self) -> Mapping[str, int]:
        """Number of outcomes by who rewrote their instructions."""
        return Counter(outcome.rewriter for outcome in self.outcomes if outcome.rewriter)

    @property
    def present(self) -> int:
        """Number of outcomes with an image."""
        return self.counts.present

    def sentence(self, method: str) -> str:
        """Describe the result: `mine: found 643 of 646 outcomes, EditVal layout, 3 missing`."""
        kinds = Counter(fault.kind for fault in self.faults)
        _, absent, seeds = self.counts
        first = next((fault for fault in self.faults if fault.kind == "misspelled"), None)
        parts = [
            f"{method}: found {self.present} of {len(self.outcomes)} outcomes",
            f"{seeds} seeds" if seeds > 1 else "",
            self.how,
            f"{absent} missing" if absent else "",
            *(f"{n} with a prompt rewritten by {name}" for name, n in self.rewriters.items()),
            f"{n} without every seed" if (n := kinds["missing_seed"]) else "",
            f"{n} in other capitals" if (n := kinds["capitals"]) else "",
            f"{n} second files not used" if (n := kinds["duplicate"]) else "",
            f"{n} that match no edit ({', '.join(self.unexpected[:2])}{', …' * (n > 2)})"
            if (n := len(self.unexpected))
            else "",
            f"{n} links or folders not followed" if (n := kinds["link"] + kinds["unlisted"]) else "",
        ]
        guess = f"; '{first.where}' {first.detail}" if first else ""
        rivals = "".join(f"; `layout='{name}'` finds as many, in other files" for name in self.rivals)
        return ", ".join(part for part in parts if part) + guess + rivals


def find_outcomes(
    method: str, path: Path, edits: Sequence[Edit], layout: str | None = None, *, allow_outside: bool = False
) -> FoundOutcomes:
    """Find a method's outcomes for these edits; an edit without one gets a recorded absence.

    Args:
        method: its name, with the variant if there is one: `imagic[eta=0.8]`.
        path: its folder, or a JSONL list.
        edits: the benchmark's.
        layout: how the folder is laid out (`editgauge list layouts`); recognized when not given. A list needs none.
        allow_outside: whether a list may name images outside its own folder; a list from others could name any file.

    """
    problem = id_problem(method)
    if problem:
        raise BadInputError(f"The method's name cannot be used: {problem}.")
    if path.is_dir():
        listed = path / OUTCOMES_FILE
        if layout is None and listed.is_file():
            return _from_lines(method, listed, edits, allow_outside=allow_outside)
        return _from_files(method, path, edits, layout)
    if path.suffix.lower() in IMAGE_SUFFIXES:
        raise BadInputError(f"'{path}' is one picture; outcomes of '{method}' are a folder of them, or a JSONL file.")
    if path.is_file():
        return _from_lines(method, path, edits, allow_outside=allow_outside)
    raise BadInputError(f"There are no outcomes of '{method}' at '{path}': no such folder or JSONL file.")


def _from_files(method: str, folder: Path, edits: Sequence[Edit], layout: str | None) -> FoundOutcomes:
    tree = list_tree(folder)
    best, rivals = recognize(method, edits, tree, layout)
    files: dict[str, list[tuple[int, str]]] = defaultdict(list)
    for (edit_id, seed), offer in sorted(best.used.items()):
        files[edit_id].append((seed, offer.file))
    outcomes: DiskList[Outcome] = DiskList()
    for edit in edits:
        for seed, file in files.get(edit.id, ()):
            outcomes.append(Outcome(edit_id=edit.id, method=method, seed=seed, image=folder / file))
        if edit.id not in files:
            why = explain_absence(best.layout, best.layout.expected_paths(edit))
            outcomes.append(Outcome(edit_id=edit.id, method=method, absence=why))
    rows = [fault for fault in list_faults(best, edits, tree) if fault.where not in GENERATED_FILES]
    unexpected = tuple(fault.where for fault in rows if fault.kind in {"unmatched", "misspelled"})
    how = f"{best.layout.title} layout"
    return FoundOutcomes(outcomes.settled(), unexpected, best.layout.name, how, tuple(rows), tuple(rivals))


def _from_lines(method: str, listed: Path, edits: Sequence[Edit], *, allow_outside: bool) -> FoundOutcomes:
    """Read a list of outcomes in the order of the edits, without loading all of them into memory."""
    index_of = {**_index_by_key(edits), **{normalize_name(edit.id): i for i, edit in enumerate(edits)}}
    outcomes: DiskList[Outcome] = DiskList()
    indices = array("q")
    unexpected: list[str] = []
    problems: list[str] = []
    is_inside = ContainmentCheck(listed.parent)
    for outcome in _read_outcomes(method, listed, problems):
        if outcome.image is not None and not allow_outside and not is_inside(outcome.image):
            problems.append(
                f"edit '{escape_name(outcome.edit_id)}': the image '{escape_name(str(outcome.image))}' is outside "
                "the list's folder; move it there, or pass `allow_outside=True` if you trust the list"
            )
        index = index_of.get(normalize_name(outcome.edit_id))
        if index is None:
            unexpected.append(outcome.edit_id)
        else:
            indices.append(index)
            same = outcome.edit_id == edits[index].id  # letters may be spelled in two ways, and the edit's own counts
            outcomes.append(outcome if same else replace(outcome, edit_id=edits[index].id))
    present = set(indices)
    for index in (index for index in range(len(edits)) if index not in present):
        indices.append(index)
        outcomes.append(Outcome(edit_id=edits[index].id, method=method, absence=f"no line in {listed.name}"))
    in_order = outcomes.in_order(sorted(range(len(indices)), key=indices.__getitem__))
    problems += _repeated(in_order)
    if problems:
        raise BadInputError(f"'{listed}' has problems.", problems)
    rows = [Fault("missing", outcome.edit_id, outcome.absence) for outcome in in_order if outcome.absence]
    rows += [
        Fault("unmatched", escape_name(edit_id), f"is in {listed.name}, and no edit of the benchmark")
        for edit_id in unexpected
    ]
    return FoundOutcomes(in_order, tuple(map(escape_name, unexpected)), faults=tuple(rows))


def _index_by_key(edits: Sequence[Edit]) -> dict[str, int]:
    """Return the index of the edit of each unique benchmark key."""
    keys = [normalize_name(str(edit.extras.get("key") or "").strip()) for edit in edits]
    counts = Counter(keys)
    return {key: index for index, key in enumerate(keys) if key and counts[key] == 1}


def _read_outcomes(method: str, listed: Path, problems: list[str]) -> Iterator[Outcome]:
    """Yield the outcomes of a list in file order; append problems of invalid lines to `problems`."""
    try:
        with open_text(listed, "utf-8-sig") as lines:
            for number, line in enumerate(lines, start=1):
                if not line.strip():
                    continue
                try:
                    yield _read_line(method, line.removesuffix("\n"), listed.parent)
                except (ValueError, RecursionError, BadInputError) as error:
                    problems.append(f"{listed.name}:{number}: {error}")
    except (OSError, UnicodeDecodeError) as error:
        raise BadInputError(f"'{listed}' cannot be read: {error}.") from error


def _read_line(method: str, line: str, folder: Path) -> Outcome:
    entry: Any = json.loads(line)
    if not isinstance(entry, dict) or not isinstance(entry.get("id"), str):
        raise BadInputError('expected {"id": ..., "image_path": ...} or {"id": ..., "absence": ...}')
    unknown = set(entry) - set(KEYS)
    if unknown:
        raise BadInputError(f"unknown keys {sorted(unknown)}; known are {', '.join(KEYS)}")
    for key, value in entry.items():
        if key not in {"seed", "seconds"} and value is not None:
            _check_text(key, value)
    image, seed = entry.get("image_path"), entry.get("seed", 0)
    if not isinstance(seed, int) or isinstance(seed, bool) or not -(2**63) <= seed < 2**63:
        raise BadInputError(f"seed must be a whole number of at most 64 bits, got {escape_name(str(seed))}")
    return Outcome(
        edit_id=entry["id"],
        method=method,
        seed=seed,
        image=None if image is None else folder / image,
        absence=entry.get("absence"),
        prompt=entry.get("prompt"),
        instruction=entry.get("instruction"),
        rewriter=entry.get("rewriter"),
    )


def _check_text(key: str, value: object) -> None:
    """Reject a value that is no text; it would fail later, when scores are written."""
    if not isinstance(value, str) or (key == "image_path" and not value):
        raise BadInputError(
            f"{key} must be {'a path' if key == 'image_path' else 'text'}, got {escape_name(str(value)) or 'none'}"
        )
    if any(0xD800 <= ord(sign) <= 0xDFFF for sign in value):
        raise BadInputError(f"{key} holds half a character: {value[:60]!a}")


def _repeated(outcomes: Iterable[Outcome]) -> list[str]:
    """Return the keys that are listed more than once; outcomes of one edit are adjacent."""
    problems = []
    for edit_id, these in groupby(outcomes, key=lambda outcome: outcome.edit_id):
        counts = Counter(outcome.seed for outcome in these)
        problems += [f"edit '{edit_id}', seed {seed} is listed {n} times" for seed, n in counts.items() if n > 1]
    return problems


WILDCARD = "/*"
SKIPPED_FOLDERS = {"input"}
"""ImagenHub keeps the sources there, next to the methods."""
_NUMBER = re.compile(r"(?<![\w.])(-?[0-9]{1,15}(?:\.[0-9]{1,15})?(?:e-?[0-9]{1,2})?)(?![\w.])", re.ASCII)
_METHOD = re.compile(r"[^\[\]=]+(\[[^\[\]]+\])?")


def expand_folders(texts: Iterable[str]) -> list[str]:
    """Expand `FOLDER/*` in `outcomes` to one `NAME=FOLDER` per method in the folder."""
    written: list[str] = []
    for text in [texts] if isinstance(texts, str) else texts:
        folder = Path(text.removesuffix(WILDCARD) or os.sep).expanduser()
        if not text.endswith(WILDCARD):
            written.append(text)
        elif "=" in text and not folder.is_dir():
            stars = text.partition("=")[2]
            raise BadInputError(f"'{stars}' stands for several methods and takes no name: `outcomes='{stars}'`.")
        else:
            written += [f"{name}={path}" for name, path in discover(folder).items()]
    return written


def discover(folder: Path) -> dict[str, Path]:
    """Return one folder per method by name; hidden folders and ImagenHub's `input` are skipped.

    A sub-folder that is a link, or whose name cannot name a method, is an error rather than a method that is missing.
    """
    try:
        with os.scandir(folder) as entries:
            visible = sorted((entry for entry in entries if not entry.name.startswith(".")), key=_in_order)
    except OSError as error:
        raise BadInputError(f"'{folder}' cannot be listed: {error.strerror or error}.") from error
    methods = [entry for entry in visible if entry.is_dir() and entry.name not in SKIPPED_FOLDERS]
    problems = [f"{escape_name(entry.name)}: {why}" for entry in methods if (why := _problem(entry))]
    if problems:
        problems.append("give such a folder by name: `outcomes='NAME=FOLDER'`")
        raise BadInputError(f"'{folder}' holds folders that cannot be taken as methods.", problems)
    if not methods:
        raise BadInputError(f"'{folder}' holds no sub-folders; 'FOLDER/*' takes one for each method.")
    return {entry.name: folder / entry.name for entry in methods}


def _in_order(entry: os.DirEntry[str]) -> tuple[str, list[tuple[float, str]], str]:
    """Return a sort key: by name, then by the numbers of a variant, so that `[steps=5]` precedes `[steps=10]`."""
    method, _, options = entry.name.partition("[")
    parts = _NUMBER.split(options.removesuffix("]"))
    return method, [(float(part), "") if index % 2 else (0.0, part) for index, part in enumerate(parts)], entry.name


def _problem(entry: os.DirEntry[str]) -> str | None:
    if entry.is_symlink():
        return "a link, which is not followed"
    if not _METHOD.fullmatch(entry.name):
        return "a method is called NAME or NAME[VARIANT]"
    return id_problem(entry.name)
