"""Anchors: questions that never change, so that another answer means another judge.

Two kinds: pictures drawn by rule, whose answer anyone sees; and questions that a user's own run asked before.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import cv2
import numpy as np

from editgauge._util.images import Pixels, pixel_hash, read_image, resize_image
from editgauge.errors import BadImageError, BadInputError
from editgauge.judges import LabeledImage, Question, ask_scale, ask_yes_no
from editgauge.judges._questions import Ratings, Scale, YesNo
from editgauge.judges._transcripts import Call, Transcripts
from editgauge.judges.prompts import RenderedPrompt
from editgauge.results import Run

VERSION = "drawn.v1"
"""Of the drawn anchors; another set is another version, and is not compared with this one."""
MOST_OF_A_RUN = 48
"""Anchors that come from one run."""
SIDE = 224
COLORS = {"red": (200, 30, 30), "green": (30, 150, 60), "blue": (40, 70, 200), "yellow": (230, 200, 40)}
NUMERIC = ("yes_no", "scale", "ratings")
"""Kinds of questions whose answers are numbers."""


@dataclass(frozen=True, slots=True)
class Anchor:
    """One question with a name that stays."""

    name: str
    question: Question[Any]
    earlier: Call | None = None
    """What the judge answered in the run that the question comes from."""


def drawn_anchors() -> list[Anchor]:
    """Thirty-six questions about drawn pictures: colors, shapes, counts, changes, noise and blur."""
    return [*_about_shapes(), *_about_changes(), *_about_damage()]


def anchors_of_run(folder: Path) -> list[Anchor]:
    """Questions that the judges of a run answered, evenly drawn; the pictures must still be where they were."""
    calls = [call for call in Transcripts(folder / "transcripts") if _can_be_asked_again(call)]
    if not calls:
        raise BadInputError(f"The run '{folder}' has no answered question that could be asked again as an anchor.")
    count = min(MOST_OF_A_RUN, len(calls))
    sampled = [calls[index * len(calls) // count] for index in range(count)]
    hashes = {image[1] for call in sampled for image in call.asked["images"]}
    pictures = _pictures(Run.open(folder), hashes)
    anchors = [
        Anchor(f"run:{call.identity[:16]}", _question(call, pictures), call)
        for call in sampled
        if all(image[1] in pictures for image in call.asked["images"])
    ]
    if not anchors:
        raise BadInputError(f"The pictures that the judges of '{folder}' saw are no longer where they were.")
    return anchors


def _can_be_asked_again(call: Call) -> bool:
    form: Mapping[str, Any] = call.asked.get("form") or {}
    return call.fault is None and form.get("kind") in NUMERIC and "repairs" not in call.asked


def _question(call: Call, pictures: Mapping[str, Pixels]) -> Question[Any]:
    description = call.asked
    prompt, _, version = str(description["prompt"]).rpartition(".v")
    images = tuple(LabeledImage(label, pictures[pixels]) for label, pixels in description["images"])
    return Question(
        words=RenderedPrompt(prompt, int(version), str(description["text"])),
        form=recorded_form(description["form"]),
        images=images,
    )


def recorded_form(form: Mapping[str, Any]) -> YesNo | Scale | Ratings:
    """Return the form of a recorded question of a `NUMERIC` kind."""
    numbers = {name: item["enum"] for name, item in form["schema"]["properties"].items() if "enum" in item}
    if form["kind"] == "yes_no":
        return YesNo()
    every = [value for values in numbers.values() for value in values]
    if form["kind"] == "scale":
        return Scale(min(every), max(every))
    return Ratings(tuple((name, ()) for name in numbers), min(every), max(every), ends_only=len(set(every)) == 2)


def _pictures(run: Run, hashes: Iterable[str]) -> dict[str, Pixels]:
    """Return the images of a run by hash, edited ones in the size of their source."""
    missing, pictures = set(hashes), {}
    columns = ("source_path", "edited_path")
    for pair in dict.fromkeys(zip(*(run.scores[column].to_pylist() for column in columns), strict=True)):
        if not missing:
            break
        for pixels in _shown(*pair):
            name = pixel_hash(pixels)
            if name in missing:
                pictures[name] = pixels
                missing.discard(name)
    return pictures


def _shown(source: str | None, edited: str | None) -> Iterator[Pixels]:
    try:
        before = read_image(Path(source or ""))
        yield before
        yield resize_image(read_image(Path(edited or "")), before.shape[1], before.shape[0])
    except (BadImageError, OSError):
        return


def _about_shapes() -> Iterator[Anchor]:
    for index, color in enumerate(COLORS):
        for shape in ("circle", "square"):
            picture = LabeledImage("The picture:", _drawn([(shape, color, (112, 112))]))
            yield Anchor(f"{shape} is {color}", ask_yes_no(f"Is the {shape} {color}?", picture))
            other = list(COLORS)[(index + 1) % len(COLORS)]
            yield Anchor(f"{color} {shape} is {other}", ask_yes_no(f"Is the {shape} {other}?", picture))


def _about_changes() -> Iterator[Anchor]:
    for index, color in enumerate(COLORS):
        before = _drawn([("circle", color, (70, 112))])
        after = _drawn([("circle", color, (70, 112)), ("square", "blue" if color != "blue" else "red", (160, 112))])
        for name, pair in (("added", (before, after)), ("unchanged", (before, before))):
            images = LabeledImage("Before:", pair[0]), LabeledImage("After:", pair[1])
            yield Anchor(f"square {name} {index}", ask_yes_no("Was a square added to the second picture?", *images))


def _about_damage() -> Iterator[Anchor]:
    rng = np.random.default_rng(0)
    clean = _drawn([("circle", "red", (80, 80)), ("square", "green", (150, 150))])
    for strength in (0, 15, 30, 60, 90, 120):
        noisy = np.clip(clean + rng.normal(0, strength, clean.shape), 0, 255).astype(np.uint8)
        yield _quality(f"noise {strength}", noisy)
    for width in (1, 5, 9, 17, 25, 41):
        yield _quality(f"blur {width}", np.asarray(cv2.GaussianBlur(clean, (width, width), 0), np.uint8))


def _quality(name: str, picture: Pixels) -> Anchor:
    ends = "badly damaged by noise or blur", "perfectly clean"
    return Anchor(name, ask_scale("How clean is the picture?", 1, 10, *ends, LabeledImage("The picture:", picture)))


def _drawn(shapes: Iterable[tuple[str, str, tuple[int, int]]]) -> Pixels:
    picture = np.full((SIDE, SIDE, 3), 235, np.uint8)
    for shape, color, (x, y) in shapes:
        if shape == "circle":
            cv2.circle(picture, (x, y), 40, COLORS[color], -1)
        else:
            cv2.rectangle(picture, (x - 36, y - 36), (x + 36, y + 36), COLORS[color], -1)
    return picture
