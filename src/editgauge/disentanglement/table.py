"""The rows of PixLens's table 3, a column per model, and next to them what the released code computes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from editgauge.disentanglement.inter_attribute import Classified
from editgauge.disentanglement.scores import Disentanglement, KindScores
from editgauge.stats.resampling import Estimate


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
                *_by_kind(models, lambda its: its.error),
                _all(models, "signs as released (z_a2 + z_a1 - z_start)", lambda its: its.error_released),
            ),
        ),
        RowGroup(
            "Inter-sample agreement",
            "Mean squared cosine between what one change of attribute does to several objects. Unrelated ones give 0.",
            True,
            (
                *_by_kind(models, lambda its: its.agreement),
                _all(models, "plain cosine, as released", lambda its: its.cosine_released),
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
    for place, its in enumerate(models[0].kinds):
        rows.append(ScoreRow(its.kind, tuple(score(model.kinds[place]) for model in models)))
    return rows


def _all(models: Sequence[Disentanglement], what: str, score: Callable[[KindScores], Estimate]) -> ScoreRow:
    return ScoreRow(f"all kinds, {what}", tuple(score(model.overall) for model in models), is_released=True)


def _accuracies(models: Sequence[Disentanglement], place: int) -> list[ScoreRow]:
    each = [model.classified[place] for model in models]
    which = said(each[0])
    is_released = each[0].split == "by_row"
    return [
        ScoreRow(f"accuracy{which}", tuple(its.accuracy for its in each), is_released),
        ScoreRow(f"balanced accuracy{which}", tuple(its.balanced_accuracy for its in each), is_released),
    ]


def said(its: Classified) -> str:
    """How one classification differs from the usual one, to be added to its name."""
    if its.released_rows is not None:
        rows = "rows of figures 15 to 18" if its.released_rows == "figures" else "rows of the public code"
        return f", linear layer with Adam as released, {its.rows:,} {rows}"
    words = ", ".join(f"'{word}'" for word in its.left_out)
    parts = (["split by row, as released"] if its.split == "by_row" else []) + ([f"without {words}"] if words else [])
    return "".join(f", {part}" for part in parts)


def _about_accuracy(its: Classified) -> str:
    return (
        f"How often a linear classifier names the kind of the attribute that two objects share, on attributes it "
        f"never saw: {its.rounds} splits pooled. Chance: balanced {1 / len(its.kinds):.2f}. With rows of one attribute "
        f"in both parts, as released, noise too is classified right."
    )
