"""Two maps of classes against each other, worked out pixel by pixel and class by class."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray

from editgauge._vision.geometry import overlap
from editgauge.protocols.baselines import label_agreement, mean_class_overlap

labels = arrays(np.uint8, (4, 5), elements=st.sampled_from([0, 1, 7, 255]))


@given(labels, labels)
def test_both_are_what_counting_by_hand_gives(before: NDArray[np.uint8], after: NDArray[np.uint8]) -> None:
    same = sum(one == other for one, other in zip(before.flat, after.flat, strict=True))
    assert label_agreement(before, after) == same / before.size
    classes = {*before.flat, *after.flat}
    by_class = [overlap(np.asarray(before == each), np.asarray(after == each)) for each in classes]
    assert mean_class_overlap(before, after) == pytest.approx(sum(by_class) / len(by_class))


def test_a_small_thing_that_went_counts_more_by_class_than_by_pixel() -> None:
    before = np.zeros((10, 10), np.uint8)
    before[0, :2] = 3
    gone = np.zeros_like(before)
    assert label_agreement(before, gone) == 0.98
    assert mean_class_overlap(before, gone) == pytest.approx(0.49)


@pytest.mark.parametrize("after", [np.zeros((2, 2), np.uint8), np.zeros((0, 3), np.uint8)])
def test_maps_of_two_sizes_or_of_none_are_refused(after: NDArray[np.uint8]) -> None:
    before = np.zeros((0, 3) if not after.size else (1, 4), np.uint8)
    for measure in (label_agreement, mean_class_overlap):
        with pytest.raises(ValueError, match="one size"):
            measure(before, after)
