"""Scores of a run by outcome, and human answers matched to outcomes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Generic, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from editgauge._stats.intervals import Labels, Numbers
from editgauge._util.fields import format_value
from editgauge.analysis.ratings import Answer, Rating
from editgauge.errors import BadInputError, UnknownNameError
from editgauge.results import Run

if TYPE_CHECKING:
    from editgauge.types import ScoreSpec

Seeds = Mapping[tuple[str, str], Sequence[int]]
"""Edit and method to the seeds of the run's outcomes."""


class OutcomeKey(NamedTuple):
    """Identity of an outcome: edit, method and seed."""

    edit: str
    method: str
    seed: int


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


@dataclass(slots=True)
class ScoredOutcomes:
    """Values and reasons of a run by outcome."""

    values: dict[tuple[str, str], dict[OutcomeKey, float]] = field(default_factory=dict)
    """Protocol and name to the scored outcomes."""
    reasons: dict[tuple[str, str], dict[OutcomeKey, str]] = field(default_factory=dict)
    """Protocol and name to unscored outcomes with their reasons."""
    seeds: dict[tuple[str, str], list[int]] = field(default_factory=dict)
    sources: dict[str, str] = field(default_factory=dict)
    edit_types: dict[str, str] = field(default_factory=dict)

    def sources_of(self, keys: Iterable[OutcomeKey]) -> Labels:
        """Return the source image of each outcome."""
        return np.array([self.sources[key.edit] for key in keys], dtype=np.str_)

    def edit_types_of(self, keys: Iterable[OutcomeKey]) -> Labels:
        """Return the edit type of each outcome."""
        return np.array([self.edit_types[key.edit] for key in keys], dtype=np.str_)


def scored_outcomes(run: Run) -> ScoredOutcomes:
    """Read the scores of a run by outcome, in one pass."""
    outcomes = ScoredOutcomes()
    keys: set[OutcomeKey] = set()
    columns = ("edit", "method", "seed", "edit_type", "source", "protocol", "name", "value", "reason")
    rows = zip(*(run.table[column].to_pylist() for column in columns), strict=True)
    for edit, method, seed, edit_type, source, protocol, name, value, reason in rows:
        key = OutcomeKey(edit, method, seed)
        if key not in keys:
            keys.add(key)
            outcomes.seeds.setdefault((edit, method), []).append(seed)
            outcomes.sources[edit], outcomes.edit_types[edit] = source, edit_type
        if value is None:
            outcomes.reasons.setdefault((protocol, name), {})[key] = reason
        else:
            outcomes.values.setdefault((protocol, name), {})[key] = value
    return outcomes


def mean_by_edit(values: Iterable[tuple[str, float]]) -> dict[str, float]:
    """Average values by edit, over seeds."""
    by_edit: dict[str, list[float]] = {}
    for edit, value in values:
        by_edit.setdefault(edit, []).append(value)
    return {edit: float(np.mean(numbers)) for edit, numbers in by_edit.items()}


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


@dataclass(frozen=True, slots=True)
class OneScore:
    """The values of one score by method and outcome."""

    folder: Path
    protocol: str
    spec: ScoreSpec
    values: Mapping[str, Mapping[tuple[str, int], float]]
    """Method to (edit, seed) to value; includes methods without a scored outcome."""
    sources: Mapping[str, str]
    """Edit to the name of its source image."""
    seeds: Seeds

    @classmethod
    def read(cls, folder: Path, score: str | None) -> OneScore:
        """Read the score called `name` or `protocol/name`; by default the verdict `edit`, or the only score."""
        run = Run.open(folder)
        protocol, spec = _single_score(run, score)
        outcomes = scored_outcomes(run)
        values: dict[str, dict[tuple[str, int], float]] = {method: {} for method in run.manifest.methods}
        for key, value in outcomes.values.get((protocol, spec.name), {}).items():
            values[key.method][key.edit, key.seed] = value
        return cls(folder, protocol, spec, values, outcomes.sources, outcomes.seeds)

    def check(self, method: str) -> None:
        """Raise `UnknownNameError` when the run has no such method."""
        if method not in self.values:
            raise UnknownNameError("method in this run", method, self.values, f"editgauge report {self.folder}")

    def by_edit(self, method: str) -> dict[str, float]:
        """Return the value per edit of one method, averaged over seeds."""
        return mean_by_edit((edit, value) for (edit, _), value in self.values[method].items())


def _single_score(run: Run, score: str | None) -> tuple[str, ScoreSpec]:
    candidates = select_scores(run, [score] if score else [])
    if score is None:
        candidates = [pair for pair in candidates if pair[1].name == VERDICT] or candidates
    if len(candidates) != 1:
        names = [f"{protocol}/{spec.name}" for protocol, spec in candidates]
        raise BadInputError(f"The run has {len(candidates)} matching scores; choose one with `score`.", names)
    return candidates[0]


Rows = NDArray[np.int64]
WORD_COLUMNS = ("protocol", "name", "method", "edit_type", "source", "edit", "reason")


@dataclass(frozen=True, slots=True)
class WordColumn:
    """A string column as integer codes that sort like the strings."""

    codes: Rows
    words: list[str]

    @classmethod
    def of(cls, column: pa.ChunkedArray) -> WordColumn:
        """Encode a string column as sorted integer codes; nulls get an arbitrary code."""
        array = column.unify_dictionaries().combine_chunks()
        words = array.dictionary.to_pylist()
        rank = {word: index for index, word in enumerate(sorted(words))}
        ranks = np.array([rank[word] for word in words] or [0])
        return cls(ranks[array.indices.fill_null(0).to_numpy(zero_copy_only=False)], sorted(words))

    def are(self, word: str) -> NDArray[np.bool_]:
        """Tell where the column equals this label."""
        code = self.words.index(word) if word in self.words else -1
        return np.equal(self.codes, code)


@dataclass(frozen=True, slots=True)
class Columns:
    """The columns that tables need, in the order of the run."""

    protocol: WordColumn
    name: WordColumn
    method: WordColumn
    edit_type: WordColumn
    source: WordColumn
    edit: WordColumn
    reason: WordColumn
    """Arbitrary where there is a value."""
    value: Numbers
    """NaN where unscored."""

    @classmethod
    def of(cls, run: Run) -> Columns:
        """Read the columns of a run."""
        words = {name: WordColumn.of(run.table[name]) for name in WORD_COLUMNS}
        return cls(**words, value=run.table["value"].to_numpy())

    def only(self, rows: Rows) -> Columns:
        """Select some rows."""
        words = {name: getattr(self, name) for name in WORD_COLUMNS}
        selected = {name: WordColumn(column.codes[rows], column.words) for name, column in words.items()}
        return Columns(**selected, value=self.value[rows])

    def rows(self, protocol: str, name: str) -> Rows:
        """Return the rows of one score."""
        return np.flatnonzero(self.protocol.are(protocol) & self.name.are(name))

    def scored(self, protocol: str, name: str) -> Rows:
        """Return the rows of one score that have a value."""
        rows = self.rows(protocol, name)
        return rows[~np.isnan(self.value[rows])]
