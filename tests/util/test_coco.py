"""COCO's files are read by JSON alone: outlines of every form, and every fault at once."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from editgauge._util.coco import CocoObject, read_coco, read_counts, render_run_lengths
from editgauge._util.masks import BoolMask
from editgauge.benchmarks._unibench_annotations import run_lengths
from editgauge.errors import BadInputError
from tests.builders.toys import CAPTION, CocoFiles, make_toys


@pytest.fixture
def toys(tmp_path: Path) -> CocoFiles:
    return make_toys(tmp_path / "toys")


masks = arrays(np.bool_, st.tuples(st.integers(1, 12), st.integers(1, 12)))


def written(counts: list[int]) -> str:
    """COCO's compression, as its C code does it: five bits a sign, differences to the one before the last."""
    text = ""
    for place, count in enumerate(counts):
        value = count - counts[place - 2] if place > 2 else count
        more = True
        while more:
            bits, value = value & 31, value >> 5
            more = value != (-1 if bits & 16 else 0)
            text += chr((bits | 32 if more else bits) + 48)
    return text


@given(st.lists(st.integers(0, 400_000), min_size=1, max_size=40))
def test_compressed_run_lengths_are_read_as_they_were_written(counts: list[int]) -> None:
    assert read_counts(written(counts)) == counts


@given(masks)
def test_all_forms_of_an_outline_give_the_same_mask(mask: BoolMask) -> None:
    height, width = mask.shape
    counts = run_lengths(mask).counts
    assert (render_run_lengths(counts, width, height) == mask).all()
    for form in (counts, written(counts)):
        result = CocoObject(1, "cat", (0, 0, 1, 1), {"size": [height, width], "counts": form}, True)
        assert (result.render(width, height) == mask).all()


@pytest.mark.parametrize(
    "outline",
    [
        {"size": [2, 2], "counts": [1, 1]},
        {"size": [2, 2], "counts": "\x7f"},
        {"size": [2, 2]},
        {"size": [2, 2], "counts": "P"},
        [[0, 0, 1]],
        [],
        [["a", 0, 1, 1, 2, 2]],
    ],
)
def test_an_outline_that_makes_no_sense_is_told(outline: Any) -> None:
    with pytest.raises(BadInputError, match=r"outline of annotation 7 \(cat\) cannot be read"):
        CocoObject(7, "cat", (0, 0, 1, 1), outline, False).render(2, 2)


def test_what_a_file_says(toys: CocoFiles) -> None:
    coco = read_coco(toys.instances, toys.captions)
    first = coco.images[0]
    assert (first.file, first.license, first.captions) == ("000000000001.jpg", "Attribution License", (CAPTION,))
    assert [item.class_ for item in first.objects] == ["cat", "suitcase", "bird"]
    assert coco.classes["cat"] == "animal"
    assert coco.together["cat"] == {"suitcase": 3, "bird": 3}


def test_a_crowd_is_never_one_of_a_kind(toys: CocoFiles) -> None:
    told = json.loads(toys.instances.read_text())
    told["annotations"][0]["iscrowd"] = 1
    toys.instances.write_text(json.dumps(told))
    assert read_coco(toys.instances).images[0].count("cat") == 2


def test_every_fault_is_told_at_once(toys: CocoFiles, tmp_path: Path) -> None:
    told = json.loads(toys.instances.read_text())
    del told["images"][0]["width"]
    told["annotations"][0]["category_id"] = 999
    told["annotations"][1]["bbox"] = [1, 2, 3]
    told["images"].append(told["images"][1])
    toys.instances.write_text(json.dumps(told))
    with pytest.raises(BadInputError) as caught:
        read_coco(toys.instances)
    assert len(caught.value.problems) == 4
    (tmp_path / "odd.json").write_text("[]")
    with pytest.raises(BadInputError, match="lacks the lists images, annotations, categories"):
        read_coco(tmp_path / "odd.json")
    (tmp_path / "odd.json").write_text("{")
    with pytest.raises(BadInputError, match="not valid JSON"):
        read_coco(tmp_path / "odd.json")
    with pytest.raises(BadInputError, match="cannot be read"):
        read_coco(tmp_path / "nowhere.json")
