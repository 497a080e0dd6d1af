"""Options of AugCLIP, the ideal edit of an outcome, and the evidence for its score."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, get_args

import numpy as np

from editgauge.benchmarks.attributes import Attributes
from editgauge.errors import BadInputError, UnscorableError
from editgauge.evidence import WEIGHTS_OF_ATTRIBUTES, Evidence, Note, Scatter, ScatterPoint
from editgauge.metrics.embeddings import MIN_STEP, Floats, Vectors, unit_vectors
from editgauge.protocols import format_variant
from editgauge.protocols.augclip._attributes import AttributeRequest, Length
from editgauge.protocols.augclip._hyperplane import (
    Classifier,
    Hyperplane,
    Weights,
    even_weights,
    fit,
    ideal_similarity,
    naive_weights,
    relative_weights,
)

Weighting = Literal["relative", "unweighted", "naive"]
Origin = Literal["edit", "rules", "judge"]
LENGTHS: tuple[Length, ...] = get_args(Length)
ATTRIBUTE_COUNTS = (10, 20, 30)
"""Numbers of attributes in table 10."""
EXCLUSIVE_OPTIONS = (
    ("unweighted", "naive"),
    ("lda", "logistic"),
    LENGTHS,
    ("rules", "judge"),
    ("lda", "naive"),
    ("lda", "c"),
)
VALUE_OPTIONS = ("number", "judge", "c")
READING_OPTIONS = {"sum": "sums", "pictures": "pictures", "unclamped": "unclamped", "dropped": "dropped"}
"""Options that read the paper otherwise, with the field of `PaperReading` that each sets."""
FLAG_OPTIONS = ("unweighted", "naive", "lda", "logistic", *LENGTHS, "rules", "judge", *READING_OPTIONS)
ALL_OPTIONS = tuple(dict.fromkeys((*FLAG_OPTIONS, *VALUE_OPTIONS)))


@dataclass(frozen=True, slots=True)
class AugClipOptions:
    """Options of an AugCLIP variant."""

    weighting: Weighting = "relative"
    classifier: Classifier = "svm"
    c: float = 1.0
    requested: AttributeRequest = field(default_factory=AttributeRequest)
    origin: Origin = "edit"
    judge: str = ""
    """Name of the judge that writes attributes."""


def read_options(name: str, texts: Mapping[str, str]) -> AugClipOptions:
    """Parse the options of `augclip[…]`; report all faults at once."""
    faults = [f"there is no option '{option}'" for option in texts if option not in ALL_OPTIONS]
    faults += [f"'{option}' takes no value" for option, value in texts.items() if value and option not in VALUE_OPTIONS]
    faults += [
        f"'{first}' and '{second}' exclude each other"
        for first, second in EXCLUSIVE_OPTIONS
        if {first, second} <= set(texts)
    ]
    number, c = texts.get("number"), texts.get("c")
    if number is not None and number not in map(str, ATTRIBUTE_COUNTS):
        faults.append(f"'number' is one of {', '.join(map(str, ATTRIBUTE_COUNTS))}, got '{number}'")
    if c is not None and not _positive(c):
        faults.append(f"'c' takes a number over 0, got '{c}'")
    if faults:
        raise BadInputError(
            f"'{format_variant(name, texts)}' cannot be understood. {name} takes unweighted or naive; lda or logistic; "
            f"c=NUMBER; short or long; number=10|20|30; rules or judge=NAME; and any of {', '.join(READING_OPTIONS)}.",
            faults,
        )
    length: Length | None = next((name_of_length for name_of_length in LENGTHS if name_of_length in texts), None)
    return AugClipOptions(
        weighting="unweighted" if {"unweighted", "lda"} & set(texts) else "naive" if "naive" in texts else "relative",
        classifier="lda" if "lda" in texts else "logistic" if "logistic" in texts else "svm",
        c=float(c) if c else 1.0,
        requested=AttributeRequest(length, int(number) if number else None),
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
    """Interpretation of the paper where text and appendix differ.

    Args:
        sums: sum weights as printed in eq. 4 and 5, instead of means
        pictures: include both images in the points as in appendix B, and allow a change in either direction
        unclamped: allow a change in either direction, as eq. 10 prints it
        dropped: leave attributes without a positive weight out, as scikit-learn does, instead of clipping the weight

    """

    sums: bool = False
    pictures: bool = False
    unclamped: bool = False
    dropped: bool = False

    @property
    def leads_backwards(self) -> bool:
        """Whether a source image on the target side is moved back."""
        return self.pictures or self.unclamped

    def with_options(self, texts: Mapping[str, str]) -> PaperReading:
        """Return the reading with the options of a variant, such as `augclip[sum,unclamped]`."""
        return replace(self, **{field_name: True for option, field_name in READING_OPTIONS.items() if option in texts})


@dataclass(frozen=True, slots=True, eq=False)
class EmbeddedOutcome:
    """Embeddings of one outcome."""

    source_image: Vectors
    edited_image: Vectors
    source: Vectors
    """One row per source attribute."""
    target: Vectors
    direction: Floats | None = None
    """From the source text to the target text, for naive weights."""


@dataclass(frozen=True, slots=True, eq=False)
class FittedEdit:
    """The ideal edit, and the score of an outcome."""

    weights: Weights
    hyperplane: Hyperplane
    modification: Floats
    score: float
    misclassified: float
    """Fraction of points on the wrong side."""
    already_there: bool
    """Whether the source image lies on the target side before any edit."""


def fit_ideal_edit(embedded: EmbeddedOutcome, options: AugClipOptions, reading: PaperReading) -> FittedEdit:
    """Fit the ideal edit of one outcome, and score the outcome."""
    source, target = embedded.source, embedded.target
    if reading.pictures:
        source, target = np.vstack([embedded.source_image, source]), np.vstack([embedded.edited_image, target])
    weights = _weights(source, target, embedded.direction, options, reading)
    try:
        hyperplane = fit(source, target, weights, options.classifier, options.c)
    except ValueError as error:
        raise UnscorableError("not_applicable", str(error)) from error
    change = (hyperplane.reach if reading.leads_backwards else hyperplane.modification)(embedded.source_image)
    return FittedEdit(
        weights=weights,
        hyperplane=hyperplane,
        modification=change,
        score=ideal_similarity(embedded.edited_image, embedded.source_image, change),
        misclassified=hyperplane.misclassified(source, target),
        already_there=bool(hyperplane.side(embedded.source_image) >= 0),
    )


def _weights(
    source: Vectors, target: Vectors, direction: Floats | None, options: AugClipOptions, reading: PaperReading
) -> Weights:
    """Return weights, scaled to mean 1 except for literal sums: C = 1 is far too soft for mean cosines."""
    if options.weighting == "unweighted":
        return even_weights(source, target)
    if options.weighting == "naive" and direction is not None:
        return naive_weights(source, target, direction).scaled()
    weights = relative_weights(source, target, sums=reading.sums, dropped=reading.dropped)
    return weights if reading.sums else weights.scaled()


MAX_ATTRIBUTES_IN_NOTE = 4
"""Attributes named at either end of a ranking."""
IMAGE_NAMES = ("source image", "edited image", "ideal edit")


def augclip_evidence(
    name: str, attributes: Attributes, embedded: EmbeddedOutcome, result: FittedEdit, reading: PaperReading
) -> tuple[Evidence, ...]:
    """Return rankings (eq. 11 and 12), remarks on weights and hyperplane, and scatter plots (Fig. 8-10).

    Everything carries the variant's name, because a run may hold several.
    """
    notes = [
        *_rankings(attributes, embedded, result),
        *_weights_evidence(attributes, result, reading),
        *_sides(attributes, result, reading),
    ]
    return (
        *(Note(f"{name}: {text}") for text in notes),
        hyperplane_scatter(name, attributes, embedded, result),
        _weight_scatter(name, attributes, result, reading),
    )


def _weight_scatter(name: str, attributes: Attributes, result: FittedEdit, reading: PaperReading) -> Scatter:
    """Return a plot of attribute weights (eq. 6), source attributes below, target attributes above."""
    weights = result.weights.source[int(reading.pictures) :], result.weights.target[int(reading.pictures) :]
    points = [
        ScatterPoint(attribute, f"{side} attributes", weight, float(side == "target"))
        for side, side_attributes, side_weights in zip(
            ("source", "target"), (attributes.source, attributes.target), weights, strict=True
        )
        for attribute, weight in zip(side_attributes, side_weights.tolist(), strict=True)
    ]
    return Scatter(f"{name}: {WEIGHTS_OF_ATTRIBUTES}", tuple(points))


def hyperplane_scatter(name: str, attributes: Attributes, embedded: EmbeddedOutcome, result: FittedEdit) -> Scatter:
    """Return attributes, images and ideal edit projected so that the hyperplane is a vertical line.

    x is the signed distance from the hyperplane, y the direction within it in which attributes differ most.
    """
    attribute_vectors = np.vstack([embedded.source, embedded.target]).astype(np.float64)
    image_vectors = np.vstack(
        [embedded.source_image, embedded.edited_image, embedded.source_image + result.modification]
    )
    normal = result.hyperplane.w / np.linalg.norm(result.hyperplane.w)
    vertical = _principal_direction(attribute_vectors - attribute_vectors.mean(axis=0), normal)
    points = np.vstack([attribute_vectors, image_vectors.astype(np.float64)])
    x = result.hyperplane.side(points) / float(np.linalg.norm(result.hyperplane.w))
    y = (points - attribute_vectors.mean(axis=0)) @ vertical
    sides = ["source attributes"] * len(attributes.source) + ["target attributes"] * len(attributes.target)
    names = (*attributes.source, *attributes.target, *IMAGE_NAMES)
    drawn = zip(names, (*sides, *IMAGE_NAMES), x.tolist(), y.tolist(), strict=True)
    return Scatter(
        f"{name}: attributes, pictures and hyperplane (dashed)",
        tuple(ScatterPoint(*point) for point in drawn),
        (0.0, float(y.min()), 0.0, float(y.max())),
    )


def _principal_direction(centered: Floats, across: Floats) -> Floats:
    """Return the first principal direction orthogonal to the normal, with a fixed sign; 0 if none is left.

    Uses inner products of points, which are few, instead of the embedder's dimensions, which are many.
    """
    along = centered - np.outer(centered @ across, across)
    direction = np.asarray(np.linalg.eigh(along @ along.T)[1][:, -1] @ along)
    length = float(np.linalg.norm(direction))
    if length < MIN_STEP:
        return np.zeros_like(across)
    return np.asarray(direction * np.sign(direction[np.abs(direction).argmax()]) / length)


def effects(source_image: Vectors, ideal: Vectors, attributes: Vectors) -> Floats:
    """Return how much better each attribute fits the ideal edit than the source image (AugCLIP, eq. 11 and 12).

    >>> effects(np.array([1.0, 0.0]), np.array([0.0, 1.0]), np.eye(2)).tolist()
    [-1.0, 1.0]
    """
    named = unit_vectors(attributes)
    return np.asarray(named @ unit_vectors(ideal) - named @ unit_vectors(source_image))


def _rankings(attributes: Attributes, embedded: EmbeddedOutcome, result: FittedEdit) -> list[str]:
    if not result.modification.any():
        return []
    ideal = embedded.source_image + result.modification
    before, after = (effects(embedded.source_image, ideal, side) for side in (embedded.source, embedded.target))
    changing = sorted(
        zip(attributes.source, before.tolist(), strict=True), key=lambda ranked: (-abs(ranked[1]), ranked[0])
    )
    appearing = sorted(zip(attributes.target, after.tolist(), strict=True), key=lambda ranked: (-ranked[1], ranked[0]))
    return [
        _ends("Of the source, what should change most", changing, "what should stay"),
        _ends("Of the target, what should come most", appearing, "what matters least"),
    ]


def _ends(first: str, ranked: Sequence[tuple[str, float]], last: str) -> str:
    """Return both ends of a ranking as a sentence; an attribute appears at one end only."""
    above = ranked[: min(MAX_ATTRIBUTES_IN_NOTE, (len(ranked) + 1) // 2)]
    below = ranked[max(len(above), len(ranked) - MAX_ATTRIBUTES_IN_NOTE) :]
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
    fate = "which were left out" if reading.dropped else "and were clipped"
    return [f"Weights were not positive for {' and '.join(clipped)} attributes, {fate}."] if clipped else []


def _sides(attributes: Attributes, result: FittedEdit, reading: PaperReading) -> list[str]:
    source, target = len(attributes.source) + reading.pictures, len(attributes.target) + reading.pictures
    wrong = round(result.misclassified * (source + target))
    sentences = [f"{wrong} of {source + target} points are on the wrong side of the hyperplane."]
    if wrong >= min(source, target):
        sentences.append("As many as a whole set are: the hyperplane hardly parts them, and a larger c would.")
    if result.already_there and reading.leads_backwards:
        sentences.append("The source image is on the target side: the ideal edit would move it back.")
    elif result.already_there:
        sentences.append(
            "The source image is already on the target side: v = 0, and the score is the similarity of both pictures."
        )
    return sentences
