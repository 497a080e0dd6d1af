"""What a run offers to be rated: its outcomes, pairs of them, or pairs of attributes of its edits."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from pathlib import Path
from typing import Any

from editgauge._util.datasets import read_text
from editgauge._util.documents import read_jsonl
from editgauge.benchmarks.editinspector.outcome_captions import OutcomeCaption
from editgauge.errors import BadInputError
from editgauge.results import OutcomeKey, Run
from editgauge.studies.design.fields import EDIT_FIELDS, Unit

EDIT_SIDES = ("source", "target")
"""Attributes describe the picture before (source) or after (target)."""


@dataclass(frozen=True, slots=True)
class ComparedItem:
    """One of the things that a page compares: an outcome, or an attribute in words."""

    method: str | None = None
    seed: int | None = None
    image: Path | None = None
    attribute: str | None = None


@dataclass(frozen=True, slots=True)
class PageCandidate:
    """What one page could be about."""

    edit: str
    fields: Mapping[str, Any]
    """What the page may say of the edit."""
    cell: str
    """Methods and edit type: what the study is balanced over."""
    source: Path
    compared: tuple[ComparedItem, ...]
    side: str | None = None
    probability: float | None = None
    """The chance with which the sample took it from its cell; None where all are taken, or some by their scores."""

    @property
    def key(self) -> str:
        """What it is about, in words that mean the same in every study of the run."""
        parts = [[item.attribute] if item.attribute is not None else [item.method, item.seed] for item in self.compared]
        return json.dumps([self.edit, *([self.side] if self.side else []), *parts], ensure_ascii=False)

    @property
    def outcomes(self) -> tuple[OutcomeKey, ...]:
        """The outcomes it compares."""
        edit_outcomes = ((item.method, item.seed) for item in self.compared)
        return tuple(OutcomeKey(self.edit, m, s) for m, s in edit_outcomes if m is not None and s is not None)


@dataclass(slots=True)
class CandidateList:
    """All candidates of a run, and how many outcomes cannot be shown, by reason."""

    candidates: list[PageCandidate]
    skipped: Counter[str] = field(default_factory=Counter)
    scored: dict[Path, str] = field(default_factory=dict)
    """The pixel hash that each picture had when it was scored."""


@dataclass(frozen=True, slots=True)
class _CandidateOutcome:
    edit: str
    edit_type: str
    source: Path
    shown: ComparedItem


def offer(run: Run, unit: Unit, attributes: Path | None) -> CandidateList:
    """Everything of the run that a design of this unit can ask about."""
    skipped: Counter[str] = Counter()
    scored: dict[Path, str] = {}
    by_edit: dict[str, list[_CandidateOutcome]] = {}
    for edit_outcomes in _outcomes(run, skipped, scored):
        by_edit.setdefault(edit_outcomes.edit, []).append(edit_outcomes)
    if unit == "attributes":
        return CandidateList(list(_attribute_pairs(run, by_edit, _attributes(run, attributes))), scored=scored)
    make = _singles if unit == "outcome" else _pairs
    candidates = [
        one for edit, edit_outcomes in by_edit.items() for one in make(_fields(run, edit, edit_outcomes), edit_outcomes)
    ]
    return CandidateList(candidates, skipped, scored)


def with_captions(
    candidates: Sequence[PageCandidate], captions: Mapping[tuple[str, str, int], OutcomeCaption]
) -> list[PageCandidate]:
    """Return the pages with the difference captions of their outcomes; raise `BadInputError` if no page has one."""
    captioned = [_captioned(candidate, captions) for candidate in candidates]
    if candidates and all(one is other for one, other in zip(captioned, candidates, strict=True)):
        raise BadInputError(
            f"None of the {len(captions)} captions belongs to an outcome that this study can ask about."
        )
    return captioned


def _captioned(candidate: PageCandidate, captions: Mapping[tuple[str, str, int], OutcomeCaption]) -> PageCandidate:
    keys = candidate.outcomes
    caption = captions.get((keys[0].edit, keys[0].method, keys[0].seed)) if len(keys) == 1 else None
    if caption is None or not caption.caption:
        return candidate
    extras = {**candidate.fields.get("extras", {}), "difference_caption": caption.caption}
    return replace(candidate, fields={**candidate.fields, "extras": extras})


def _outcomes(run: Run, skipped: Counter[str], scored: dict[Path, str]) -> Iterator[_CandidateOutcome]:
    """Yield the outcomes with an image; outcomes that no protocol could read are skipped."""
    columns = ("edit", "method", "seed", "edit_type", "source_path", "source_pixels", "edited_path", "edited_pixels")
    yielded: set[OutcomeKey] = set()
    rows = zip(*(run.scores[column].to_pylist() for column in columns), strict=True)
    for edit, method, seed, edit_type, source, source_pixels, edited, pixels in rows:
        if OutcomeKey(edit, method, seed) in yielded:
            continue
        yielded.add(OutcomeKey(edit, method, seed))
        if edited is None:
            skipped["no outcome"] += 1
        elif pixels is None or source_pixels is None:
            skipped["unreadable image"] += 1
        else:
            scored |= {Path(source): source_pixels, Path(edited): pixels}
            yield _CandidateOutcome(edit, edit_type, Path(source), ComparedItem(method, seed, Path(edited)))


def _fields(run: Run, edit: str, edit_outcomes: Sequence[_CandidateOutcome]) -> dict[str, Any]:
    fields = run.edits.get(edit, {})
    return {name: fields[name] for name in (*EDIT_FIELDS, "extras") if name in fields} | {
        "type": edit_outcomes[0].edit_type
    }


def _singles(fields: Mapping[str, Any], edit_outcomes: Sequence[_CandidateOutcome]) -> Iterator[PageCandidate]:
    for outcome in edit_outcomes:
        cell = f"{outcome.shown.method}, {outcome.edit_type}"
        yield PageCandidate(outcome.edit, fields, cell, outcome.source, (outcome.shown,))


def _pairs(fields: Mapping[str, Any], edit_outcomes: Sequence[_CandidateOutcome]) -> Iterator[PageCandidate]:
    """Every two methods once for an edit, at the lowest seed that both have: choices are kept by methods alone."""
    methods = list(dict.fromkeys(outcome.shown.method for outcome in edit_outcomes))
    by_key = {(item.shown.method, item.shown.seed): item for item in edit_outcomes}
    for first, second in combinations(methods, 2):
        seeds = [seed for method, seed in by_key if method == first and (second, seed) in by_key]
        if not seeds:
            continue
        seed = min(seeds, key=lambda one: -1 if one is None else one)
        one, other = by_key[first, seed], by_key[second, seed]
        cell = f"{first} and {second}, {one.edit_type}"
        yield PageCandidate(one.edit, fields, cell, one.source, (one.shown, other.shown))


def _attributes(run: Run, file: Path | None) -> dict[str, dict[str, list[str]]]:
    """Attributes by edit and side: from a file of `{"edit_id", "source", "target"}`, or from the edits' extras."""
    if file is None:
        return {name: _listed(edit.get("extras", {}).get("attributes", {})) for name, edit in run.edits.items()}
    document = read_jsonl(read_text(file), file.name)
    entries = [entry for _, entry in document.entries()]
    problems = document.problems()
    problems += [f"{file.name}: entry {n} has no 'edit_id'" for n, e in enumerate(entries, 1) if not _edit_id(e)]
    if problems:
        raise BadInputError(f"The attributes in '{file}' have problems.", problems)
    return {_edit_id(entry): _listed(entry) for entry in entries}


def _edit_id(entry: Any) -> str:
    return str(entry.get("edit_id") or "") if isinstance(entry, dict) else ""


def _listed(entry: Any) -> dict[str, list[str]]:
    values = {side: entry.get(side) for side in EDIT_SIDES} if isinstance(entry, dict) else {}
    return {
        side: list(dict.fromkeys(str(word) for word in words))
        for side, words in values.items()
        if isinstance(words, list)
    }


def _attribute_pairs(
    run: Run, by_edit: Mapping[str, Sequence[_CandidateOutcome]], attributes: Mapping[str, Mapping[str, list[str]]]
) -> Iterator[PageCandidate]:
    for edit, edit_outcomes in by_edit.items():
        fields = _fields(run, edit, edit_outcomes)
        for side, words in attributes.get(edit, {}).items():
            for one, other in combinations(words, 2):
                compared = (ComparedItem(attribute=one), ComparedItem(attribute=other))
                yield PageCandidate(
                    edit, fields, f"{side}, {edit_outcomes[0].edit_type}", edit_outcomes[0].source, compared, side
                )
