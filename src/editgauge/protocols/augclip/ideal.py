"""The ideal edit in the space of an embedder: weights, hyperplane, least change, and how near an outcome comes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from editgauge.errors import UnscorableError
from editgauge.protocols._text_image import Floats, Vectors
from editgauge.protocols.augclip.attribute_weights import Weights, even_weights, naive_weights, relative_weights
from editgauge.protocols.augclip.hyperplane import Hyperplane, fit, likeness
from editgauge.protocols.augclip.options import AugClipOptions


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
