"""The variants of AugCLIP: how attributes are weighed and parted, how they should be, and where they come from."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, get_args

import numpy as np

from editgauge.benchmarks.attributes import Attributes
from editgauge.errors import BadInputError, UnscorableError
from editgauge.evidence import WEIGHTS_OF_ATTRIBUTES, Evidence, Note, Scatter, ScatterPoint
from editgauge.protocols import variant_name
from editgauge.protocols._text_image import MIN_DIFFERENCE, Floats, Vectors, effects
from editgauge.protocols.augclip._attributes import Length, Wanted
from editgauge.protocols.augclip._hyperplane import (
    Classifier,
    Hyperplane,
    Weights,
    even_weights,
    fit,
    likeness,
    naive_weights,
    relative_weights,
)

Weighting = Literal["relative", "unweighted", "naive"]
Origin = Literal["edit", "rules", "judge"]
LENGTHS: tuple[Length, ...] = get_args(Length)
NUMBERS = (10, 20, 30)
"""Those of table 10."""
EXCLUSIVE = (("unweighted", "naive"), ("lda", "logistic"), LENGTHS, ("rules", "judge"), ("lda", "naive"), ("lda", "c"))
VALUED = ("number", "judge", "c")
PLAIN = ("unweighted", "naive", "lda", "logistic", *LENGTHS, "rules", "judge")
KNOWN = tuple(dict.fromkeys((*PLAIN, *VALUED)))


@dataclass(frozen=True, slots=True)
class AugClipOptions:
    """One choice of each."""

    weighting: Weighting = "relative"
    classifier: Classifier = "svm"
    c: float = 1.0
    wanted: Wanted = field(default_factory=Wanted)
    origin: Origin = "edit"
    judge: str = ""
    """Which judge is asked, where one is."""


def read_options(name: str, texts: Mapping[str, str]) -> AugClipOptions:
    """The options in the brackets of `augclip[…]`; all that is wrong with them is said at once."""
    problems = [f"there is no option '{option}'" for option in texts if option not in KNOWN]
    problems += [f"'{option}' takes no value" for option, value in texts.items() if value and option not in VALUED]
    problems += [f"'{one}' and '{other}' exclude each other" for one, other in EXCLUSIVE if {one, other} <= set(texts)]
    number, c = texts.get("number"), texts.get("c")
    if number is not None and number not in map(str, NUMBERS):
        problems.append(f"'number' is one of {', '.join(map(str, NUMBERS))}, got '{number}'")
    if c is not None and not _positive(c):
        problems.append(f"'c' takes a number over 0, got '{c}'")
    if problems:
        raise BadInputError(
            f"'{variant_name(name, texts)}' cannot be understood. {name} takes unweighted or naive; lda or logistic; "
            "c=NUMBER; short or long; number=10|20|30; rules or judge=NAME.",
            problems,
        )
    length: Length | None = next((each for each in LENGTHS if each in texts), None)
    return AugClipOptions(
        weighting="unweighted" if {"unweighted", "lda"} & set(texts) else "naive" if "naive" in texts else "relative",
        classifier="lda" if "lda" in texts else "logistic" if "logistic" in texts else "svm",
        c=float(c) if c else 1.0,
        wanted=Wanted(length, int(number) if number else None),
        origin="rules" if "rules" in texts else "judge" if "judge" in texts else "edit",
        judge=texts.get("judge", ""),
    )


def _positive(text: str) -> bool:
    try:
        return 0 < float(text) < math.inf
    except ValueError:
        return False


@dataclass(frozen=True, slots=True)
class PaperReading:
    """How the paper is read where it says two things.

    Args:
        sums: weights by sums, as eq. 4 and 5 print them, instead of means
        pictures: both pictures among the points, as appendix B has it, and a change in either direction
    """

    sums: bool = False
    pictures: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class EmbeddedOutcome:
    """What an embedder says about one outcome."""

    source_image: Vectors
    edited_image: Vectors
    source: Vectors
    """One row per source attribute."""
    target: Vectors
    direction: Floats | None = None
    """From the source text to the target text, for naive weights."""


@dataclass(frozen=True, slots=True, eq=False)
class FittedEdit:
    """The ideal edit, and what came of an outcome."""

    weights: Weights
    hyperplane: Hyperplane
    modification: Floats
    score: float
    misclassified: float
    """The share of points on the wrong side."""
    already_there: bool
    """Does the source image lie on the target side, before any edit?"""


def fitted(seen: EmbeddedOutcome, options: AugClipOptions, reading: PaperReading) -> FittedEdit:
    """The score of one outcome with everything it comes from."""
    source, target = seen.source, seen.target
    if reading.pictures:
        source, target = np.vstack([seen.source_image, source]), np.vstack([seen.edited_image, target])
    weights = _weights(source, target, seen.direction, options, reading)
    try:
        hyperplane = fit(source, target, weights, options.classifier, options.c)
    except ValueError as error:
        raise UnscorableError("not_applicable", str(error)) from error
    change = (hyperplane.reach if reading.pictures else hyperplane.modification)(seen.source_image)
    return FittedEdit(
        weights=weights,
        hyperplane=hyperplane,
        modification=change,
        score=likeness(seen.edited_image, seen.source_image, change),
        misclassified=hyperplane.misclassified(source, target),
        already_there=bool(hyperplane.side(seen.source_image) >= 0),
    )


def _weights(
    source: Vectors, target: Vectors, direction: Floats | None, options: AugClipOptions, reading: PaperReading
) -> Weights:
    """Scaled to the mean 1, for C = 1 would be far too soft for mean cosines; the literal sums stay as they are."""
    if options.weighting == "unweighted":
        return even_weights(source, target)
    if options.weighting == "naive" and direction is not None:
        return naive_weights(source, target, direction).scaled()
    weights = relative_weights(source, target, sums=reading.sums)
    return weights if reading.sums else weights.scaled()


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
        *_weights_evidence(attributes, result, reading),
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
    if length < MIN_DIFFERENCE:
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


def _weights_evidence(attributes: Attributes, result: FittedEdit, reading: PaperReading) -> list[str]:
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
