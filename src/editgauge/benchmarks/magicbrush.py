"""MagicBrush: instructions by people, with masks and outcomes they accepted (Zhang et al. 2023)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from editgauge._util.datasets import Faults, Ids, find_data_file, read_json
from editgauge._util.fields import format_value
from editgauge._util.images import ImageFile
from editgauge._util.text import format_count
from editgauge.benchmarks._format import Erased
from editgauge.benchmarks.image_store import ImageFolder
from editgauge.edit_types import UNSPECIFIED
from editgauge.instructions.parsed import complete_edit
from editgauge.types import Benchmark, Edit

NEEDED = "the folder `dev` or `test` of MagicBrush, with edit_sessions.json and images/"
PUBLISHED = {"dev": (528, 266), "test": (1053, 535)}
"""Edits and sessions of each split, by the authors."""
LICENSE = "CC-BY-4.0; the authors ask not to redistribute the unpacked test files"


def load(data: Path | None = None) -> Benchmark:
    """MagicBrush, each turn on the picture of the set; --data its folder `dev` or `test`.

    The set gives no edit types: an instruction that names one unambiguously has it, others are `unspecified`.
    """
    return _load("magicbrush", data, is_chained=False)


def load_multiturn(data: Path | None = None) -> Benchmark:
    """MagicBrush, each turn on the method's own last outcome; --data as for `magicbrush`."""
    return _load("magicbrush-multiturn", data, is_chained=True)


def _load(name: str, data: Path | None, *, is_chained: bool) -> Benchmark:
    edits, sessions = read_sessions(name, data, is_chained=is_chained)
    guessed = sum(edit.type != "unspecified" for edit in edits)
    types = f"edit types guessed from the instruction for {guessed}, unspecified for {len(edits) - guessed}"
    return Benchmark(name, edits, f"{session_summary(edits, sessions)}; {types}", LICENSE)


def read_sessions(name: str, data: Path | None, *, is_chained: bool = False) -> tuple[tuple[Edit, ...], int]:
    """All turns as edits, and how many sessions they are from; every fault is reported at once."""
    file = find_data_file(name, data, "edit_sessions.json", NEEDED)
    faults = Faults(name, file)
    sessions = read_json(file, faults, dict)
    image_folder = ImageFolder(file.parent / "images", faults)
    captions = _captions(file.with_name("global_descriptions.json"), faults)
    local = _captions(file.with_name("local_descriptions.json"), faults)
    reader = _Reader(image_folder, faults, captions, local, Ids())
    edits = faults.done(
        edit for img_id, turns in sessions.items() for edit in _session(img_id, turns, reader, is_chained=is_chained)
    )
    return edits, len(sessions)


def session_summary(edits: tuple[Edit, ...], sessions: int) -> str:
    """Return the numbers of edits and sessions, and the published ones where they differ."""
    text = f"{format_count(len(edits), 'edit')} in {format_count(sessions, 'session')}"
    if (len(edits), sessions) not in PUBLISHED.values():
        published = ", ".join(f"{split} has {count} in {number}" for split, (count, number) in PUBLISHED.items())
        text += f" (the authors say {published})"
    return text


def _captions(file: Path, all_faults: Faults) -> dict[str, str]:
    """Read the captions by file name; the file is optional."""
    if not file.is_file():
        return {}
    faults = Faults(all_faults.benchmark, file)
    captions = {}
    for img_id, texts in read_json(file, faults, dict).items():
        if not isinstance(texts, dict):
            faults.add(img_id, f"must be a mapping of file names to captions, got {format_value(texts)}")
            continue
        for name in [name for name, text in texts.items() if text != ""]:  # a few of the published ones are empty
            captions[name] = faults.text(f"{img_id}/{name}", texts, name) or ""
    all_faults.problems += faults.problems
    return captions


@dataclass(frozen=True, slots=True)
class _Reader:
    """Reader of single turns."""

    image_folder: ImageFolder
    faults: Faults
    captions: Mapping[str, str]
    local: Mapping[str, str]
    ids: Ids

    def turn(self, img_id: str, turn: int, values: Any) -> Edit | None:
        """Read the edit of one turn, or return None after noting all faults."""
        record = f"{img_id}, turn {turn}"
        if not isinstance(values, dict):
            self.faults.add(record, f"must be a mapping, got {format_value(values)}")
            return None
        text = self.faults.text(record, values, "instruction")
        source, mask, reference = (self._picture(img_id, values, key, record) for key in ("input", "mask", "output"))
        if text is None or source is None:
            return None
        extras: dict[str, Any] = {"img_id": img_id, "turn": turn}
        if values.get("output") in self.local:
            extras["target_local_caption"] = self.local[values["output"]]
        edit = Edit(
            id=self.ids.give(img_id, turn),
            source=source,
            type=UNSPECIFIED,
            instruction=text,
            source_caption=self.captions.get(values["input"]),
            target_caption=self.captions.get(values.get("output", "")),
            mask=Erased(mask.path, f"images/{mask.name}") if mask else None,
            reference=reference,
            turn=turn,
            photograph=img_id,
            extras=extras,
        )
        return complete_edit(edit)

    def _picture(self, img_id: str, values: Mapping[str, Any], key: str, record: str) -> ImageFile | None:
        name = self.faults.text(record, values, key)
        return self.image_folder.picture(f"{img_id}/{name}", record, optional=key != "input") if name else None


def _session(img_id: str, turns: Any, reader: _Reader, *, is_chained: bool) -> Iterator[Edit]:
    if not isinstance(turns, list) or not turns:
        reader.faults.add(img_id, f"must be a list of turns, got {format_value(turns)}")
        return
    first: Edit | None = None
    last: Edit | None = None
    for number, values in enumerate(turns, start=1):
        edit = reader.turn(img_id, number, values)
        if edit is None:
            continue
        if is_chained and first and last:
            edit = replace(edit, source=first.source, follows=last.id)
        first, last = first or edit, edit
        yield edit
