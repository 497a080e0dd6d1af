"""Precision and hallucination against the number of objects, from a run folder to the picture."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from editgauge.analysis.captions import caption_quality, quantile_groups
from editgauge.errors import BadInputError
from editgauge.reports._figures import caption_quality_svg
from editgauge.results.manifest import ProtocolEntry
from editgauge.types import ScoreSpec

NAME = "difference-captions[gpt]"
ENTRY = ProtocolEntry(
    about="",
    paper="",
    version="1",
    deviations=(),
    scores=tuple(ScoreSpec(name, True, (0.0, 100.0)) for name in ("mp", "hr", "objects")),
)


@pytest.fixture
def captioned(make_run: Callable[..., Path], make_record: Callable[..., object]) -> Path:
    """Forty outcomes with 1 to 20 objects: the more objects, the lower precision and the higher hallucination."""
    rng = np.random.default_rng(0)
    records = []
    for place in range(40):
        objects = 1 + place // 2
        result = float(rng.random() < 1 - objects / 22)
        made_up: float | str = "not_applicable" if place % 8 == 0 else min(1.0, objects / 20)
        scores = {"mp": result, "hr": made_up, "objects": float(objects)}
        records.append(
            make_record(f"e{place}", scores, protocol=NAME, source=f"s{place // 2}.png", place=place)
        )  # fmt: skip
    return make_run(*records, protocols={NAME: ENTRY})


def test_captions_get_worse_with_more_objects(captioned: Path) -> None:
    (curve,) = caption_quality(captioned)
    assert (curve.protocol, curve.method, len(curve.steps)) == (NAME, "mine", 5)
    precision = [mean.value for step in curve.steps if (mean := step.rates["mp"])]
    assert precision[0] > precision[-1]
    for step in curve.steps:
        mp, hr = step.rates["mp"], step.rates["hr"]
        assert mp is not None
        assert hr is not None
        assert mp.low is not None
        assert mp.high is not None
        assert mp.low <= mp.value <= mp.high
        assert hr.n < mp.n == 8  # a model that named nothing made nothing up: it has no hallucination rate
    assert [(step.fewest, step.most) for step in curve.steps] == [(1, 4), (5, 8), (9, 12), (13, 16), (17, 20)]


def test_the_picture_tells_every_number_and_is_a_document_of_its_own(captioned: Path) -> None:
    (curve,) = caption_quality(captioned, groups=3)
    root = ElementTree.fromstring(caption_quality_svg(curve))
    texts = [item.text for item in root.iter("{http://www.w3.org/2000/svg}text")]
    assert {"precision", "hallucination", "objects in the edited image"} <= set(texts)
    assert len(list(root.iter("{http://www.w3.org/2000/svg}circle"))) == 6
    assert root.attrib["aria-label"].count("precision") == 3


def test_a_run_that_counts_no_objects_says_what_to_do(
    make_run: Callable[..., Path], make_record: Callable[..., object]
) -> None:
    with pytest.raises(BadInputError, match="--models lite"):
        caption_quality(make_run(make_record()))


def test_no_groups_are_refused(captioned: Path) -> None:
    with pytest.raises(BadInputError, match="at least 1"):
        caption_quality(captioned, groups=0)


@given(st.lists(st.integers(0, 12), max_size=40), st.integers(1, 8))
def test_groups_hold_everything_once_in_order_and_never_part_equals(counts: list[int], groups: int) -> None:
    parts = quantile_groups(np.array(counts, dtype=np.float64), groups)
    assert len(parts) <= groups
    assert sorted(place for part in parts for place in part.tolist()) == list(range(len(counts)))
    for one, other in pairwise(parts):
        assert max(counts[place] for place in one) < min(counts[place] for place in other)
