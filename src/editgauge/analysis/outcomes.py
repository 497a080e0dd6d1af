"""Which outcomes of a run people spoke of, and what the run knows of them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Generic, NamedTuple

import numpy as np

from editgauge._stats.intervals import Labels
from editgauge._util.fields import format_value
from editgauge.analysis.ratings import Answer, Rating
from editgauge.errors import BadInputError, UnknownNameError
from editgauge.results import Run

if TYPE_CHECKING:
    from editgauge.types import ScoreSpec

Seeds = Mapping[tuple[str, str], Sequence[int]]
"""Edit and method to the seeds of which the run has outcomes."""


class OutcomeKey(NamedTuple):
    """An outcome of a run."""

    edit: str
    method: str
    seed: int


@dataclass(frozen=True, slots=True)
class Matched(Generic[Answer]):
    """What was said about outcomes of a run, and how much was said about others."""

    pairs: tuple[tuple[tuple[OutcomeKey, ...], Answer], ...]
    unmatched: int
    """Of outcomes that the run does not have."""
    first_unmatched: str
    ambiguous: int
    """Without a seed, of outcomes that the run has with several seeds: which one was shown is unknown."""


def match(answers: Sequence[Answer], seeds: Seeds) -> Matched[Answer]:
    """Finds the outcomes that were spoken of; raises `BadInputError` when the run has none of them."""
    pairs: list[tuple[tuple[OutcomeKey, ...], Answer]] = []
    unmatched: list[str] = []
    ambiguous = 0
    only_method = _only_method(seeds) if any(not method for one in answers for _, method, _ in one.about) else ""
    for each in answers:
        there = [_candidates(edit, method or only_method, seed, seeds) for edit, method, seed in each.about]
        if not all(there):
            strangers.append(_spoken_of(*each.about[there.index([])]))
        elif any(len(keys) > 1 for keys in there):
            undecided += 1
        else:
            pairs.append((tuple(keys[0] for keys in there), each))
    if not pairs:
        why = f"the first is of {strangers[0]}" if strangers else "the run has several seeds: say which was shown"
        raise BadInputError(f"None of the {len(answers)} answers is of an outcome of this run; {why}.")
    return Matched(tuple(pairs), len(strangers), strangers[0] if strangers else "", undecided)


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
    return [OutcomeKey(edit, method, one) for one in seeds.get((edit, method), ()) if seed is None or one == seed]


def _spoken_of(edit: str, method: str, seed: int | None) -> str:
    return f"edit {format_value(edit)}, method {format_value(method)}" + ("" if seed is None else f", seed {seed}")


def by_question(matched: Matched[Rating]) -> dict[str, dict[OutcomeKey, list[Rating]]]:
    """Question to outcome to its ratings."""
    questions: dict[str, dict[OutcomeKey, list[Rating]]] = {}
    for (key,), rating in matched.pairs:
        questions.setdefault(rating.question, {}).setdefault(key, []).append(rating)
    return questions


@dataclass(slots=True)
class ScoredOutcomes:
    """What the run knows of its outcomes."""

    values: dict[tuple[str, str], dict[OutcomeKey, float]] = field(default_factory=dict)
    """Protocol and name to what is scored."""
    reasons: dict[tuple[str, str], dict[OutcomeKey, str]] = field(default_factory=dict)
    """Protocol and name to what is not, and why."""
    seeds: dict[tuple[str, str], list[int]] = field(default_factory=dict)
    sources: dict[str, str] = field(default_factory=dict)
    edit_types: dict[str, str] = field(default_factory=dict)

    def sources_of(self, keys: Iterable[OutcomeKey]) -> Labels:
        """The source image of each outcome."""
        return np.array([self.sources[key.edit] for key in keys], dtype=np.str_)

    def edit_types_of(self, keys: Iterable[OutcomeKey]) -> Labels:
        """The edit type of each outcome."""
        return np.array([self.edit_types[key.edit] for key in keys], dtype=np.str_)


def scored_outcomes(run: Run) -> ScoredOutcomes:
    """Reads all of it in one pass."""
    outcomes = ScoredOutcomes()
    seen: set[OutcomeKey] = set()
    columns = ("edit", "method", "seed", "edit_type", "source", "protocol", "name", "value", "reason")
    rows = zip(*(run.scores[column].to_pylist() for column in columns), strict=True)
    for edit, method, seed, edit_type, source, protocol, name, value, reason in rows:
        key = OutcomeKey(edit, method, seed)
        if key not in seen:
            seen.add(key)
            outcomes.seeds.setdefault((edit, method), []).append(seed)
            outcomes.sources[edit], outcomes.edit_types[edit] = source, edit_type
        if value is None:
            outcomes.reasons.setdefault((protocol, name), {})[key] = reason
        else:
            outcomes.values.setdefault((protocol, name), {})[key] = value
    return outcomes


def mean_by_edit(values: Iterable[tuple[str, float]]) -> dict[str, float]:
    """Edit to value; an edit with several seeds counts with their mean."""
    by_edit: dict[str, list[float]] = {}
    for edit, value in values:
        by_edit.setdefault(edit, []).append(value)
    return {edit: float(np.mean(some)) for edit, some in by_edit.items()}


def select_scores(
    run: Run, names: Sequence[str], judges: Sequence[tuple[str, ScoreSpec]] = ()
) -> list[tuple[str, ScoreSpec]]:
    """The scores of the run and of judges with these names: `edit`, `pixlens/edit`, by wild cards `augclip*/*`; or all.

    `clip_i` is `clip_i[clip-b16]` too: a name without a model means the one that was used.
    """
    everything = [(protocol, spec) for protocol, entry in run.manifest.protocols.items() for spec in entry.scores]
    everything += judges
    plain, full = ({spec.name for _, spec in everything}, {f"{protocol}/{spec.name}" for protocol, spec in everything})
    known = plain | full
    wanted = set() if names else known
    for name in names:
        pattern = _pattern(name)
        fitting = {each for each in known if pattern.fullmatch(each)}
        fitting = fitting or {each for each in known if pattern.fullmatch(_MODEL.sub("", each))}
        if not fitting:
            raise UnknownNameError("score in this run", name, full if "/" in name else plain)
        wanted |= fitting
    return [each for each in everything if {each[1].name, f"{each[0]}/{each[1].name}"} & wanted]


_MODEL = re.compile(r"\[[^\[\]]*\]\Z")
"""What stands behind a score that carries its model's name."""


def _pattern(name: str) -> re.Pattern[str]:
    """`*` is anything and `?` any sign; the brackets of a variant, `augclip[lda]`, mean themselves."""
    return re.compile(re.escape(name).replace(r"\*", ".*").replace(r"\?", "."), re.DOTALL)


VERDICT = "edit"


@dataclass(frozen=True, slots=True)
class OneScore:
    """The values of one score, and which outcomes the run has."""

    folder: Path
    protocol: str
    spec: ScoreSpec
    values: Mapping[str, Mapping[tuple[str, int], float]]
    """Method to (edit, seed) to value, for what is scored; every method of the run is there."""
    sources: Mapping[str, str]
    """Edit to the name of its source image."""
    seeds: Seeds

    @classmethod
    def read(cls, folder: Path, score: str | None) -> OneScore:
        """The score called `name` or `protocol/name`; without one, the verdict `edit`, or the only score."""
        run = Run.open(folder)
        protocol, spec = _chosen(run, score)
        outcomes = scored_outcomes(run)
        values: dict[str, dict[tuple[str, int], float]] = {method: {} for method in run.manifest.methods}
        for key, value in outcomes.values.get((protocol, spec.name), {}).items():
            values[key.method][key.edit, key.seed] = value
        return cls(folder, protocol, spec, values, outcomes.sources, outcomes.seeds)

    def check(self, method: str) -> None:
        """Says which methods there are when this one is unknown."""
        if method not in self.values:
            raise UnknownNameError("method in this run", method, self.values, f"editgauge report {self.folder}")

    def by_edit(self, method: str) -> dict[str, float]:
        """Edit to value; an edit with several seeds counts with their mean."""
        return mean_by_edit((edit, value) for (edit, _), value in self.values[method].items())


def _chosen(run: Run, score: str | None) -> tuple[str, ScoreSpec]:
    fitting = select_scores(run, [score] if score else [])
    if score is None:
        fitting = [pair for pair in fitting if pair[1].name == VERDICT] or fitting
    if len(fitting) != 1:
        names = [f"{protocol}/{spec.name}" for protocol, spec in fitting]
        raise BadInputError(f"There are {len(fitting)} such scores in the run: choose one with --score.", names)
    return fitting[0]
