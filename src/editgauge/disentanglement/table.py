"""The rows of PixLens's table 3, a column per model, and next to them what the released code computes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from editgauge._stats.resampling import Estimate
from editgauge.disentanglement.inter_attribute import Classified
from editgauge.disentanglement.scores import Disentanglement, KindScores


@dataclass(frozen=True, slots=True)
class ScoreRow:
    """One score of every model."""

    name: str
    estimates: tuple[Estimate, ...]
    is_released: bool = False
    """Computed as the released code does, for comparison only."""


@dataclass(frozen=True, slots=True)
class RowGroup:
    """The rows that answer one question."""

    title: str
    about: str
    higher_is_better: bool
    rows: tuple[ScoreRow, ...]


def table_rows(models: Sequence[Disentanglement]) -> tuple[RowGroup, ...]:
    """Intra-sample, inter-sample and inter-attribute, in the order of the paper."""
    return (
        RowGroup(
            "Intra-sample error",
            "How far z_start + z_a2 - z_a1 misses z_end, as a share of z_end's length. Unrelated latents give 2.",
            False,
            (
                *_by_kind(models, lambda scores: scores.error),
                _all(models, "signs as released (z_a2 + z_a1 - z_start)", lambda scores: scores.error_released),
            ),
        ),
        RowGroup(
            "Inter-sample agreement",
            "Mean squared cosine between what one change of attribute does to several objects. Unrelated ones give 0.",
            True,
            (
                *_by_kind(models, lambda scores: scores.agreement),
                _all(models, "plain cosine, as released", lambda scores: scores.cosine_released),
            ),
        ),
        RowGroup(
            "Inter-attribute accuracy",
            _about_accuracy(models[0].classified[0]),
            True,
            tuple(row for place in range(len(models[0].classified)) for row in _accuracies(models, place)),
        ),
    )


def _by_kind(models: Sequence[Disentanglement], score: Callable[[KindScores], Estimate]) -> list[ScoreRow]:
    rows = [ScoreRow("all kinds", tuple(score(model.overall) for model in models))]
    for place, scores in enumerate(models[0].kinds):
        rows.append(ScoreRow(scores.kind, tuple(score(model.kinds[place]) for model in models)))
    return rows


def _all(models: Sequence[Disentanglement], what: str, score: Callable[[KindScores], Estimate]) -> ScoreRow:
    return ScoreRow(f"all kinds, {what}", tuple(score(model.overall) for model in models), is_released=True)


def _accuracies(models: Sequence[Disentanglement], place: int) -> list[ScoreRow]:
    classified = [model.classified[place] for model in models]
    which = difference_of(classified[0])
    is_released = classified[0].split == "by_row"
    return [
        ScoreRow(f"accuracy{which}", tuple(one.accuracy for one in classified), is_released),
        ScoreRow(f"balanced accuracy{which}", tuple(one.balanced_accuracy for one in classified), is_released),
    ]


def difference_of(classified: Classified) -> str:
    """How one classification differs from the usual one, to be added to its name."""
    if classified.released_rows is not None:
        rows = "rows of figures 15 to 18" if classified.released_rows == "figures" else "rows of the public code"
        return f", linear layer with Adam as released, {classified.rows:,} {rows}"
    words = ", ".join(f"'{word}'" for word in classified.left_out)
    split = ", split by row, as released" if classified.split == "by_row" else ""
    return split + (f", without {words}" if words else "")


def _about_accuracy(classified: Classified) -> str:
    return (
        f"How often a linear classifier names the kind of the attribute that two objects share, on attributes it "
        f"never saw: {classified.rounds} splits pooled. Chance: balanced {1 / len(classified.kinds):.2f}. With rows of "
        f"one attribute in both parts, as released, noise too is classified right."
    )
