"""Results of a human study: levels per method and edit type, choices, rater agreement, attribute importance.

EditVal (arXiv 2310.02426, figures 12 and 13) reports the levels of its study as stacked bars; AugCLIP (table 7)
compares attribute weights with human importance.


EditVal (arXiv 2310.02426, figures 12 and 13) shows the levels of its human study so, as stacked bars.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from editgauge._stats.agreement import PEARSON, choice_agreement, correlate
from editgauge._stats.intervals import Labels, Mean, Numbers, clustered_mean
from editgauge._stats.raters import Panel, RaterBias, Scale, answer_matrix, krippendorff, panel, rater_bias
from editgauge._stats.resampling import Estimate
from editgauge.analysis.feedback import Feedback
from editgauge.analysis.preferences import PairwisePreferences
from editgauge.analysis.summary import ALL
from editgauge.errors import BadInputError
from editgauge.evidence import WEIGHTS_OF_ATTRIBUTES, Scatter, from_json
from editgauge.results import Run


@dataclass(frozen=True, slots=True)
class AnswerLevel:
    """One option of a question."""

    label: str
    value: float | None
    """Numeric value; None for unordered options."""


@dataclass(frozen=True, slots=True)
class CountedQuestion:
    """A question with countable answers."""

    name: str
    label: str
    levels: tuple[AnswerLevel, ...]
    """In ascending order where they have numbers."""

    @property
    def is_ordered(self) -> bool:
        """Tell whether every option has a number; only then is there a mean."""
        return all(level.value is not None for level in self.levels)


@dataclass(frozen=True, slots=True)
class LevelAnswer:
    """One rater's answer about one outcome."""

    outcome: str
    method: str
    edit_type: str
    source: str
    rater: str
    level: int
    """Index of the option."""


@dataclass(frozen=True, slots=True)
class LevelCell:
    """The answers about one method and edit type."""

    counts: tuple[int, ...]
    """How often each level was given."""
    mean: Mean | None
    """Mean over outcomes of the mean of their raters; None for unordered options."""
    majority: tuple[int, ...] = ()
    """Outcomes to which more than half of their raters gave the level; only those with two raters or more."""
    outcomes: int = 0
    """Outcomes with two raters or more."""

    @property
    def shares(self) -> tuple[float, ...]:
        """Return the share of answers of each level."""
        return tuple(count / sum(self.counts) for count in self.counts)


@dataclass(frozen=True, slots=True)
class QuestionFindings:
    """Results of one question."""

    question: CountedQuestion
    answers: int
    cells: Mapping[tuple[str | None, str], LevelCell]
    """By method (None for all) and edit type (`all` for all); only rated combinations."""
    raters: int
    panel: Panel | None
    """How often they give the same answer; None when no outcome has two answers."""
    alpha: Estimate
    """Krippendorff's."""
    scale: Scale
    """Measurement level that alpha assumes."""
    bias: tuple[RaterBias, ...]
    """Empty for unordered options."""


@dataclass(frozen=True, slots=True)
class SideFindings:
    """Results of one question about two sides."""

    name: str
    label: str
    pairwise: PairwisePreferences
    panel: Panel | None
    """How often the raters of a pair choose the same; None when no pair has two answers."""
    alpha: Estimate
    """Krippendorff's alpha of first, second and tie as nominal answers."""
    left: Mean | None
    """How often the left side was preferred; 0.5 without position bias. None when all are ties."""
    left_by_rater: dict[str, Mean]


@dataclass(frozen=True, slots=True)
class StudyFindings:
    """Results of a study, without gold items."""

    title: str
    answers: int
    """Counted pages."""
    questions: tuple[QuestionFindings, ...]
    sides: tuple[SideFindings, ...]
    reasons: tuple[Feedback, ...]
    """Kinds of issues in the remarks."""
    not_counted: tuple[str, ...]
    """Questions with free text or multiple choice: exported, not counted."""
    labels: dict[str, str]
    """Rater to the owner's label."""


def question_findings(question: CountedQuestion, answers: Sequence[LevelAnswer]) -> QuestionFindings:
    """Summarize the answers to a question."""
    if not answers:
        raise ValueError(f"answers to '{question.name}' must not be empty")
    groups: dict[tuple[str | None, str], list[LevelAnswer]] = defaultdict(list)
    for answer in answers:
        for method in (None, answer.method):
            for edit_type in (ALL, answer.edit_type):
                groups[method, edit_type].append(answer)
    matrix, raters, sources = _matrix(question, answers)
    scale: Scale = "ordinal" if question.is_ordered else "nominal"
    return QuestionFindings(
        question,
        len(answers),
        {key: _cell(question, groups[key]) for key in sorted(groups, key=_all_first)},
        raters=len(raters),
        panel=panel(matrix, sources),
        alpha=krippendorff(matrix, scale, sources),
        scale=scale,
        bias=tuple(rater_bias(matrix, raters, sources)) if question.is_ordered else (),
    )


def _all_first(key: tuple[str | None, str]) -> tuple[bool, str, bool, str]:
    method, edit_type = key
    return method is not None, method or "", edit_type != ALL, edit_type


def _cell(question: CountedQuestion, answers: Sequence[LevelAnswer]) -> LevelCell:
    counts = np.bincount([answer.level for answer in answers], minlength=len(question.levels))
    by_outcome: dict[str, list[int]] = defaultdict(list)
    for answer in answers:
        by_outcome[answer.outcome].append(answer.level)
    rated_twice = [levels for levels in by_outcome.values() if len(levels) > 1]
    modes = (Counter(levels).most_common(1)[0] + (len(levels),) for levels in rated_twice)
    majority = Counter(level for level, count, raters in modes if 2 * count > raters)
    return LevelCell(
        tuple(int(count) for count in counts),
        _mean(question, answers),
        majority=tuple(majority[level] for level in range(len(question.levels))),
        outcomes=len(rated_twice),
    )


def _mean(question: CountedQuestion, answers: Sequence[LevelAnswer]) -> Mean | None:
    by_outcome: dict[tuple[str, str], list[float]] = defaultdict(list)
    for answer in answers:
        value = question.levels[answer.level].value
        if value is None:
            return None
        by_outcome[answer.outcome, answer.source].append(value)
    means = np.array([np.mean(values) for values in by_outcome.values()])
    values = [level.value for level in question.levels if level.value is not None]
    sources = np.array([source for _, source in by_outcome], dtype=np.str_)
    return clustered_mean(means, sources, scale=(min(values), max(values)))


def _matrix(question: CountedQuestion, answers: Sequence[LevelAnswer]) -> tuple[Numbers, list[str], Labels]:
    """Return the answers by outcome and rater, the raters, and the source images of the outcomes."""
    sources = {answer.outcome: answer.source for answer in answers}
    raters = sorted({answer.rater for answer in answers})
    levels = enumerate(question.levels)
    numbers = [index if level.value is None or not question.is_ordered else level.value for index, level in levels]
    matrix = answer_matrix(((answer.outcome, answer.rater, numbers[answer.level]) for answer in answers), raters)
    return matrix, raters, np.array(list(sources.values()), dtype=np.str_)


SIDE_VALUES = {"first": 1.0, "tie": 0.0, "second": -1.0}
Weights = dict[str, dict[tuple[str, str], dict[str, float]]]
"""Protocol to edit and side to attribute to weight."""


@dataclass(frozen=True, slots=True)
class ComparedAttributes:
    """One person's answer about two attributes of an edit."""

    edit: str
    first: str
    second: str
    important: str
    """`first`, `second` or `tie`."""


@dataclass(frozen=True, slots=True)
class WeightAgreement:
    """Agreement of one protocol's weights with people on one side of the edits."""

    protocol: str
    side: str
    correlation: Estimate
    """Pearson's, of the difference of two weights with people's preference for the first, over pairs of attributes."""
    choices: Estimate
    """The share of pairs in which the heavier attribute is the one that most people prefer."""


def weight_agreement(run: Run, answers: Iterable[ComparedAttributes]) -> tuple[WeightAgreement, ...]:
    """Compare each protocol's weights with people's answers, for source and target attributes."""
    preferences: dict[tuple[str, str, str], list[float]] = defaultdict(list)
    for answer in answers:
        preferences[answer.edit, answer.first, answer.second].append(SIDE_VALUES[answer.important])
    weights = _weights(run)
    if not weights:
        raise BadInputError(
            f"The run '{run.folder}' holds no weights of attributes. Score it with --protocol augclip and "
            "--protocol 'augclip[naive]' to compare both with people."
        )
    agreements: list[WeightAgreement] = []
    for protocol, by_edit in weights.items():
        for side in ("source", "target"):
            rows = [
                (by_edit[edit, side][first] - by_edit[edit, side][second], float(np.mean(values)), edit)
                for (edit, first, second), values in preferences.items()
                if {first, second} <= by_edit.get((edit, side), {}).keys()
            ]
            if rows:
                agreements.append(_agreement(protocol, side, rows))
    return tuple(agreements)


def _agreement(protocol: str, side: str, rows: list[tuple[float, float, str]]) -> WeightAgreement:
    weight_differences, preferences = (np.array(column, np.float64) for column in list(zip(*rows, strict=True))[:2])
    edits = np.array([edit for *_, edit in rows], dtype=np.str_)
    decided = preferences != 0
    zeros = np.zeros(int(decided.sum()))
    choices = choice_agreement(weight_differences[decided], zeros, preferences[decided] > 0, edits[decided])
    return WeightAgreement(protocol, side, correlate(PEARSON, weight_differences, preferences, edits), choices)


def _weights(run: Run) -> Weights:
    weights: Weights = defaultdict(dict)
    for key, _, text in run.iter_evidence():
        if WEIGHTS_OF_ATTRIBUTES not in text:
            continue
        piece = from_json(json.loads(text))
        if not isinstance(piece, Scatter):
            continue
        for point in piece.points:
            side = point.group.removesuffix(" attributes")
            weights[key.protocol].setdefault((key.edit, side), {})[point.name] = point.x
    return dict(weights)
