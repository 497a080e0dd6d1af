"""Remarks sorted by their words: hand-worked ones, what is counted, and the picture."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import pytest

from editgauge._render.plots import feedback_svg
from editgauge.analysis.feedback import feedback, sort_remarks
from editgauge.benchmarks.datasets import Remark
from editgauge.benchmarks.editinspector import kinds, kinds_of
from editgauge.errors import BadInputError, UnknownNameError


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The dog is out of proportion, much too big.", {"shape"}),
        ("Its fur is SMUDGED and fuzzy.", {"blur"}),
        ("The wall is grainy.", {"texture"}),
        ("There is no shadow under the chair.", {"light"}),
        ("The colour is oversaturated and the hue is wrong.", {"color"}),
        ("It looks like a toy.", {"unreal"}),
        ("The lamp is tilted.", {"placement"}),
        ("One leg is missing.", {"objects"}),
        ("A jagged outline.", {"edges"}),
        ("It is pixelated.", {"resolution"}),
        ("Low\n quality, blurry.", {"resolution", "blur"}),
        ("The landscape, the emphasized knowledge.", set()),  # words inside words tell nothing
        ("", set()),
    ],
)
def test_words_tell_the_kind(text: str, expected: set[str]) -> None:
    assert set(kinds_of(text)) == expected


def test_there_are_the_ten_kinds_of_the_paper() -> None:
    assert len(kinds()) == 10
    assert len({kind.label for kind in kinds().values()}) == 10


def test_every_remark_counts_once_for_each_of_its_kinds() -> None:
    told = [
        Remark("q", text, f"{place}.png") for place, text in enumerate(["blurry edges", "blurred", "fine", "edges"])
    ]
    (result,) = sort_remarks(told)
    assert (result.remarks, result.unsorted) == (4, 1)
    assert list(result.kinds)[:2] == ["Blur", "Edges"]
    assert [result.kinds[label].value for label in ("Blur", "Edges", "Color")] == [0.5, 0.5, 0.0]
    assert (result.kinds["Blur"].n, result.kinds["Blur"].clusters) == (4, 4)


def test_questions_are_kept_apart() -> None:
    result = sort_remarks([Remark("a", "blurry", "1.png"), Remark("b", "too big", "1.png")])
    assert [(item.question, next(iter(item.kinds))) for item in result] == [
        ("a", "Blur"),
        ("b", "Shape and proportion"),
    ]
    assert sort_remarks([]) == ()


def test_the_picture_has_a_bar_for_every_kind_as_long_as_its_share() -> None:
    (result,) = sort_remarks([Remark("<q>", text, text) for text in ("blurry", "blurred edges", "edges", "a toy")])
    root = ElementTree.fromstring(feedback_svg({result.question: result.kinds}))
    bars = [float(item.attrib["width"]) for item in root.iter() if item.attrib.get("class") == "bar"]
    assert len(bars) == 10
    assert bars[0] == bars[1] == pytest.approx(2 * bars[2], abs=0.1)
    assert bars[3:] == [0.0] * 7
    assert "Blur 50%" in root.attrib["aria-label"]


def test_what_cannot_be_had_is_explained(tmp_path: Path) -> None:
    with pytest.raises(UnknownNameError, match="benchmark with remarks"):
        feedback("editval", data=tmp_path)
    with pytest.raises(BadInputError, match="does not exist"):
        feedback("editinspector", data=tmp_path / "none.csv")
