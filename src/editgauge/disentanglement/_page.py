"""Render the disentanglement table (PixLens, table 3) and the HTML page."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from markupsafe import Markup

from editgauge._render import text as words
from editgauge._render.svg import AxisRange, Plane
from editgauge._stats.resampling import Estimate
from editgauge._util.images import read_image
from editgauge._util.text import format_count
from editgauge.disentanglement._classifier import Classification
from editgauge.disentanglement._latents import Latents
from editgauge.disentanglement._scores import Disentanglement, EditScoreComparison, KindScores, linearity_error
from editgauge.disentanglement._vocabulary import Vocabulary
from editgauge.judges._questions import data_url
from editgauge.reports.context import write_page
from editgauge.reports.images import fitted
from editgauge.reports.pages import page_in
from editgauge.reports.sections.edit_types import COLOR_STEPS


@dataclass(frozen=True, slots=True)
class ScoreRow:
    """One score, with one estimate per model."""

    name: str
    estimates: tuple[Estimate, ...]
    is_released: bool = False
    """True for a score of the released code, shown for comparison."""


@dataclass(frozen=True, slots=True)
class RowGroup:
    """The rows of one measure."""

    title: str
    about: str
    higher_is_better: bool
    rows: tuple[ScoreRow, ...]


def table_rows(models: Sequence[Disentanglement]) -> tuple[RowGroup, ...]:
    """Return the intra-sample, inter-sample and inter-attribute rows, in the order of the paper."""
    return (
        RowGroup(
            "Intra-sample error",
            "Distance of z_start + z_a2 - z_a1 from z_end, relative to the length of z_end. Unrelated latents give 2.",
            False,
            (
                *_by_kind(models, lambda scores: scores.error),
                _all(models, "signs as released (z_a2 + z_a1 - z_start)", lambda scores: scores.error_released),
            ),
        ),
        RowGroup(
            "Inter-sample agreement",
            "Mean squared cosine between the effects of one attribute change on several objects. Unrelated: 0.",
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
            tuple(row for index in range(len(models[0].classified)) for row in _accuracies(models, index)),
        ),
    )


def _by_kind(models: Sequence[Disentanglement], score: Callable[[KindScores], Estimate]) -> list[ScoreRow]:
    rows = [ScoreRow("all kinds", tuple(score(model.overall) for model in models))]
    for index, scores in enumerate(models[0].kinds):
        rows.append(ScoreRow(scores.kind, tuple(score(model.kinds[index]) for model in models)))
    return rows


def _all(models: Sequence[Disentanglement], name: str, score: Callable[[KindScores], Estimate]) -> ScoreRow:
    return ScoreRow(f"all kinds, {name}", tuple(score(model.overall) for model in models), is_released=True)


def _accuracies(models: Sequence[Disentanglement], index: int) -> list[ScoreRow]:
    results = [model.classified[index] for model in models]
    suffix = describe_variant(results[0])
    is_released = results[0].split == "by_row"
    return [
        ScoreRow(f"accuracy{suffix}", tuple(result.accuracy for result in results), is_released),
        ScoreRow(f"balanced accuracy{suffix}", tuple(result.balanced_accuracy for result in results), is_released),
    ]


def describe_variant(classified: Classification) -> str:
    """Return how a classification differs from the default one, as a suffix of its name."""
    if classified.released_rows is not None:
        rows = "rows of figures 15 to 18" if classified.released_rows == "figures" else "rows of the public code"
        return f", linear layer with Adam as released, {classified.rows:,} {rows}"
    words = ", ".join(f"'{word}'" for word in classified.left_out)
    split = ", split by row, as released" if classified.split == "by_row" else ""
    return split + (f", without {words}" if words else "")


def _about_accuracy(classified: Classification) -> str:
    return (
        f"Accuracy of a linear classifier of the attribute kind that two objects share, on unseen attributes: "
        f"{classified.rounds} splits pooled. Chance: balanced {1 / len(classified.kinds):.2f}. With rows of one "
        f"attribute in both parts, as released, even noise is classified correctly."
    )


PAGE = "disentanglement.html"
STYLES = ("base", "tables", "plots", "disentanglement", "media")
SCRIPTS = ("theme",)
DECIMALS = 3
THUMBNAIL = 160
EXAMPLES = 2
"""Number of examples per kind: consecutive pairs of attributes, each with the next object."""
WIDTH, HEIGHT = 320, 220
LEFT, RIGHT, TOP, BOTTOM = 46, 24, 22, 40
MARGIN = 0.12  # share of an axis at both ends
MIDDLE = WIDTH / 2


class _Example(NamedTuple):
    prompts: tuple[str, str, str, str]
    """Start, first attribute, second attribute, end."""
    rows: list[tuple[str, list[str | None], float]]
    """Model, images, error."""


class _Grid(NamedTuple):
    kind: str
    examples: list[_Example]


def disentanglement_page(
    models: Sequence[Disentanglement],
    latents: Sequence[Latents],
    folders: Sequence[Path],
    *,
    vocabulary: Vocabulary,
    comparisons: Sequence[EditScoreComparison],
    seed: int,
    out: str | Path,
) -> Path:
    """Write the self-contained page `disentanglement.html` and return its path.

    `models`, `latents` and `folders` are in the same order; a PNG next to a latent is shown.
    """
    return write_page(
        page_in(out, PAGE),
        "disentanglement.html.j2",
        STYLES,
        SCRIPTS,
        models=models,
        vocabulary=vocabulary,
        groups=table_rows(models),
        matrices=[_matrix(model) for model in models],
        left_out=describe_variant(models[0].classified[0]),
        grids=_grids(vocabulary, latents, folders),
        beside=[{"svg": _plot(item), "caption": _caption(item)} for item in comparisons if item.models],
        number=_number,
        seed=seed,
    )


def _number(value: float) -> str:
    return words.number(value, DECIMALS)


def _matrix(model: Disentanglement) -> dict[str, Any]:
    classified = model.classified[0]
    rows = []
    for kind, counts in zip(classified.kinds, classified.confusion, strict=True):
        shares = [count / max(sum(counts), 1) for count in counts]
        cells = [
            {"count": count, "share": f"{share:.0%}", "step": min(int(share * COLOR_STEPS), COLOR_STEPS - 1)}
            for count, share in zip(counts, shares, strict=True)
        ]
        rows.append((kind, cells))
    return {"model": model.model, "kinds": classified.kinds, "rows": rows}


def _grids(vocabulary: Vocabulary, latents: Sequence[Latents], folders: Sequence[Path]) -> list[_Grid]:
    """Return one image grid per kind (figures 19 to 22), or none if no model has images."""
    grids = []
    for kind, attributes in vocabulary.kinds.items():
        pairs = list(zip(attributes[::2], attributes[1::2], strict=False))[:EXAMPLES]
        examples = [
            _example(first, second, vocabulary.objects[index % len(vocabulary.objects)], latents, folders)
            for index, (first, second) in enumerate(pairs)
        ]
        grids.append(_Grid(kind, examples))
    images = (image for grid in grids for example in grid.examples for _, row, _ in example.rows for image in row)
    return grids if any(images) else []


def _example(first: str, second: str, name: str, latents: Sequence[Latents], folders: Sequence[Path]) -> _Example:
    prompts = (f"{first} {name}", first, second, f"{second} {name}")
    rows = [
        (model.model, [_thumbnail(folder / f"{prompt}.png") for prompt in prompts], _error(model.vectors, prompts))
        for model, folder in zip(latents, folders, strict=True)
    ]
    return _Example(prompts, rows)


def _error(vectors: Mapping[str, Any], prompts: tuple[str, str, str, str]) -> float:
    start, first, second, end = (vectors[prompt][None] for prompt in prompts)
    return float(linearity_error(start, first, second, end)[0])


def _thumbnail(file: Path) -> str | None:
    """Return the image as a data URL, or None if there is no file."""
    if not file.is_file():
        return None
    return data_url(fitted(read_image(file), THUMBNAIL), "png")


def _caption(comparison: EditScoreComparison) -> Markup:
    model_count = format_count(len(comparison.models), "model")
    caption = f"{comparison.score} against the mean edit score of {comparison.protocol} on {comparison.benchmark}. "
    caption += model_count
    caption += "" if comparison.pearson is None else f", Pearson's r {_number(comparison.pearson)}"
    return Markup.escape(f"{caption}.")


def _plot(comparison: EditScoreComparison) -> Markup:
    """Draw models as points: disentanglement score on the x axis, edit score on the y axis."""
    x_range, y_range = _axis_range(comparison.disentanglement), _axis_range(comparison.edit)
    plane = Plane(x_range, y_range, LEFT, TOP, WIDTH - RIGHT, HEIGHT - BOTTOM)
    points = [
        _point(model, plane.x(x), plane.y(y), x, y)
        for model, x, y in zip(comparison.models, comparison.disentanglement, comparison.edit, strict=True)
    ]
    axes = Markup('<path class="track" d="M{l} {t}V{b}H{r}"/>').format(
        l=LEFT, t=TOP, b=HEIGHT - BOTTOM, r=WIDTH - RIGHT
    )
    texts = [
        *(_text(plane.x(x), HEIGHT - BOTTOM + 14, f"{x:.2f}", "middle") for x in _ends(comparison.disentanglement)),
        *(_text(LEFT - 6, plane.y(y) + 4, f"{y:.2f}", "end") for y in _ends(comparison.edit)),
        _text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 8, comparison.score, "middle"),
        _text(LEFT, TOP - 9, f"{comparison.protocol}: edit ↑", "start"),
    ]
    return Markup('<svg viewBox="0 0 {} {}" role="img" aria-label="{}">{}</svg>').format(
        WIDTH, HEIGHT, f"{comparison.score} and {comparison.protocol}", Markup().join([axes, *texts, *points])
    )


def _axis_range(numbers: Sequence[float]) -> AxisRange:
    """Return an axis range that contains all numbers, with a margin at both ends."""
    low, high = min(numbers), max(numbers)
    room = (high - low or 1.0) * MARGIN / (1 - 2 * MARGIN)
    return AxisRange(low - room, high + room)


def _ends(numbers: Sequence[float]) -> list[float]:
    """Return the distinct minimum and maximum."""
    return sorted({min(numbers), max(numbers)})


def _point(model: str, x: float, y: float, score: float, edit: float) -> Markup:
    is_right = x > MIDDLE
    name = Markup('<text x="{:.1f}" y="{:.1f}" text-anchor="{}">{}</text>').format(
        x + (-7 if is_right else 7), y + 4, "end" if is_right else "start", model
    )
    label = f"{model}: {words.number(score, 3)}, edit {words.number(edit, 3)}"
    return Markup('<circle cx="{:.1f}" cy="{:.1f}" r="4"><title>{}</title></circle>{}').format(x, y, label, name)


def _text(x: float, y: float, text: str, anchor: str) -> Markup:
    return Markup('<text class="soft" x="{:.1f}" y="{:.1f}" text-anchor="{}">{}</text>').format(x, y, anchor, text)
