"""The page of `disentangle`: table 3, who is taken for whom, examples, and the scores compared with those of edits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from markupsafe import Markup

from editgauge._render import text as words
from editgauge._render.svg import AxisRange, Plane
from editgauge._util.images import read_image
from editgauge._util.text import counted
from editgauge.disentanglement.latents import Latents
from editgauge.disentanglement.measures import linearity_error
from editgauge.disentanglement.scores import Beside, Disentanglement
from editgauge.disentanglement.table import difference_of, table_rows
from editgauge.disentanglement.words import Vocabulary
from editgauge.judges.pictures import data_url
from editgauge.reports.context import write_page
from editgauge.reports.images import fitted
from editgauge.reports.pages import page_in
from editgauge.reports.sections.edit_types import STEPS

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
    beside: Sequence[Beside],
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


def _caption(beside: Beside) -> Markup:
    many = counted(len(beside.models), "model")
    caption = f"{beside.score} with the mean verdict of {beside.protocol} on {beside.benchmark}. {many}"
    caption += "" if beside.pearson is None else f", Pearson's r {_number(beside.pearson)}"
    return Markup.escape(f"{caption}.")


def _plot(beside: Beside) -> Markup:
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
