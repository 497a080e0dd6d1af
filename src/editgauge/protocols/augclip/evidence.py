"""What can be shown for an AugCLIP score: what should change and what should stay, and where everything lies."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from editgauge.benchmarks.attributes import Attributes
from editgauge.evidence import WEIGHTS_OF_ATTRIBUTES, Evidence, Note, Scatter, ScatterPoint
from editgauge.protocols._text_image import DUST, Floats, effects
from editgauge.protocols.augclip.ideal import EmbeddedOutcome, FittedEdit, PaperReading

MOST_NAMED = 4
"""Attributes named at either end of a ranking."""
PICTURES = ("source image", "edited image", "ideal edit")


def shown(
    name: str, attributes: Attributes, seen: EmbeddedOutcome, result: FittedEdit, reading: PaperReading
) -> tuple[Evidence, ...]:
    """Rankings by eq. 11 and 12, what was wrong with weights and hyperplane, and a picture of both (Fig. 8-10).

    All of it carries the variant's name, because a run may hold several.
    """
    notes = [
        *_rankings(attributes, seen, result),
        *_weights(attributes, result, reading),
        *_sides(attributes, result, reading),
    ]
    return (
        *(Note(f"{name}: {text}") for text in notes),
        picture(name, attributes, seen, result),
        _what_each_weighs(name, attributes, result, reading),
    )


def _what_each_weighs(name: str, attributes: Attributes, result: FittedEdit, reading: PaperReading) -> Scatter:
    """Across: the weight of each attribute (eq. 6). Source attributes below, target attributes above."""
    weights = result.weights.source[int(reading.pictures) :], result.weights.target[int(reading.pictures) :]
    points = [
        ScatterPoint(attribute, f"{side} attributes", weight, float(side == "target"))
        for side, named, its in zip(("source", "target"), (attributes.source, attributes.target), weights, strict=True)
        for attribute, weight in zip(named, its.tolist(), strict=True)
    ]
    return Scatter(f"{name}: {WEIGHTS_OF_ATTRIBUTES}", tuple(points))


def picture(name: str, attributes: Attributes, seen: EmbeddedOutcome, result: FittedEdit) -> Scatter:
    """Attributes, both pictures and the ideal edit, seen along the hyperplane, which so becomes an upright line.

    Across: how far on the target side. Upwards: the direction along the hyperplane in which attributes differ most.
    """
    named = np.vstack([seen.source, seen.target]).astype(np.float64)
    pictures = np.vstack([seen.source_image, seen.edited_image, seen.source_image + result.modification])
    across = result.hyperplane.w / np.linalg.norm(result.hyperplane.w)
    upwards = _widest(named - named.mean(axis=0), across)
    points = np.vstack([named, pictures.astype(np.float64)])
    x = result.hyperplane.side(points) / float(np.linalg.norm(result.hyperplane.w))
    y = (points - named.mean(axis=0)) @ upwards
    sides = ["source attributes"] * len(attributes.source) + ["target attributes"] * len(attributes.target)
    names = (*attributes.source, *attributes.target, *PICTURES)
    drawn = zip(names, (*sides, *PICTURES), x.tolist(), y.tolist(), strict=True)
    return Scatter(
        f"{name}: attributes, pictures and hyperplane (dashed)",
        tuple(ScatterPoint(*each) for each in drawn),
        (0.0, float(y.min()), 0.0, float(y.max())),
    )


def _widest(centered: Floats, across: Floats) -> Floats:
    """The first principal direction of what the hyperplane's own direction leaves, in a fixed sense; 0 if none is left.

    By products of points, which are few, instead of the embedder's dimensions, which are many.
    """
    along = centered - np.outer(centered @ across, across)
    direction = np.asarray(np.linalg.eigh(along @ along.T)[1][:, -1] @ along)
    length = float(np.linalg.norm(direction))
    if length < DUST:
        return np.zeros_like(across)
    return np.asarray(direction * np.sign(direction[np.abs(direction).argmax()]) / length)


def _rankings(attributes: Attributes, seen: EmbeddedOutcome, result: FittedEdit) -> list[str]:
    if not result.modification.any():
        return []
    ideal = seen.source_image + result.modification
    before, after = (effects(seen.source_image, ideal, side) for side in (seen.source, seen.target))
    changing = sorted(zip(attributes.source, before.tolist(), strict=True), key=lambda each: (-abs(each[1]), each[0]))
    coming = sorted(zip(attributes.target, after.tolist(), strict=True), key=lambda each: (-each[1], each[0]))
    return [
        _ends("Of the source, what should change most", changing, "what should stay"),
        _ends("Of the target, what should come most", coming, "what matters least"),
    ]


def _ends(first: str, ranked: Sequence[tuple[str, float]], last: str) -> str:
    """Both ends of a ranking; one attribute stands at one end only."""
    above = ranked[: min(MOST_NAMED, (len(ranked) + 1) // 2)]
    below = ranked[max(len(above), len(ranked) - MOST_NAMED) :]
    sentence = f"{first}: {_listed(above)}"
    return f"{sentence}; {last}: {_listed(below[::-1])}." if below else f"{sentence}."


def _listed(ranked: Sequence[tuple[str, float]]) -> str:
    return ", ".join(f"{name} ({effect:+.3f})" for name, effect in ranked)


def _weights(attributes: Attributes, result: FittedEdit, reading: PaperReading) -> list[str]:
    weights, images = result.weights, int(reading.pictures)
    clipped = [
        f"{round(share * (len(side) + images))} of {len(side) + images} {name}"
        for name, side, share in (
            ("source", attributes.source, weights.clipped_source),
            ("target", attributes.target, weights.clipped_target),
        )
        if share
    ]
    if weights.abandoned:
        return [f"Weights were not positive for {' and '.join(clipped)} attributes, a whole set: all weigh the same."]
    return [f"Weights were not positive for {' and '.join(clipped)} attributes, and were clipped."] if clipped else []


def _sides(attributes: Attributes, result: FittedEdit, reading: PaperReading) -> list[str]:
    source, target = len(attributes.source) + reading.pictures, len(attributes.target) + reading.pictures
    wrong = round(result.misclassified * (source + target))
    sentences = [f"{wrong} of {source + target} points are on the wrong side of the hyperplane."]
    if wrong >= min(source, target):
        sentences.append("As many as a whole set are: the hyperplane hardly parts them, and a larger c would.")
    if result.already_there and reading.pictures:
        sentences.append("The source image is on the target side: the ideal edit would move it back.")
    elif result.already_there:
        sentences.append(
            "The source image is already on the target side: v = 0, and the score is the similarity of both pictures."
        )
    return sentences
