"""People's answers as probes: outcomes that they compared or called done, copied into a folder of probes."""

from __future__ import annotations

import hashlib
import re
import shutil
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean

import numpy as np

from editgauge._util.images import ImageFile, read_image, write_png
from editgauge._util.masks import Mask, MaskFile, mask_files
from editgauge._util.progress import log_info, progress
from editgauge.analysis.binary_agreement import GOOD_LEVELS, majorities
from editgauge.analysis.choice_agreement import find_triplets, read_roles
from editgauge.analysis.outcomes import Matched, OutcomeKey, ScoredOutcomes, match
from editgauge.analysis.preferences import CREDIT
from editgauge.analysis.ratings import PreferredOutcome, Rating, read_choices, read_ratings
from editgauge.audits.probes.gather import PICTURES
from editgauge.audits.probes.probes import (
    OUTCOMES,
    TRUTHS,
    Probe,
    read_edits,
    read_probes,
    split_of,
    write_edits,
    write_probes,
)
from editgauge.engine._options import pairs
from editgauge.engine._outcomes import claim
from editgauge.errors import BadImageError, BadInputError
from editgauge.methods.layouts.discover import expand_folders
from editgauge.methods.outcomes import find_outcomes
from editgauge.results.edits import benchmark_entry
from editgauge.types import Benchmark, Edit, Outcome

SETTINGS = "people.json"
MASKS, REFERENCES = "masks", "references"
COMMAND = "editgauge build probes --choices"
_NOT_IN_A_NAME = re.compile(r"[/\\:]")
EVEN = 0.5
DONE = ("edit", "accuracy")
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
    """Adds what people said to the probes of a folder, or begins one with it, and gives all of them.

    What is said now of an outcome or of a pair replaces what was said before; all else that was said stays.
    """
    edits = {edit.id: edit for edit in benchmark.edits}
    paths = pairs(outcomes if isinstance(outcomes, Mapping) else expand_folders(outcomes), "outcomes", "NAME=FOLDER")
    places = {name: Path(path).expanduser() for name, path in paths.items()}
    probes = [
        outcome
        for name, place in places.items()
        for outcome in find_outcomes(name, place, benchmark.edits, layout).outcomes
    ]
    answers = read_answers(
        Path(choices) if choices is not None else None,
        triplets,
        Path(ratings) if ratings is not None else None,
        benchmark.edits,
        probes,
    )
    pictures = {OutcomeKey(probe.edit_id, probe.method, probe.seed): probe.image for probe in probes}
    if not (folder / TRUTHS).is_file():
        claim(folder, SETTINGS, {"benchmark": benchmark.name, "methods": list(places)}, "people's answers", COMMAND)
    for remark in answers.remarks:
        log_info(remark, quiet=quiet)
    lines = []
    with progress("copying", len(answers.outcomes), quiet=quiet) as advance:
        for key in answers.outcomes:
            lines.append(_copied(folder, key, edits[key.edit], pictures[key], quiet))
            advance()
    return _joined(folder, answers, edits, [line for line in lines if line is not None])


def name_of(key: OutcomeKey) -> str:
    """The id of the probe that an outcome becomes.

    >>> name_of(OutcomeKey("cat", "hub/ours", 2))
    'cat--by-hub-ours__seed2'
    """
    return _NOT_IN_A_NAME.sub("-", f"{key.edit}--by-{key.method}") + (f"__seed{key.seed}" if key.seed else "")


def _copied(
    folder: Path, key: OutcomeKey, edit: Edit, image: Path | None, quiet: bool
) -> tuple[OutcomeKey, Edit] | None:
    """The edit as the folder holds it, with all its pictures; None when one cannot be read."""
    name = name_of(key)
    try:
        source = read_image(edit.source.path)
        write_png(read_image(image or Path()), folder / OUTCOMES / f"{name}.png")
        kept = replace(
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
    return key, kept


def _stored(folder: Path, within: str, path: Path) -> ImageFile:
    """A copy named by its content, so that edits of one photograph share it."""
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
    kept = dict(copied)
    names = {key: name_of(key) for key in kept}
    if len(set(names.values())) < len(names):
        raise BadInputError("Two methods have names that differ by signs no file name may hold; rename one of them.")
    over: dict[str, dict[str, float]] = {name: {} for name in names.values()}
    for (better, worse), share in answers.over.items():
        if better in kept and worse in kept:
            over[names[better]][names[worse]] = share
    there = (folder / TRUTHS).is_file()
    before = {probe.id: probe for probe in read_probes(folder)} if there else {}
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
        for key in kept
    }
    entries = {item.id: benchmark_entry(item) for item in kept.values()}
    if there:
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
    scored = _known(edits, outcomes)
    remarks: list[str] = []
    over: dict[tuple[OutcomeKey, OutcomeKey], float] = {}
    if triplets is not None:
        triples = find_triplets(read_roles(triplets), scored)
        over |= {(good, other): 1.0 for good, *worse in triples.outcomes for other in worse}
        remarks += [f"{triples.incomplete} triplets are incomplete: left out"] if triples.incomplete else []
    if choices is not None:
        matched = match(read_choices(choices), scored.seeds)
        shares = _shares(matched)
        for (first, second), share in shares.items():
            for either in ((first, second), (second, first)):  # people know better than the roles of a triplet
                over.pop(either, None)
            if share != EVEN:
                over[(first, second) if share > EVEN else (second, first)] = max(share, 1 - share)
        even = sum(share == EVEN for share in shares.values())
        remarks += [*_lost(matched), *([f"{even} pairs split people evenly: left out"] if even else [])]
    done: Mapping[OutcomeKey, bool] = {}
    if ratings is not None:
        rated = match(read_ratings(ratings), scored.seeds)
        done = _done(rated, ratings)
        remarks += _lost(rated)
    return PeopleAnswers(over, done, tuple(remarks))


def _known(edits: Sequence[Edit], outcomes: Sequence[Outcome]) -> ScoredOutcomes:
    """Outcomes with a picture; those of later turns have sources of their own, and cannot be compared."""
    first_turns = {edit.id: edit for edit in edits if edit.follows is None}
    scored = ScoredOutcomes(sources={name: edit.origin for name, edit in first_turns.items()})
    for outcome in outcomes:
        if outcome.image is not None and outcome.edit_id in first_turns:
            scored.seeds.setdefault((outcome.edit_id, outcome.method), []).append(outcome.seed)
    return scored


def _shares(matched: Matched[PreferredOutcome]) -> dict[tuple[OutcomeKey, ...], float]:
    """For each pair, in the order in which it was first shown, the share for its first outcome; a tie counts half."""
    earned: dict[tuple[OutcomeKey, ...], list[float]] = defaultdict(list)
    for keys, choice in matched.pairs:
        turned = keys[::-1] in earned
        earned[keys[::-1] if turned else keys].append(1 - CREDIT[choice.choice] if turned else CREDIT[choice.choice])
    return {keys: fmean(value) for keys, value in earned.items()}


def _done(rated: Matched[Rating], file: Path) -> Mapping[OutcomeKey, bool]:
    by_question = majorities(rated, GOOD_LEVELS)
    questions = [name for name in DONE if name in by_question] or (list(by_question) if len(by_question) == 1 else [])
    if not questions:
        rated_questions = sorted({rating.question for _, rating in rated.pairs})
        raise BadInputError(
            f"None of the questions in '{file}' says whether the edit was carried out; '{DONE[0]}' with 0 and 1 does.",
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
