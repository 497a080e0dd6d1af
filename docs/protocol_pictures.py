"""Makes the picture of each protocol's page: what it looks at and the scores it gives, on public-domain photographs.

    python docs/protocol_pictures.py [NAME …]

Needs the small models (`editgauge models pull lite lite-plus`). Protocols that ask a judge or CLIP show what they ask
or compare, and no number: neither comes with the package.
"""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import cv2
import numpy as np
import skimage.data
from PIL import Image, ImageDraw, ImageFont

import editgauge
from editgauge import Pixels, ScoreResult
from editgauge._util.drawing import draw
from editgauge._util.images import as_unit
from editgauge.benchmarks import open_benchmark
from editgauge.evidence import Box, Evidence, Region, Side, from_json
from editgauge.methods import methods
from editgauge.metrics.l1 import l1

OUT = Path(__file__).parent / "pictures" / "protocols"
HEIGHT, GAP, LINE = 280, 10, 20
INK, GRAY = (20, 20, 20), (95, 95, 95)
CHARACTER = 7.2
"""Pixels that a character of a line below the pictures takes, on average."""


class Tile(NamedTuple):
    """A picture and what is written above it."""

    title: str
    pixels: Pixels


class Example(NamedTuple):
    """Two pictures and the instruction between them."""

    before: Pixels
    after: Pixels
    instruction: str


def sheet(name: str, tiles: Sequence[Tile], lines: Sequence[str]) -> None:
    """Write the images side by side with lines of text below."""
    font, mono = ImageFont.load_default(15), ImageFont.load_default(15)
    pictures = [_scaled(tile.pixels) for tile in tiles]
    width = max(GAP + sum(picture.width + GAP for picture in pictures), 760)
    rows = [row for line in lines for row in textwrap.wrap(line, int((width - 2 * GAP) / CHARACTER)) or [""]]
    page = Image.new("RGB", (width, 2 * GAP + LINE + HEIGHT + len(rows) * LINE + GAP), "white")
    pen, left = ImageDraw.Draw(page), GAP
    for tile, picture in zip(tiles, pictures, strict=True):
        pen.text((left, GAP), tile.title, fill=GRAY, font=font)
        page.paste(picture, (left, GAP + LINE))
        left += picture.width + GAP
    for number, row in enumerate(rows):
        pen.text((GAP, 2 * GAP + LINE + HEIGHT + number * LINE), row, fill=INK, font=mono)
    OUT.mkdir(parents=True, exist_ok=True)
    page.save(OUT / f"{name}.jpg", quality=82, optimize=True)


def _scaled(pixels: Pixels) -> Image.Image:
    picture = Image.fromarray(pixels)
    return picture.resize((round(picture.width * HEIGHT / picture.height), HEIGHT), Image.Resampling.LANCZOS)


def scored(name: str, example: Example, shown: Sequence[str], *, drawn: int = 3, **options: object) -> None:
    """Both pictures with the evidence of a protocol, and some of its scores."""
    result = editgauge.score(*example, protocol=[options.pop("protocol", name)], **options)  # type: ignore[arg-type]
    sides: tuple[Side, Side] = ("source", "edited")
    pictures = (result.source, result.edited)
    tiles = [
        Tile(title, draw(pixels, _evidence(result, side, drawn), at_least=1))
        for title, side, pixels in zip(("source", f"“{example.instruction}”"), sides, pictures, strict=True)
    ]
    sheet(name, tiles, [_line(result, each) for each in shown])


def _line(result: ScoreResult, name: str) -> str:
    score = result[name]
    note = score.note.split(". ")[0].rstrip(".")
    value = f"unscored, {score.reason}" if score.value is None else f"{score.value:.2f}"
    better = "higher is better" if score.higher_is_better else "lower is better"
    return f"{name}: {value} ({better})" + (f": {note}" if note else "")


def _evidence(result: ScoreResult, side: Side, most: int) -> list[Evidence]:
    """Draw the boxes and outlines of all scores on one image, each label once."""
    pieces: dict[tuple[type, str], Evidence] = {}
    for score in result:
        for stored in score.evidence:
            piece = from_json(stored)
            if isinstance(piece, Box | Region) and piece.on == side:
                pieces.setdefault((type(piece), piece.label), piece)
    return list(pieces.values())[:most]


def black_cat(method: str = "classical") -> Example:
    """Return the sample edit that makes the cat black."""
    edit = next(edit for edit in open_benchmark("sample").edits if edit.id == "chelsea-black")
    source = editgauge.read_image(edit.source.path)
    return Example(source, methods.get(method).edit(edit, source, 0), "make the cat black")


def cat_beside_cup() -> Example:
    """Return an edit that adds a cat to the left of a cup of coffee."""
    table = skimage.data.coffee()
    cat = Image.fromarray(skimage.data.chelsea()[:, 60:360]).resize((150, 150), Image.Resampling.LANCZOS)
    after = table.copy()
    after[20:170, 10:160] = np.asarray(cat)
    return Example(table, after, "add a cat to the left of the cup")


def sign() -> Example:
    """Return an edit that changes the word on a sign."""
    pictures = []
    for word in ("STOP", "GO"):
        picture = Image.fromarray(skimage.data.rocket())
        pen = ImageDraw.Draw(picture)
        pen.rectangle((40, 40, 260, 130), fill="white", outline="black", width=4)
        pen.text((75, 52), word, fill="black", font=ImageFont.load_default(56))
        pictures.append(np.asarray(picture))
    return Example(pictures[0], pictures[1], 'Replace "STOP" with "GO" on the sign.')


def portrait() -> Example:
    """Return a portrait that is brightened and turned gray."""
    photo = skimage.data.astronaut()
    gray = np.repeat(photo.mean(axis=2, keepdims=True), 3, axis=2)
    return Example(photo, np.clip(gray * 1.1, 0, 255).astype(np.uint8), "make the photo black and white")


def questions(name: str, lines: Sequence[str]) -> None:
    """For a judge: the two pictures, and what is asked about them."""
    example = black_cat("overdone")
    sheet(name, [Tile("source", example.before), Tile(f"“{example.instruction}”", example.after)], lines)


def reference() -> None:
    """Return an outcome with the edited image of the benchmark."""
    right, outcome = black_cat(), black_cat("careless")
    distance = np.abs(right.after.astype(int) - outcome.after.astype(int)).mean() / 255
    squared = ((right.after.astype(float) - outcome.after.astype(float)) ** 2).mean() / 255**2
    sheet(
        "reference",
        [
            Tile("source", right.before),
            Tile("ground truth", right.after),
            Tile("outcome", outcome.after),
        ],
        [f"l1: {distance:.3f}   l2: {squared:.3f}   (lower is better; the outcome against the ground truth)"],
    )


def drift() -> None:
    """Two turns of a method that softens everything a little each time."""
    first = skimage.data.coffee()
    tiles, mask, picture = [Tile("first picture", first)], np.ones(first.shape[:2], bool), first
    for turn, (left, word) in enumerate(((10, "left"), (430, "right")), start=1):
        picture = cv2.GaussianBlur(picture, (0, 0), 1.6)
        patch = np.s_[20:170, left : left + 150]
        picture[patch] = cv2.resize(skimage.data.chelsea()[:, 60:360], (150, 150), interpolation=cv2.INTER_AREA)
        mask[patch] = False
        kept = 1 - l1(as_unit(first), as_unit(picture), mask)
        tiles.append(Tile(f"turn {turn}: a cat on the {word}; unchanged_l1 {kept:.3f}", picture))
    sheet(
        "drift",
        tiles,
        ["unchanged_l1: similarity to the first picture outside the masks of all turns so far"],
    )


def unibench() -> None:
    """Draw target and background of a color change."""
    example = black_cat()
    result = editgauge.score(*example, protocol=["pixlens"])
    outline = next(each for each in _evidence(result, "source", 20) if isinstance(each, Region))
    target = np.where(outline.mask[..., None], example.after, 255).astype(np.uint8)
    rest = np.where(outline.mask[..., None], 200, example.after).astype(np.uint8)
    sheet(
        "unibench",
        [Tile("source", example.before), Tile("target, cut out", target), Tile("background", rest)],
        ["fidelity: does the target look like “a black cat”?   consistency: did its shape and the background stay?"],
    )


def augclip() -> None:
    """Attributes of source and target on two sides of a hyperplane, and the ideal edit between them: a sketch."""
    example = black_cat()
    pixels = np.full((HEIGHT, 330, 3), 255, np.uint8)
    plane = Image.fromarray(pixels)
    pen = ImageDraw.Draw(plane)
    font = ImageFont.load_default(13)
    pen.line((165, 5, 165, HEIGHT - 5), fill=GRAY, width=2)
    for (x, y), text in zip(((30, 60), (70, 110), (40, 170)), ("brown fur", "tabby", "green eyes"), strict=True):
        pen.ellipse((x - 4, y - 4, x + 4, y + 4), fill=(0, 114, 178))
        pen.text((x + 8, y - 8), text, fill=INK, font=font)
    for (x, y), text in zip(((230, 70), (250, 160)), ("black fur", "a black cat"), strict=True):
        pen.ellipse((x - 4, y - 4, x + 4, y + 4), fill=(213, 94, 0))
        pen.text((x + 8, y - 8), text, fill=INK, font=font)
    pen.rectangle((91, 136, 99, 144), fill=INK)
    pen.text((64, 146), "source", fill=INK, font=font)
    pen.line((99, 140, 163, 140), fill=INK, width=2)
    pen.text((122, 120), "v", fill=INK, font=font)
    pen.ellipse((161, 136, 169, 144), fill=(0, 158, 115))
    pen.text((172, 132), "ideal edit", fill=INK, font=font)
    tiles = [
        Tile("source", example.before),
        Tile("outcome", example.after),
        Tile("the idea, not measured", np.asarray(plane)),
    ]
    sheet("augclip", tiles, ["augclip: the cosine of the outcome with the ideal edit, in the space of CLIP"])


MAKERS: dict[str, Callable[[], None]] = {
    "editgauge": lambda: scored("editgauge", black_cat(), ["edit", "quality", "preservation", "artifact"]),
    "editval": lambda: scored("editval", cat_beside_cup(), ["edit"]),
    "pixlens": lambda: scored("pixlens", black_cat(), ["edit", "subject_iou", "subject_sift", "background"]),
    "artifacts": lambda: scored("artifacts", cat_beside_cup(), ["artifact", "artifact_score"]),
    "preservation": lambda: scored("preservation", black_cat("overdone"), ["ssim", "psnr", "l1"]),
    "baselines": lambda: scored("baselines", black_cat(), ["l2", "lpips-alex"], models="lite"),
    "text": lambda: scored("text", sign(), ["words", "old_words_gone", "place"], models="lite"),
    "counts": lambda: scored(
        "counts", cat_beside_cup()._replace(instruction="Add one cat."), ["count_right", "count_error"], models="lite"
    ),
    "people": lambda: scored("people", portrait(), ["identity", "faces_kept", "pose_kept"], models="lite-plus"),
    "reference": reference,
    "drift": drift,
    "unibench": unibench,
    "augclip": augclip,
    "clip-family": lambda: questions(
        "clip-family",
        [
            "Cosines: clip_t: outcome with “a black cat with green eyes”   clip_i: outcome with source",
            "clip_directional: the change of the image with the change from “a brown tabby cat” to “a black cat”",
        ],
    ),
    "editinspector": lambda: questions(
        "editinspector",
        [
            "edit: was the instruction carried out?   consistent: does the change fit the scene?",
            "precise: is it cleanly made?   artifacts: are there traces outside the requested change?",
        ],
    ),
    "difference-captions": lambda: questions(
        "difference-captions",
        [
            "The judge lists every difference, as people did. Here there are two:",
            "(cat, black cat, Change Attribute) and (background, another tint, Change Attribute)",
        ],
    ),
    "rubric": lambda: questions(
        "rubric",
        ["viescore: success, no over-editing (both pictures); naturalness, no artifacts (outcome); 0 to 10 each"],
    ),
}


if __name__ == "__main__":
    for chosen in sys.argv[1:] or MAKERS:
        MAKERS[chosen]()
        print(OUT / f"{chosen}.jpg")
