"""Select scores of a run by name, and match human answers to its outcomes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic

import numpy as np

from editgauge._util.fields import format_value
from editgauge.analysis.ratings import Answer, Rating
from editgauge.errors import BadInputError, UnknownNameError
from editgauge.results import OutcomeKey, Run, ScoreColumns

if TYPE_CHECKING:
    from editgauge.types import ScoreSpec

Seeds = Mapping[tuple[str, str], Sequence[int]]
"""Edit and method to the seeds of the run's outcomes."""


@dataclass(frozen=True, slots=True)
class Matched(Generic[Answer]):
    """Answers about outcomes of a run, with counts of those that match none."""

    pairs: tuple[tuple[tuple[OutcomeKey, ...], Answer], ...]
    unmatched: int
    """Answers about outcomes that the run does not have."""
    first_unmatched: str
    ambiguous: int
    """Answers without a seed about outcomes that the run has with several seeds."""


def match(answers: Sequence[Answer], seeds: Seeds) -> Matched[Answer]:
    """Match answers to the outcomes of a run; raise `BadInputError` when none matches."""
    pairs: list[tuple[tuple[OutcomeKey, ...], Answer]] = []
    unmatched: list[str] = []
    ambiguous = 0
    only_method = _only_method(seeds) if any(not method for one in answers for _, method, _ in one.about) else ""
    for answer in answers:
        candidates = [_candidates(edit, method or only_method, seed, seeds) for edit, method, seed in answer.about]
        if not all(candidates):
            unmatched.append(_describe_outcome(*answer.about[candidates.index([])]))
        elif any(len(keys) > 1 for keys in candidates):
            ambiguous += 1
        else:
            pairs.append((tuple(keys[0] for keys in candidates), answer))
    if not pairs:
        reason = f"the first is of {unmatched[0]}" if unmatched else "the run has several seeds: say which was shown"
        raise BadInputError(f"None of the {len(answers)} answers is of an outcome of this run; {reason}.")
    return Matched(tuple(pairs), len(unmatched), unmatched[0] if unmatched else "", ambiguous)


def _only_method(seeds: Seeds) -> str:
    """Return the only method of the run; raise `BadInputError` when it has several."""
    methods = sorted({method for _, method in seeds})
    if len(methods) != 1:
        raise BadInputError(
            "The answers do not name the method they are about, and the run has several: write them to a CSV with "
            "`editgauge data ratings NAME --data PATH --method METHOD`, and give that file. Methods of the run:",
            methods,
        )
    return methods[0]


def _candidates(edit: str, method: str, seed: int | None, seeds: Seeds) -> list[OutcomeKey]:
    return [
        OutcomeKey(edit, method, candidate)
        for candidate in seeds.get((edit, method), ())
        if seed is None or candidate == seed
    ]


def _describe_outcome(edit: str, method: str, seed: int | None) -> str:
    return f"edit {format_value(edit)}, method {format_value(method)}" + ("" if seed is None else f", seed {seed}")


def by_question(matched: Matched[Rating]) -> dict[str, dict[OutcomeKey, list[Rating]]]:
    """Group matched ratings by question and outcome."""
    questions: dict[str, dict[OutcomeKey, list[Rating]]] = {}
    for (key,), rating in matched.pairs:
        questions.setdefault(rating.question, {}).setdefault(key, []).append(rating)
    return questions


def mean_by_edit(values: Iterable[tuple[str, float]]) -> dict[str, float]:
    """Average values by edit, over seeds."""
    by_edit: dict[str, list[float]] = {}
    for edit, value in values:
        by_edit.setdefault(edit, []).append(value)
    return {edit: float(np.mean(numbers)) for edit, numbers in by_edit.items()}


def values_by_edit(outcomes: ScoreColumns, protocol: str, name: str, method: str) -> dict[str, float]:
    """Return the value per edit of one score of one method, averaged over seeds."""
    values = outcomes.values(protocol, name)
    return mean_by_edit((key.edit, value) for key, value in values.items() if key.method == method)


def select_methods(run: Run, method: str | None) -> list[str]:
    """Return the method as a list, or all methods of the run for None."""
    if method is None:
        return list(run.manifest.methods)
    if method not in run.manifest.methods:
        raise UnknownNameError("method in this run", method, run.manifest.methods, f"editgauge report {run.folder}")
    return [method]


def select_scores(
    run: Run, names: Sequence[str], judges: Sequence[tuple[str, ScoreSpec]] = ()
) -> list[tuple[str, ScoreSpec]]:
    """Return the scores with these names: `edit`, `pixlens/edit`, with wildcards `augclip*/*`; all without names.

    `clip_i` also selects `clip_i[clip-b16]`: a name without a model means the one that was used.
    """
    available = [(protocol, spec) for protocol, entry in run.manifest.protocols.items() for spec in entry.scores]
    available += judges
    plain, full = ({spec.name for _, spec in available}, {f"{protocol}/{spec.name}" for protocol, spec in available})
    labels = plain | full
    selected = set() if names else labels
    for name in names:
        pattern = _pattern(name)
        matches = {score for score in labels if pattern.fullmatch(score)}
        matches = matches or {score for score in labels if pattern.fullmatch(_MODEL.sub("", score))}
        if not matches:
            raise UnknownNameError("score in this run", name, full if "/" in name else plain)
        selected |= matches
    return [score for score in available if {score[1].name, f"{score[0]}/{score[1].name}"} & selected]


_MODEL = re.compile(r"\[[^\[\]]*\]\Z")
"""The model suffix of a score name."""


def _pattern(name: str) -> re.Pattern[str]:
    """Compile a name with `*` and `?` wildcards; brackets of a variant, `augclip[lda]`, are literal."""
    return re.compile(re.escape(name).replace(r"\*", ".*").replace(r"\?", "."), re.DOTALL)


VERDICT = "edit"


def select_score(run: Run, score: str | None) -> tuple[str, ScoreSpec]:
    """Return the score called `name` or `protocol/name`; by default the verdict `edit`, or the only score."""
    candidates = select_scores(run, [score] if score else [])
    if score is None:
        candidates = [pair for pair in candidates if pair[1].name == VERDICT] or candidates
    if len(candidates) != 1:
        names = [f"{protocol}/{spec.name}" for protocol, spec in candidates]
        raise BadInputError(f"The run has {len(candidates)} matching scores; choose one with `score`.", names)
    return candidates[0]


def scored_outcomes(run: Run) -> ScoreColumns:
    """Return `run.score_columns`."""
    return run.score_columns
