"""Contact sheets of the classes of a benchmark, from the user's own photographs."""

from __future__ import annotations

import json
from pathlib import Path

import cv2
import numpy as np
import pytest

from editgauge._util.images import read_image
from editgauge.builders.sheets import GAP, sheets
from editgauge.errors import BadInputError


@pytest.fixture
def editval(tmp_path: Path) -> Path:
    """Two benches and a stop sign, of which the photograph is missing."""
    add = {"object_addition": {"from": [""], "to": ["ball"]}}
    told = {"bench": {"1": add, "2": add}, "stop_sign": {"3": add}}
    (tmp_path / "object.json").write_text(json.dumps(told))
    for number, shade in (("1", 40), ("2", 200)):
        cv2.imwrite(str(tmp_path / f"{number}.jpg"), np.full((60, 120, 3), shade, np.uint8))
    return tmp_path


def test_every_class_has_a_sheet_of_its_photographs(editval: Path) -> None:
    made = {
        item.group: item
        for item in sheets("editval", out=editval / "out", data=editval / "object.json", images=editval, size=64)
    }

    assert {name: (item.pictures, item.missing) for name, item in made.items()} == {
        "bench": (2, 0),
        "stop sign": (0, 1),
    }
    sheet = read_image(made["bench"].file)
    assert sheet.shape == (64 + 2 * GAP, 2 * 64 + 3 * GAP, 3)
    assert sheet[GAP + 5, GAP + 5].tolist() == [40, 40, 40]
    assert sheet[GAP + 5, 64 + 2 * GAP + 5].tolist() == [200, 200, 200]
    assert not made["stop sign"].file.exists()


def test_a_size_that_makes_no_sense_is_refused(editval: Path) -> None:
    with pytest.raises(BadInputError, match="`size` goes from 32 to 1024"):
        sheets("editval", out=editval / "out", data=editval / "object.json", images=editval, size=3)
