"""Attributes of a benchmark while they are written: one file per seed, kept whatever stops the work."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from editgauge.benchmarks.attributes import Attributes, read_attributes, write_attributes
from editgauge.core.errors import BadInput, CannotTell
from editgauge.core.progress import progress, say
from editgauge.core.types import Edit
from editgauge.judges import NoAnswer
from editgauge.judges.cost import CallBound


@dataclass(frozen=True, slots=True)
class Lacking:
    """An edit without attributes, and why."""

    edit: str
    seed: int
    fault: str
    """A word of a closed list: a judge's fault, or a reason for having no score."""
    detail: str


@dataclass(frozen=True, slots=True)
class Written:
    """What `attributes` left behind."""

    files: tuple[Path, ...]
    """One per seed."""
    made: int
    kept: int
    lacking: tuple[Lacking, ...]
    asking: CallBound | None = None
    """Of a dry run: what the judge can be asked at most."""

    @property
    def faults(self) -> Counter[str]:
        """How many edits lack attributes for each fault."""
        return Counter(each.fault for each in self.lacking)


class AttributeFiles:
    """The files of a benchmark's attributes while they are filled."""

    def __init__(self, out: Path, edits: Sequence[Edit], seeds: int, by: str, quiet: bool) -> None:
        self._files = [seed_file(out, seed) for seed in range(seeds)]
        self._found = [_earlier(file, by) for file in self._files]
        self._edits = edits
        self._quiet = quiet
        self._made = 0
        self._kept = sum(edit.id in known for edit in edits for known in self._found)
        self._lacking: list[Lacking] = []
        self.out = out
        self.by = by

    @contextmanager
    def saved(self) -> Iterator[None]:
        """Shows progress; whatever happens, what was found until then is written."""
        total = len(self._edits) * len(self._files)
        try:
            with progress("attributes", total, quiet=self._quiet, done=self._kept) as self._advance:
                yield
        finally:
            for file, attributes in zip(self._files, self._found, strict=True):
                order = [edit.id for edit in self._edits if edit.id in attributes]
                others = [name for name in attributes if name not in set(order)]
                write_attributes(file, {name: attributes[name] for name in (*order, *others)})

    def left(self) -> list[tuple[Edit, int]]:
        """What is to be done: edits with the seeds for which there is nothing yet."""
        return [(edit, seed) for seed, known in enumerate(self._found) for edit in self._edits if edit.id not in known]

    def take(self, edit: Edit, seed: int, make: partial[Attributes]) -> None:
        """Adds what is made, or why it cannot be."""
        try:
            self.add(edit, seed, make())
        except CannotTell as unable:
            self.lack(edit, seed, unable)

    def add(self, edit: Edit, seed: int, attributes: Attributes) -> None:
        """Adds the attributes of an edit."""
        self._found[seed][edit.id] = attributes
        self._made += 1
        self._advance()

    def lack(self, edit: Edit, seed: int, unable: CannotTell) -> None:
        """Counts an edit for which there are none."""
        fault = unable.fault if isinstance(unable, NoAnswer) else unable.reason
        self._lacking.append(Lacking(edit.id, seed, fault, unable.detail))
        self._advance()

    def written(self) -> Written:
        """What came of it, as printed."""
        done = Written(tuple(self._files), self._made, self._kept, tuple(self._lacking))
        files = ", ".join(str(file) for file in self._files)
        summary = f"{done.made} written, {done.kept} kept, {len(done.lacking)} lacking"
        say(f"{self.by}: {summary}, in {files}", quiet=self._quiet)
        for fault, count in sorted(done.faults.items()):
            first = next(each for each in done.lacking if each.fault == fault)
            say(f"  {fault}: {count}, for example {first.edit}: {first.detail}", quiet=self._quiet)
        return done


def _earlier(file: Path, by: str) -> dict[str, Attributes]:
    """What a file holds already; attributes by someone else are not mixed with these."""
    if not file.exists():
        return {}
    attributes = read_attributes(file)
    others = sorted({each.by or "an unnamed source" for each in attributes.values() if each.by != by})
    if others:
        raise BadInput(f"'{file}' holds attributes by others than '{by}'; choose another --out.", others)
    return attributes


def seed_file(out: Path, seed: int) -> Path:
    """The file of one seed.

    >>> seed_file(Path("attributes.jsonl"), 0).name, seed_file(Path("attributes.jsonl"), 2).name
    ('attributes.jsonl', 'attributes.seed2.jsonl')
    """
    return out.with_name(f"{out.stem}.seed{seed}{out.suffix}") if seed else out
