"""Compare evaluators with human ratings of real edits, the reference set."""

from __future__ import annotations

import hashlib
import re
import shutil
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING

import numpy as np

from editgauge._render.text import percent
from editgauge._stats.agreement import SPEARMAN, correlate, within
from editgauge._util.images import ImageFile, read_image, write_png
from editgauge._util.masks import Mask, MaskFile, mask_files
from editgauge._util.progress import log_info, progress
from editgauge.analysis.binary_agreement import GOOD_LEVELS, majorities
from editgauge.analysis.choice_agreement import find_triplets, read_roles
from editgauge.analysis.outcomes import Matched, Seeds, match
from editgauge.analysis.preferences import CREDIT
from editgauge.analysis.ratings import PreferredOutcome, Rating, read_choices, read_ratings
from editgauge.audits._probe_set import (
    OUTCOMES,
    PICTURES,
    TRUTH_FILE,
    Probe,
    read_edits,
    read_probes,
    split_of,
    write_edits,
    write_probes,
)
from editgauge.audits.card import auroc
from editgauge.engine._options import pairs
from editgauge.engine._outcomes import claim
from editgauge.errors import BadImageError, BadInputError
from editgauge.methods.outcomes import expand_folders, find_outcomes
from editgauge.protocols.editgauge._models import fitted
from editgauge.results import OutcomeKey, Run, ScoreColumns
from editgauge.results.edits import benchmark_entry
from editgauge.types import Benchmark, Edit, Outcome

if TYPE_CHECKING:
    from editgauge._stats.resampling import Estimate
    from editgauge.audits.audit_card import AuditCard
    from editgauge.audits.card import ScoreCard
    from editgauge.types import ScoreSpec

QUESTIONS: Mapping[str, tuple[str, ...]] = {
    "done": ("edit", "SC", "alignment", "accuracy"),
    "quality": ("quality", "PQ"),
}
"""What rating files call the two questions."""
SCALES = (1.0, 5.0, 10.0, 100.0)
"""Highest values of scales; ratings are divided by the first that is not exceeded."""
GOOD = 0.5
"""Mean rating, of the highest one, from which people call an outcome good."""
PROTOCOL = "editgauge"


@dataclass(frozen=True, slots=True)
class ReferenceScore:
    """One score against people's ratings."""

    protocol: str
    name: str
    higher_is_better: bool
    answered: float
    """The share of rated outcomes that have the score."""
    done: Estimate
    """AUROC of people calling the edit done."""
    quality: Estimate
    """AUROC of people calling the picture well made."""
    within: Estimate
    """Spearman's correlation with the rating of the edit inside each method, averaged."""
    pooled: Estimate
    """The same over all outcomes."""


@dataclass(frozen=True, slots=True)
class HumanReference:
    """Real edits that people rated, and how every audited score performs there."""

    name: str
    outcomes: int
    photos: int
    methods: int
    fitted_on: float
    """The share of outcomes whose photograph the protocol `editgauge` was fitted on: its figures are too good there."""
    scores: tuple[ReferenceScore, ...]

    def of(self, protocol: str, name: str) -> ReferenceScore | None:
        """Return the row of a score."""
        return next((score for score in self.scores if (score.protocol, score.name) == (protocol, name)), None)


def mean_ratings(ratings: Sequence[Rating]) -> dict[tuple[str, str], dict[str, float]]:
    """Return mean ratings from 0 to 1 for `done` and `quality` by edit and method."""
    values: dict[tuple[str, str, str], list[float]] = {}
    for rating in ratings:
        question = _meaning(rating.question)
        if question:
            values.setdefault((rating.edit, rating.method, question), []).append(float(rating.value))
    highest = max((value for item in values.values() for value in item), default=1.0)
    top = next((scale for scale in SCALES if highest <= scale), highest)
    means: dict[tuple[str, str], dict[str, float]] = {}
    for (edit, method, question), element in values.items():
        means.setdefault((edit, method), {})[question] = float(np.mean(element)) / top
    return means


def _meaning(question: str) -> str | None:
    """Ratings without a question are about the edit."""
    if not question:
        return "done"
    return next((meaning for meaning, names in QUESTIONS.items() if question in names), None)


def reference_runs(
    ground: str, ratings: str | Path, protocols: Sequence[str], score: Callable[[str, Path, dict[str, Path]], Run]
) -> list[Run]:
    """Open the runs of a reference set: a run folder, or `BENCHMARK=FOLDER` scored by every protocol.

    `score` is called with the protocol, the folder and the outcomes of the methods that people rated.
    """
    name, equals, location = ground.partition("=")
    if not equals or Path(ground).is_dir():
        return [Run.open(Path(ground))]
    folder = Path(location)
    methods = sorted({rating.method for rating in read_ratings(Path(ratings))})
    outcomes = {method: folder / method for method in methods if (folder / method).is_dir()}
    if not outcomes:
        raise BadInputError(
            f"'{folder}' has no folder of a rated method. `ground={name}=FOLDER` takes the benchmark's folder with a "
            "subfolder of outcomes per method. Rated methods:",
            methods,
        )
    return [score(protocol, folder, outcomes) for protocol in protocols]


def human_reference(name: str, runs: Sequence[Run], ratings: Sequence[Rating]) -> HumanReference:
    """Compare every score of the runs with the ratings of their outcomes."""
    rows: list[ReferenceScore] = []
    keys: set[OutcomeKey] = set()
    photos: dict[str, str] = {}
    for run in runs:
        outcomes = run.score_columns
        rated = _rated(ratings, outcomes)
        keys |= set(rated)
        photos |= outcomes.sources
        specs = [(protocol, spec) for protocol, entry in run.manifest.protocols.items() for spec in entry.scores]
        rows += [_row(protocol, spec, outcomes, rated) for protocol, spec in specs]
    fitted_photos = set(fitted().provenance.get("photograph_ids", ()))
    photo_of = [photos[key.edit] for key in keys]
    return HumanReference(
        name=name,
        outcomes=len(keys),
        photos=len(set(photo_of)),
        methods=len({key.method for key in keys}),
        fitted_on=sum(photo in fitted_photos for photo in photo_of) / len(photo_of),
        scores=tuple(row for row in rows if row.answered),
    )


def _rated(ratings: Sequence[Rating], outcomes: ScoreColumns) -> dict[OutcomeKey, dict[str, float]]:
    """Return the mean ratings of outcomes in the run."""
    matched = match(ratings, outcomes.seeds)
    of_outcome = {(rating.edit, rating.method): about[0] for about, rating in matched.pairs}
    means = mean_ratings([rating for _, rating in matched.pairs])
    if not means:
        names_listed = ", ".join(name for names in QUESTIONS.values() for name in names)
        raise BadInputError(f"No rating answers a question that an audit knows: {names_listed}.")
    return {of_outcome[key]: answers for key, answers in means.items()}


def _row(
    protocol: str, spec: ScoreSpec, outcomes: ScoreColumns, rated: Mapping[OutcomeKey, Mapping[str, float]]
) -> ReferenceScore:
    values = outcomes.values(protocol, spec.name)
    keys = sorted(key for key in rated if key in values)
    sign = 1.0 if spec.higher_is_better else -1.0
    scores = np.array([sign * values[key] for key in keys])
    people = {
        question: np.array([rated[key].get(question, np.nan) for key in keys], np.float64) for question in QUESTIONS
    }
    methods, photos = (
        np.array([key.method for key in keys], np.str_),
        np.array([outcomes.sources[key.edit] for key in keys], np.str_),
    )
    is_valid = ~np.isnan(people["done"])
    x, y, groups, clusters = scores[is_valid], people["done"][is_valid], methods[is_valid], photos[is_valid]
    return ReferenceScore(
        protocol=protocol,
        name=spec.name,
        higher_is_better=spec.higher_is_better,
        answered=len(keys) / len(rated),
        done=auroc(scores, _good(people["done"]), photos),
        quality=auroc(scores, _good(people["quality"]), photos),
        within=within(SPEARMAN, x, y, groups, clusters, fisher_z=True).average,
        pooled=correlate(SPEARMAN, x, y, clusters),
    )


def _good(ratings: np.ndarray) -> np.ndarray:
    return np.where(np.isnan(ratings), np.nan, (ratings >= GOOD).astype(np.float64))


def disagree(probes: Estimate, people: Estimate) -> bool:
    """Return whether the intervals on probes and on the reference set, which share no photograph, do not overlap."""
    ends = (probes.low, probes.high, people.low, people.high)
    if any(end is None for end in ends):
        return False
    low, high, other_low, other_high = (float(end or 0.0) for end in ends)
    return high < other_low or other_high < low


def reference_summary(card: AuditCard) -> list[str]:
    """Describe the headline scores on both reference sets, disagreements first."""
    if card.human_reference is None:
        return []
    rows = [(head, row) for head in card.heads if (row := card.human_reference.of(head.protocol, head.name))]
    disagreeing = [both for both in rows if disagree(both[0].auroc, both[1].done)]
    together = [both for both in rows if both not in disagreeing]
    return [*_apart(disagreeing), *(_sentence(*both) for both in together), *_fitted(card)]


def _apart(rows: Sequence[tuple[ScoreCard, ReferenceScore]]) -> list[str]:
    return [f"Probes and people disagree. {_sentence(*both)}" for both in rows[:1]] + [
        f"They also disagree about the next. {_sentence(*both)}" for both in rows[1:]
    ]


def _sentence(card: ScoreCard, row: ReferenceScore) -> str:
    """`editgauge/edit`: on our probes 0.93, on real edits rated by people 0.80, of which it answers 53%."""
    return (
        f"{card.protocol}/{card.name}: AUROC {_number(card.auroc)} on our probes, "
        f"{_number(row.done)} on real edits rated by people at {percent(row.answered)} coverage."
    )


def _fitted(card: AuditCard) -> list[str]:
    reference = card.human_reference
    if (
        reference is None
        or not reference.fitted_on
        or not any(row.protocol.startswith(PROTOCOL) for row in reference.scores)
    ):
        return []
    return [
        f"{percent(reference.fitted_on)} of these rated outcomes are of photographs on which the protocol "
        f"{PROTOCOL} was fitted: its figures on the reference set are too good."
    ]


def _number(estimate: Estimate) -> str:
    if estimate.value is None:
        return f"unknown ({estimate.reason})"
    if estimate.low is None or estimate.high is None:
        return f"{estimate.value:.2f}"
    return f"{estimate.value:.2f} ({estimate.low:.2f} to {estimate.high:.2f})"


SETTINGS = "people.json"
MASKS, REFERENCES = "masks", "references"
COMMAND = "editgauge build probes --choices"
_NOT_IN_A_NAME = re.compile(r"[/\\:]")
EVEN_SHARE = 0.5
DONE_QUESTIONS = ("edit", "accuracy")
"""The questions of ratings that ask whether the edit was carried out."""


@dataclass(frozen=True, slots=True)
class PeopleAnswers:
    """What is known from people."""

    over: Mapping[tuple[OutcomeKey, OutcomeKey], float]
    """A better and a worse outcome to the share of people who say so."""
    done: Mapping[OutcomeKey, bool]
    remarks: tuple[str, ...]
    """What could not be used, in sentences."""

    @property
    def outcomes(self) -> list[OutcomeKey]:
        """All that were spoken of."""
        return list(dict.fromkeys([*(key for both in self.over for key in both), *self.done]))


def add_answers(
    folder: Path,
    benchmark: Benchmark,
    outcomes: Mapping[str, str | Path] | Sequence[str],
    layout: str | None,
    *,
    choices: str | Path | None,
    triplets: str | None,
    ratings: str | Path | None,
    quiet: bool,
) -> tuple[Probe, ...]:
    """Add human answers to the probes of a folder, or start one with them, and return all probes.

    What is said now of an outcome or of a pair replaces what was said before; all else that was said stays.
    """
    edits = {edit.id: edit for edit in benchmark.edits}
    paths = pairs(outcomes if isinstance(outcomes, Mapping) else expand_folders(outcomes), "outcomes", "NAME=FOLDER")
    folders = {name: Path(path).expanduser() for name, path in paths.items()}
    probes = [
        outcome
        for name, method_folder in folders.items()
        for outcome in find_outcomes(name, method_folder, benchmark.edits, layout).outcomes
    ]
    answers = read_answers(
        Path(choices) if choices is not None else None,
        triplets,
        Path(ratings) if ratings is not None else None,
        benchmark.edits,
        probes,
    )
    pictures = {OutcomeKey(probe.edit_id, probe.method, probe.seed): probe.image for probe in probes}
    if not (folder / TRUTH_FILE).is_file():
        claim(folder, SETTINGS, {"benchmark": benchmark.name, "methods": list(folders)}, "people's answers", COMMAND)
    for remark in answers.remarks:
        log_info(remark, quiet=quiet)
    lines = []
    with progress("copying", len(answers.outcomes), quiet=quiet) as advance:
        for key in answers.outcomes:
            lines.append(_copied(folder, key, edits[key.edit], pictures[key], quiet=quiet))
            advance()
    return _joined(folder, answers, edits, [line for line in lines if line is not None])


def name_of(key: OutcomeKey) -> str:
    """Return the id of the probe for an outcome.

    >>> name_of(OutcomeKey("cat", "hub/ours", 2))
    'cat--by-hub-ours__seed2'
    """
    return _NOT_IN_A_NAME.sub("-", f"{key.edit}--by-{key.method}") + (f"__seed{key.seed}" if key.seed else "")


def _copied(
    folder: Path, key: OutcomeKey, edit: Edit, image: Path | None, *, quiet: bool
) -> tuple[OutcomeKey, Edit] | None:
    """Copy an edit and its images into the folder; return None if an image cannot be read."""
    name = name_of(key)
    try:
        source = read_image(edit.source.path)
        write_png(read_image(image or Path()), folder / OUTCOMES / f"{name}.png")
        stored_edit = replace(
            edit,
            id=name,
            source=_stored(folder, PICTURES, edit.source.path),
            mask=_stored_mask(folder, edit.mask, name, source.shape[1], source.shape[0]),
            reference=_stored(folder, REFERENCES, edit.reference.path) if edit.reference else None,
            recipe=None,
            objects={},
        )
    except BadImageError as error:
        log_info(f"left out: {error}", quiet=quiet)
        return None
    return key, stored_edit


def _stored(folder: Path, within: str, path: Path) -> ImageFile:
    """Store a copy named by its content hash, so that edits of one photograph share it."""
    name = f"{within}/{hashlib.sha256(path.read_bytes()).hexdigest()[:16]}{path.suffix.lower()}"
    target = folder / name
    if not target.is_file():
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, target)
    return ImageFile(name, target)


def _stored_mask(folder: Path, mask: Mask | None, name: str, width: int, height: int) -> Mask | None:
    """Outlines stay as they are; what is read from files becomes a file of this folder."""
    if mask is None or not list(mask_files(mask)):
        return mask
    target = folder / MASKS / f"{name}.png"
    write_png(np.repeat(mask.render(width, height)[..., None], 3, axis=2).astype(np.uint8) * 255, target)
    return MaskFile(target, f"{MASKS}/{target.name}")


def _joined(
    folder: Path, answers: PeopleAnswers, edits: Mapping[str, Edit], copied: Iterable[tuple[OutcomeKey, Edit]]
) -> tuple[Probe, ...]:
    edits_by_key = dict(copied)
    names = {key: name_of(key) for key in edits_by_key}
    if len(set(names.values())) < len(names):
        raise BadInputError("Two methods have names that differ by signs no file name may hold; rename one of them.")
    over: dict[str, dict[str, float]] = {name: {} for name in names.values()}
    for (better, worse), share in answers.over.items():
        if better in edits_by_key and worse in edits_by_key:
            over[names[better]][names[worse]] = share
    has_probes = (folder / TRUTH_FILE).is_file()
    before = {probe.id: probe for probe in read_probes(folder)} if has_probes else {}
    probes = before | {
        names[key]: Probe(
            id=names[key],
            edit=f"{key.edit}--people",  # made probes of the same edit have another source
            photo=edits[key.edit].origin,
            type=edits[key.edit].type,
            kind=f"by {key.method}",
            done=answers.done.get(key, before[names[key]].done if names[key] in before else None),
            split=split_of(edits[key.edit].origin),
            over=_over(names[key], before, over),
        )
        for key in edits_by_key
    }
    entries = {item.id: benchmark_entry(item) for item in edits_by_key.values()}
    if has_probes:
        entries = read_edits(folder) | entries
    write_edits(folder, entries.values())
    write_probes(folder, probes.values())
    return read_probes(folder)


def _over(name: str, before: Mapping[str, Probe], now: Mapping[str, Mapping[str, float]]) -> Mapping[str, float]:
    """Return the preferences over a probe, new ones replacing earlier ones."""
    earlier = before[name].over if name in before else {}
    return {other: share for other, share in earlier.items() if name not in now.get(other, {})} | dict(now[name])


def read_answers(
    choices: Path | None, triplets: str | None, ratings: Path | None, edits: Sequence[Edit], outcomes: Sequence[Outcome]
) -> PeopleAnswers:
    """Read what choices, triplets and ratings say about outcomes.

    Where people are evenly split nothing is known.
    """
    seeds = _seeds_of_first_turns(edits, outcomes)
    remarks: list[str] = []
    over: dict[tuple[OutcomeKey, OutcomeKey], float] = {}
    if triplets is not None:
        triples = find_triplets(read_roles(triplets), seeds)
        over |= {(good, other): 1.0 for good, *worse in triples.outcomes for other in worse}
        remarks += [f"{triples.incomplete} triplets are incomplete: left out"] if triples.incomplete else []
    if choices is not None:
        matched = match(read_choices(choices), seeds)
        shares = _shares(matched)
        for (first, second), share in shares.items():
            for either in ((first, second), (second, first)):  # people know better than the roles of a triplet
                over.pop(either, None)
            if share != EVEN_SHARE:
                over[(first, second) if share > EVEN_SHARE else (second, first)] = max(share, 1 - share)
        even = sum(share == EVEN_SHARE for share in shares.values())
        remarks += [*_lost(matched), *([f"{even} pairs split people evenly: left out"] if even else [])]
    done: Mapping[OutcomeKey, bool] = {}
    if ratings is not None:
        rated = match(read_ratings(ratings), seeds)
        done = _done(rated, ratings)
        remarks += _lost(rated)
    return PeopleAnswers(over, done, tuple(remarks))


def _seeds_of_first_turns(edits: Sequence[Edit], outcomes: Sequence[Outcome]) -> Seeds:
    """Return the outcomes with an image; those of later turns have different sources, and cannot be compared."""
    order = {edit.id: index for index, edit in enumerate(edits) if edit.follows is None}
    comparable = [outcome for outcome in outcomes if outcome.image is not None and outcome.edit_id in order]
    seeds: dict[tuple[str, str], list[int]] = {}
    for outcome in sorted(comparable, key=lambda outcome: order[outcome.edit_id]):
        seeds.setdefault((outcome.edit_id, outcome.method), []).append(outcome.seed)
    return seeds


def _shares(matched: Matched[PreferredOutcome]) -> dict[tuple[OutcomeKey, ...], float]:
    """Return the share of votes for the first outcome of each pair; a tie counts half."""
    earned: dict[tuple[OutcomeKey, ...], list[float]] = defaultdict(list)
    for keys, choice in matched.pairs:
        turned = keys[::-1] in earned
        earned[keys[::-1] if turned else keys].append(1 - CREDIT[choice.choice] if turned else CREDIT[choice.choice])
    return {keys: fmean(value) for keys, value in earned.items()}


def _done(rated: Matched[Rating], file: Path) -> Mapping[OutcomeKey, bool]:
    by_question = majorities(rated, GOOD_LEVELS)
    questions = [name for name in DONE_QUESTIONS if name in by_question] or (
        list(by_question) if len(by_question) == 1 else []
    )
    if not questions:
        rated_questions = sorted({rating.question for _, rating in rated.pairs})
        raise BadInputError(
            f"None of the questions in '{file}' says whether the edit was carried out; "
            f"'{DONE_QUESTIONS[0]}' with 0 and 1 does.",
            [f"'{question}'" for question in rated_questions],
        )
    return by_question[questions[0]].good


def _lost(matched: Matched[PreferredOutcome] | Matched[Rating]) -> list[str]:
    remarks = []
    if matched.unmatched:
        remarks.append(
            f"{matched.unmatched} answers are of outcomes that are not there, first {matched.first_unmatched}"
        )
    if matched.ambiguous:
        remarks.append(f"{matched.ambiguous} answers name no seed, and there are several: left out")
    return remarks
