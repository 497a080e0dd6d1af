"""The rows of PixLens's table 3, a column per model, and next to them what the released code computes."""

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
from editgauge._util.text import counted
from editgauge.disentanglement._classifier import Classified
from editgauge.disentanglement._latents import Latents
from editgauge.disentanglement._scores import Disentanglement, EditScoreComparison, KindScores, linearity_error
from editgauge.disentanglement._vocabulary import Vocabulary
from editgauge.judges.pictures import data_url
from editgauge.reports.context import write_page
from editgauge.reports.images import fitted
from editgauge.reports.pages import page_in
from editgauge.reports.sections.edit_types import STEPS


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


PAGE = "disentanglement.html"
STYLES = ("base", "tables", "plots", "disentanglement", "media")
SCRIPTS = ("theme",)
DECIMALS = 3
THUMBNAIL = 160
EXAMPLES = 2
"""Of each kind: the first attributes by twos, each pair with the next object."""
WIDTH, HEIGHT = 320, 220
LEFT, RIGHT, TOP, BOTTOM = 46, 24, 22, 40
MARGIN = 0.12
"""Of an axis, left free at both ends."""
MIDDLE = WIDTH / 2


class _Example(NamedTuple):
    prompts: tuple[str, str, str, str]
    """Start, first attribute, second attribute, end."""
    rows: list[tuple[str, list[str | None], float]]
    """Model, pictures, error."""


class _Grid(NamedTuple):
    kind: str
    examples: list[_Example]


def disentanglement_page(
    models: Sequence[Disentanglement],
    latents: Sequence[Latents],
    folders: Sequence[Path],
    vocabulary: Vocabulary,
    beside: Sequence[EditScoreComparison],
    seed: int,
    out: str | Path,
) -> Path:
    """Writes `disentanglement.html`, which needs nothing else, and gives its path.

    Models, their latents and the folders of these are in the same order; a PNG next to a latent is shown.
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
        left_out=difference_of(models[0].classified[0]),
        grids=_grids(vocabulary, latents, folders),
        beside=[{"svg": _plot(each), "caption": _caption(each)} for each in beside if each.models],
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
            {"count": count, "share": f"{share:.0%}", "step": min(int(share * STEPS), STEPS - 1)}
            for count, share in zip(counts, shares, strict=True)
        ]
        rows.append((kind, cells))
    return {"model": model.model, "kinds": classified.kinds, "rows": rows}


def _grids(vocabulary: Vocabulary, latents: Sequence[Latents], folders: Sequence[Path]) -> list[_Grid]:
    """Figures 19 to 22: a grid per kind; none at all when no model has pictures."""
    grids = []
    for kind, attributes in vocabulary.kinds.items():
        pairs = list(zip(attributes[::2], attributes[1::2], strict=False))[:EXAMPLES]
        examples = [
            _example(first, second, vocabulary.objects[number % len(vocabulary.objects)], latents, folders)
            for number, (first, second) in enumerate(pairs)
        ]
        grids.append(_Grid(kind, examples))
    shown = (picture for grid in grids for example in grid.examples for _, row, _ in example.rows for picture in row)
    return grids if any(shown) else []


def _example(first: str, second: str, thing: str, latents: Sequence[Latents], folders: Sequence[Path]) -> _Example:
    prompts = (f"{first} {thing}", first, second, f"{second} {thing}")
    rows = [
        (model.model, [_picture(folder / f"{prompt}.png") for prompt in prompts], _error(model.vectors, prompts))
        for model, folder in zip(latents, folders, strict=True)
    ]
    return _Example(prompts, rows)


def _error(vectors: Mapping[str, Any], prompts: tuple[str, str, str, str]) -> float:
    start, first, second, end = (vectors[prompt][None] for prompt in prompts)
    return float(linearity_error(start, first, second, end)[0])


def _picture(file: Path) -> str | None:
    """The picture inside the page; None where there is no file."""
    if not file.is_file():
        return None
    return data_url(fitted(read_image(file), THUMBNAIL), "png")


def _caption(beside: EditScoreComparison) -> Markup:
    many = counted(len(beside.models), "model")
    caption = f"{beside.score} with the mean verdict of {beside.protocol} on {beside.benchmark}. {many}"
    caption += "" if beside.pearson is None else f", Pearson's r {_number(beside.pearson)}"
    return Markup.escape(f"{caption}.")


def _plot(beside: EditScoreComparison) -> Markup:
    """Models as points, the disentanglement score to the right, the edit score upwards; the ends are labeled."""
    across, up = _around(beside.disentanglement), _around(beside.edit)
    plane = Plane(across, up, LEFT, TOP, WIDTH - RIGHT, HEIGHT - BOTTOM)
    points = [
        _point(model, plane.x(x), plane.y(y), x, y)
        for model, x, y in zip(beside.models, beside.disentanglement, beside.edit, strict=True)
    ]
    axes = Markup('<path class="track" d="M{l} {t}V{b}H{r}"/>').format(
        l=LEFT, t=TOP, b=HEIGHT - BOTTOM, r=WIDTH - RIGHT
    )
    texts = [
        *(_text(plane.x(x), HEIGHT - BOTTOM + 14, f"{x:.2f}", "middle") for x in _ends(beside.disentanglement)),
        *(_text(LEFT - 6, plane.y(y) + 4, f"{y:.2f}", "end") for y in _ends(beside.edit)),
        _text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 8, beside.score, "middle"),
        _text(LEFT, TOP - 9, f"{beside.protocol}: edit ↑", "start"),
    ]
    return Markup('<svg viewBox="0 0 {} {}" role="img" aria-label="{}">{}</svg>').format(
        WIDTH, HEIGHT, f"{beside.score} and {beside.protocol}", Markup().join([axes, *texts, *points])
    )


def _around(numbers: Sequence[float]) -> AxisRange:
    """An axis that holds all numbers, with room at both ends."""
    low, high = min(numbers), max(numbers)
    room = (high - low or 1.0) * MARGIN / (1 - 2 * MARGIN)
    return AxisRange(low - room, high + room)


def _ends(numbers: Sequence[float]) -> list[float]:
    """The least and the greatest number; one where they are the same."""
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
