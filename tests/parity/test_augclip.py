"""AugCLIP against its own formulas: equations 3 to 10 and the listing of appendix B, written down from the paper.

There is no public code. The listing names a function for the weights and does not print it; here: equations 4 to 6.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.svm import SVC

from editgauge.errors import UnscorableError
from editgauge.protocols.augclip._ideal import EmbeddedOutcome, PaperReading, fit_ideal_edit, read_options
from tests.parity.scenes import table_on_page

SCENES = 200
NEAR = 1e-3
READINGS = {
    "augclip": PaperReading(),
    "augclip@sum": PaperReading(sums=True),
    "augclip@appendix": PaperReading(pictures=True),
}
Floats = NDArray[Any]


def unit(vectors: Floats) -> Floats:
    return np.asarray(vectors / np.linalg.norm(vectors, axis=-1, keepdims=True))


def random_seen(number: int) -> EmbeddedOutcome:
    """2 to 15 attributes on each side; texts lie apart from pictures, as in CLIP's space."""
    draw = np.random.default_rng(number)
    text, image, shared, before, after = unit(draw.normal(size=(5, 64)))
    counts = draw.integers(2, 16, 2)
    source, target = (
        unit(text + 0.6 * shared + 0.5 * own + 0.9 * unit(draw.normal(size=(count, 64))))
        for own, count in zip((before, after), counts, strict=True)
    )
    done, kept = draw.uniform(-0.2, 1), draw.uniform(0, 1)
    pictures = [before, done * after + kept * before]
    views = [unit(image + 0.4 * (text + shared + shown) + 0.3 * unit(draw.normal(size=64))) for shown in pictures]
    return EmbeddedOutcome(views[0], views[1], source, target)


def weights(own: Floats, opposite: Floats, *, sums: bool) -> list[float]:
    """Importance (eq. 4) plus collision (eq. 5)."""
    listed = []
    for place, attribute in enumerate(own):
        importance = [float(attribute @ other) for number, other in enumerate(own) if number != place]
        collision = [-float(attribute @ other) for other in opposite]
        listed.append(sum(importance) + sum(collision) if sums else float(np.mean(importance) + np.mean(collision)))
    return listed


def as_printed(seen: EmbeddedOutcome, reading: PaperReading) -> tuple[float, bool, bool] | None:
    """The score, whether the source lies on the target side, and whether a weight is negative; None without a fit.

    scikit-learn, which the listing uses, leaves points of negative weight out.
    """
    source, target = seen.source, seen.target
    if reading.pictures:
        source, target = np.vstack([seen.source_image, source]), np.vstack([seen.edited_image, target])
    loads = [weights(source, target, sums=reading.sums), weights(target, source, sums=reading.sums)]
    if any(max(side) <= 0 for side in loads):
        return None
    both = np.concatenate(loads)
    both = both if reading.sums else both / both.mean()  # the C of the paper is not given
    labels = [-1] * len(source) + [1] * len(target)
    svm = SVC(kernel="linear", C=1, tol=1e-6).fit(np.vstack([source, target]), labels, sample_weight=both)
    w, b = svm.coef_[0], float(svm.intercept_[0])
    side = float(w @ seen.source_image) + b
    ideal = seen.source_image - side / float(w @ w) * w
    score = float(ideal @ seen.edited_image / np.linalg.norm(ideal) / np.linalg.norm(seen.edited_image))
    return score, side >= 0, bool((both <= 0).any())


@cache
def counts() -> dict[str, tuple[int, ...]]:
    """For each reading: scenes that can be scored as printed; of these how many differ, in all and by cause."""
    table = {}
    for name, reading in READINGS.items():
        row = [0] * 5
        for number in range(SCENES):
            seen = random_seen(number)
            printed = as_printed(seen, reading)
            if printed is None:
                continue
            score, there, negative = printed
            try:
                differs = abs(fit_ideal_edit(seen, read_options("augclip", {}), reading).score - score) > NEAR
            except UnscorableError:
                differs = True
            clamped = there and not reading.pictures
            row[0] += 1
            row[1] += differs
            row[2] += differs and negative
            row[3] += differs and clamped and not negative
            row[4] += differs and not negative and not clamped
        table[name] = tuple(row)
    return table


@pytest.mark.slow
def test_the_page_states_what_random_scenes_give() -> None:
    assert counts() == table_on_page("augclip.md")


def test_nothing_differs_but_by_negative_weights_and_a_source_that_is_there_already() -> None:
    assert all(row[4] == 0 for row in counts().values())
