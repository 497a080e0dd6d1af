"""PixLens's confusion matrices (arXiv 2410.05710, figures 15 to 18) and what table 3 makes of them."""

from __future__ import annotations

from math import ceil, comb

import numpy as np
import pytest

from editgauge.disentanglement._classifier import TEST_FRACTION, confusion_scores
from editgauge.disentanglement._vocabulary import read_vocabulary

KINDS = ("color", "pattern", "style", "texture")
"""Rows and columns; rows are the true kinds."""
FIGURE_16_AND_17 = ((105, 5, 0, 0), (0, 138, 0, 0), (2, 20, 65, 17), (0, 3, 0, 91))
FIGURES = {
    "ControlNet": ((105, 5, 0, 0), (0, 136, 2, 0), (0, 17, 87, 0), (0, 3, 0, 91)),
    "LCM": FIGURE_16_AND_17,
    "InstructPix2Pix": FIGURE_16_AND_17,
    "VQGAN+CLIP": ((105, 0, 0, 5), (9, 69, 40, 20), (0, 0, 87, 17), (0, 0, 0, 94)),
}
GIVEN = {
    "ControlNet": (0.939, 0.936),
    "LCM": (0.895, 0.887),
    "InstructPix2Pix": (0.895, 0.887),
    "VQGAN+CLIP": (0.796, 0.823),
}
"""Accuracy and balanced accuracy that the matrices give."""
PRINTED = {
    "ControlNet": (0.89, 0.89),
    "LCM": (0.93, 0.93),
    "InstructPix2Pix": (0.92, 0.92),
    "VQGAN+CLIP": (0.80, 0.83),
}
"""The same in table 3."""
ROUNDING = 0.005


@pytest.mark.parametrize("model", FIGURES)
def test_what_the_matrices_give(model: str) -> None:
    assert confusion_scores(np.array(FIGURES[model])) == pytest.approx(GIVEN[model], abs=0.0006)


def test_table_3_prints_other_numbers() -> None:
    """Of eight numbers only VQGAN+CLIP's accuracy follows from its own figure."""
    follows = {
        (model, which)
        for model, matrix in FIGURES.items()
        for which, value in enumerate(confusion_scores(np.array(matrix)))
        if abs(value - PRINTED[model][which]) <= ROUNDING
    }
    assert follows == {("VQGAN+CLIP", 0)}


def test_the_number_of_tests_tells_how_abstract_was_counted() -> None:
    """446 tests in every figure: 30 % of 33 attributes with 45 pairs of objects, so 'abstract' was of one kind only."""
    vocabulary = read_vocabulary()
    pairs = comb(len(vocabulary.objects), 2)
    attributes = sum(map(len, vocabulary.kinds.values()))
    assert (pairs, attributes, vocabulary.shared) == (45, 34, ("abstract",))
    assert {np.sum(matrix) for matrix in FIGURES.values()} == {ceil(TEST_FRACTION * pairs * (attributes - 1))} == {446}


def test_the_words_are_the_published_ones() -> None:
    vocabulary = read_vocabulary()
    assert {kind: len(words) for kind, words in vocabulary.kinds.items()} == {
        "texture": 7,
        "color": 8,
        "style": 9,
        "pattern": 10,
    }
    assert (len(vocabulary.objects), len(vocabulary.prompts)) == (10, 33 * 11)
