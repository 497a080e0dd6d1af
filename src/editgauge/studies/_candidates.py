"""Items of a study: list the candidates of a run, sample them, and read gold items."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np

from editgauge._util.datasets import read_text
from editgauge._util.documents import Location, read_jsonl
from editgauge._util.fields import format_value
from editgauge.analysis.outcomes import select_scores
from editgauge.benchmarks.outcome_captions import OutcomeCaption
from editgauge.errors import BadInputError, UnknownNameError
from editgauge.results import OutcomeKey, Run
from editgauge.studies.assignment import draw
from editgauge.studies.design import Design, DesignQuestion
from editgauge.studies.design._fields import EDIT_FIELDS, Unit, Value

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
    """One item that a study could ask about."""

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
    """All candidates of a run, and how many outcomes cannot be item, by reason."""

    candidates: list[PageCandidate]
    skipped: Counter[str] = field(default_factory=Counter)
    scored: dict[Path, str] = field(default_factory=dict)
    """The pixel hash that each picture had when it was scored."""


@dataclass(frozen=True, slots=True)
class _CandidateOutcome:
    edit: str
    edit_type: str
    source: Path
    item: ComparedItem


def list_candidates(run: Run, unit: Unit, attributes: Path | None) -> CandidateList:
    """List everything in the run that a design of this unit can ask about."""
    skipped: Counter[str] = Counter()
    scored: dict[Path, str] = {}
    by_edit: dict[str, list[_CandidateOutcome]] = {}
    for edit_outcomes in _outcomes(run, skipped, scored):
        by_edit.setdefault(edit_outcomes.edit, []).append(edit_outcomes)
    if unit == "attributes":
        return CandidateList(list(_attribute_pairs(run, by_edit, _attributes(run, attributes))), scored=scored)
    make = _singles if unit == "outcome" else _pairs
    candidates = [
        candidate
        for edit, edit_outcomes in by_edit.items()
        for candidate in make(_fields(run, edit, edit_outcomes), edit_outcomes)
    ]
    return CandidateList(candidates, skipped, scored)


def with_captions(
    candidates: Sequence[PageCandidate], captions: Mapping[tuple[str, str, int], OutcomeCaption]
) -> list[PageCandidate]:
    """Return the pages with the difference captions of their outcomes; raise `BadInputError` if no page has one."""
    captioned = [_captioned(candidate, captions) for candidate in candidates]
    singles = {
        (key.edit, key.method, key.seed) for entry in candidates if len(entry.outcomes) == 1 for key in entry.outcomes
    }
    if candidates and not any(caption.caption for key, caption in captions.items() if key in singles):
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
        cell = f"{outcome.item.method}, {outcome.edit_type}"
        yield PageCandidate(outcome.edit, fields, cell, outcome.source, (outcome.item,))


def _pairs(fields: Mapping[str, Any], edit_outcomes: Sequence[_CandidateOutcome]) -> Iterator[PageCandidate]:
    """Yield each pair of methods once per edit, at the lowest seed that both have; choices name methods only."""
    methods = list(dict.fromkeys(outcome.item.method for outcome in edit_outcomes))
    by_key = {(item.item.method, item.item.seed): item for item in edit_outcomes}
    for first, second in combinations(methods, 2):
        seeds = [seed for method, seed in by_key if method == first and (second, seed) in by_key]
        if not seeds:
            continue
        seed = min(seeds, key=lambda value: -1 if value is None else value)
        left, right = by_key[first, seed], by_key[second, seed]
        cell = f"{first} and {second}, {left.edit_type}"
        yield PageCandidate(left.edit, fields, cell, left.source, (left.item, right.item))


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
            for pair in combinations(words, 2):
                compared = tuple(ComparedItem(attribute=attribute) for attribute in pair)
                yield PageCandidate(
                    edit, fields, f"{side}, {edit_outcomes[0].edit_type}", edit_outcomes[0].source, compared, side
                )


SWAPPED = {"first": "second", "second": "first"}
Right = dict[str, list[Value]]


@dataclass(frozen=True, slots=True)
class GoldItem:
    """A candidate with its right answers."""

    candidate: PageCandidate
    right: Right


def read_gold(file: Path, design: Design, candidates: Sequence[PageCandidate]) -> list[GoldItem]:
    """Read gold items from a file; raise `BadInputError` that lists all problems by line."""
    document = read_jsonl(read_text(file), file.name)
    by_names: dict[tuple[str, ...], list[PageCandidate]] = {}
    for candidate in candidates:
        by_names.setdefault((candidate.edit, *_names(candidate)), []).append(candidate)
    gold_items: dict[str, GoldItem] = {}
    for location, values in document.entries():
        item = _gold_item(values, design, by_names, location)
        if item is not None and item.candidate.key in gold_items:
            location.report("this item was given before")
        elif item is not None:
            gold_items[item.candidate.key] = item
    if document.faults:
        raise BadInputError(f"The gold items in '{file}' have problems.", document.problems())
    if not gold_items:
        raise BadInputError(f"'{file}' holds no gold items.")
    return list(gold_items.values())


def _names(candidate: PageCandidate) -> list[str]:
    return [str(item.method if item.attribute is None else item.attribute) for item in candidate.compared]


def _gold_item(
    values: Any, design: Design, by_names: Mapping[tuple[str, ...], list[PageCandidate]], location: Location
) -> GoldItem | None:
    keys = ("edit", "method") if design.unit == "outcome" else ("edit", "first", "second")
    if not isinstance(values, dict) or any(not isinstance(values.get(name), str) for name in keys):
        location.report(
            f"must be a mapping with the texts {', '.join(keys)}, and 'answers', got {format_value(values)}"
        )
        return None
    right = _right_answers(values.get("answers"), design, location)
    names = tuple(values[name] for name in keys)
    swapped = (names[0], *reversed(names[1:]))
    is_swapped = names not in by_names and swapped in by_names
    gold_items = by_names.get(swapped if is_swapped else names, [])
    seed = values.get("seed")
    matches = [entry for entry in gold_items if seed is None or any(item.seed == seed for item in entry.compared)]
    if len(matches) != 1:
        listed = ", ".join(map(format_value, names))
        location.report(
            f"the run has {len(matches) or 'no'} such item{'s: say which seed' if matches else ''} ({listed})"
        )
        return None
    return GoldItem(matches[0], _swap(right, design) if is_swapped else right) if right else None


def _swap(right: Right, design: Design) -> Right:
    sided = {question.id for question in design.sided}
    return {
        name: [SWAPPED.get(str(value), value) for value in values] if name in sided else values
        for name, values in right.items()
    }


def _right_answers(answers: Any, design: Design, location: Location) -> Right:
    if not isinstance(answers, dict) or not answers:
        location.report("'answers' must be a mapping of questions to right answers")
        return {}
    right: Right = {}
    for name, answer in answers.items():
        question = design.question(name)
        values = answer if isinstance(answer, list) else [answer]
        if question is None or question.kind == "text":
            names = ", ".join(item.id for item in design.questions if item.kind != "text")
            location.report(f"{format_value(name)} is no question with options; there are: {names}")
        elif not values or any(isinstance(value, bool) or value not in _values(question) for value in values):
            location.report(
                f"{format_value(answer)} does not answer '{name}'; there are: {', '.join(map(str, _values(question)))}"
            )
        else:
            right[name] = values
    return right


def _values(question: DesignQuestion) -> tuple[Value, ...]:
    """Return the valid values; sides are those of the item, because the page decides later which one is on the left."""
    if question.kind == "pick_side":
        return ("first", "second", "tie") if question.tie else ("first", "second")
    return question.values


Sample = Literal["all", "stratified", "disagreement"]
MAX_DRAW = 2**62


def sample_candidates(
    candidates: Sequence[PageCandidate], sample: str, items: int | None, run: Run, seed: int
) -> list[PageCandidate]:
    """Return the sampled candidates in the run's order, with inclusion probabilities for a stratified sample."""
    if sample not in get_args(Sample):
        raise UnknownNameError("way of sampling", sample, get_args(Sample))
    if sample == "all":
        if items is not None and items < len(candidates):
            raise BadInputError(
                f"There are {len(candidates)} items, and {items} are wanted: choose them with `sample='stratified'` "
                "or `sample='disagreement'`, or leave out `items`."
            )
        return list(candidates)
    if items is None:
        raise BadInputError(f"`sample='{sample}'` chooses among {len(candidates)} items: pass their number as `items`.")
    if sample == "stratified":
        sample_items = [candidates[index] for index in sorted(_stratified(candidates, items, seed))]
        chances = _chances(Counter(candidate.cell for candidate in candidates), items)
        return [replace(item, probability=chances[item.cell]) for item in sample_items]
    spread = disagreement(candidates, run)
    ranked = sorted(spread, key=lambda index: (-spread[index], draw(MAX_DRAW, seed, "sample", candidates[index].key)))
    if len(ranked) < items:
        raise BadInputError(f"Only {len(ranked)} items have two scores that could disagree; {items} are wanted.")
    return [candidates[index] for index in sorted(ranked[:items])]


def _stratified(candidates: Sequence[PageCandidate], items: int, seed: int) -> list[int]:
    """Draw items from the cells in turn, at random within a cell."""
    cells: dict[str, list[int]] = defaultdict(list)
    for index, candidate in enumerate(candidates):
        cells[candidate.cell].append(index)
    ranked = [
        (rank, draw(MAX_DRAW, seed, "cell", cell), index)
        for cell, indices in cells.items()
        for rank, index in enumerate(sorted(indices, key=lambda p: draw(MAX_DRAW, seed, "sample", candidates[p].key)))
    ]
    return [index for _, _, index in sorted(ranked)[:items]]


def _chances(sizes: Mapping[str, int], items: int) -> dict[str, float]:
    """Cell to the chance of each of its candidates: cells take turns, in the last one some of them, at random."""
    turns, left = 0, items
    while (open_cells := sum(size > turns for size in sizes.values())) and left >= open_cells:
        turns, left = turns + 1, left - open_cells
    last = left / open_cells if open_cells else 0.0
    return {cell: (min(size, turns) + (last if size > turns else 0.0)) / size for cell, size in sizes.items()}


def disagreement(candidates: Sequence[PageCandidate], run: Run) -> dict[int, float]:
    """Return by index how much the scores disagree on a candidate: 0 to 1, for a pair 0 to 2.

    Each score ranks all outcomes of the run from worst (0) to best (1). The opinion of an outcome is its rank, of a
    pair the difference of ranks; the spread is the largest opinion minus the smallest. Candidates with fewer than two
    opinions are left out.
    """
    ranks = _ranks(run)
    weights: dict[int, float] = {}
    for index, candidate in enumerate(candidates):
        keys = candidate.outcomes
        opinions = [_opinion(ranked, keys) for ranked in ranks if keys and all(key in ranked for key in keys)]
        if len(opinions) > 1:
            weights[index] = max(opinions) - min(opinions)
    return weights


def _opinion(ranked: dict[OutcomeKey, float], keys: Sequence[OutcomeKey]) -> float:
    return ranked[keys[0]] - (ranked[keys[1]] if len(keys) > 1 else 0.0)


def _ranks(run: Run) -> list[dict[OutcomeKey, float]]:
    """Return for every score the ranks of outcomes from 0 (worst) to 1 (best); ties get their mean rank."""
    from scipy.stats import rankdata  # takes seconds to import, and only this way of sampling needs it

    ranks = []
    for protocol, spec in select_scores(run, ()):
        values = run.score_columns.values(protocol, spec.name)
        if len(values) > 1:
            numbers = np.fromiter(values.values(), float) * (1 if spec.higher_is_better else -1)
            ranks.append(dict(zip(values, (rankdata(numbers) - 1) / (len(numbers) - 1), strict=True)))
    return ranks
