"""Evidence is stored as JSON and comes back the same."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from editgauge._util.masks import BoolMask
from editgauge.evidence import Box, Evidence, Note, Region, from_json, to_json

sides = st.sampled_from(["source", "edited"])
hundredths = st.integers(-100_000, 6_400_000).map(lambda number: number / 100)
confidences = st.none() | st.integers(0, 10_000).map(lambda number: number / 10_000)
boxes = st.builds(Box, sides, hundredths, hundredths, hundredths, hundredths, st.text(), confidences)
masks = arrays(np.bool_, array_shapes(min_dims=2, max_dims=2, min_side=1, max_side=40))


def round_trip(evidence: Evidence) -> Evidence:
    return from_json(json.loads(json.dumps(to_json(evidence))))


@given(boxes | st.builds(Note, st.text()))
def test_boxes_and_notes_come_back_equal(evidence: Evidence) -> None:
    assert round_trip(evidence) == evidence


@given(sides, masks, st.text())
def test_regions_come_back_equal(on: str, mask: BoolMask, label: str) -> None:
    back = round_trip(Region(on, mask, label))  # type: ignore[arg-type]

    assert isinstance(back, Region)
    assert (back.on, back.label) == (on, label)
    assert back.mask.dtype == np.bool_
    assert np.array_equal(back.mask, mask)


def test_a_box_keeps_hundredths_of_a_pixel() -> None:
    stored = to_json(Box("edited", 1.23456, 2, 3, 4, "cat", 0.987654))

    assert stored == {"box": [1.23, 2, 3, 4], "on": "edited", "label": "cat", "confidence": 0.9877}


def test_numbers_of_a_network_can_be_stored() -> None:
    """A network answers in float32, which JSON does not know."""
    left, top, right, bottom, confidence = np.array([1.5, 2.25, 3, 4, 0.75], dtype=np.float32)

    assert round_trip(Box("source", left, top, right, bottom, "cat", confidence)) == Box(
        "source", 1.5, 2.25, 3.0, 4.0, "cat", 0.75
    )


def test_a_mask_is_stored_small() -> None:
    mask = np.zeros((512, 512), dtype=np.bool_)
    mask[100:300, 150:400] = True

    assert len(json.dumps(to_json(Region("source", mask)))) < 1024


def test_a_stored_mask_that_is_no_picture_is_refused() -> None:
    with pytest.raises(ValueError, match="not a PNG"):
        from_json({"mask": "aGVsbG8=", "on": "source", "label": ""})
