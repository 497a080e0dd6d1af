"""Maps that a protocol drew reach the gallery as small pictures, for the larger view."""

from __future__ import annotations

import base64
import re
from collections.abc import Callable
from importlib import resources
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from editgauge._util.drawing import ABOVE, BELOW, colored
from editgauge._util.images import Pixels, write_png
from editgauge.evidence import Box, Heat, to_json
from editgauge.reports._gallery import STEPS, as_data_url
from editgauge.reports.report import report
from editgauge.results import ImageStamp, JournalEntry

NUMBERS = np.linspace(0, 1, 24, dtype=np.float32).reshape(4, 6)


def decoded(address: str) -> Pixels:
    kind, _, data = address.partition(",")
    assert kind == "data:image/png;base64"
    return np.asarray(Image.open(BytesIO(base64.b64decode(data))).convert("RGBA"))


@pytest.mark.parametrize("signed", [False, True])
def test_a_map_becomes_a_picture_in_its_colors(signed: bool) -> None:
    numbers = NUMBERS * 2 - 1 if signed else NUMBERS
    shown = decoded(as_data_url(Heat("edited", numbers, signed=signed)))
    np.testing.assert_array_equal(shown, colored(np.rint(numbers * STEPS) / STEPS, signed=signed))


def test_a_thousand_maps_stay_light() -> None:
    rough = np.random.default_rng(0).random((64, 64)).astype(np.float32)
    assert len(as_data_url(Heat("edited", rough))) < 6_000


def test_maps_go_to_their_outcome_and_boxes_stay_where_they_were(
    make_run: Callable[..., Path],
    make_record: Callable[..., JournalEntry],
    as_page: Callable[[Path], Any],
    photo: Pixels,
    tmp_path: Path,
) -> None:
    write_png(photo, tmp_path / "photo.png")
    stamp = ImageStamp.of(tmp_path / "photo.png")
    pieces = (
        Box("source", 1, 1, 9, 9, "cat"),
        Heat("edited", NUMBERS, "where"),
        Heat("source", NUMBERS - 1, "less", signed=True),
    )
    stored = tuple(to_json(piece) for piece in pieces)
    run = make_run(make_record(source_image=stamp, edited_image=stamp, evidence=stored))
    (edit,) = as_page(report(run, out=tmp_path / "report", quiet=True)).gallery["edits"]
    (outcome,) = edit["outcomes"]
    assert [mark["label"] for mark in edit["marks"]] == ["cat"]
    assert "marks" not in outcome
    assert [(each["label"], each["of"], each["signed"]) for each in outcome["maps"]] == [
        ("where", "edited", False),
        ("less", "source", True),
    ]
    assert decoded(outcome["maps"][0]["map"]).shape == (4, 6, 4)


def test_a_damaged_map_is_told_in_its_place(
    make_run: Callable[..., Path],
    make_record: Callable[..., JournalEntry],
    as_page: Callable[[Path], Any],
    tmp_path: Path,
) -> None:
    run = make_run(make_record(evidence=({"heat": "bm8gcGljdHVyZQ==", "on": "edited", "label": "where"},)))
    (edit,) = as_page(report(run, out=tmp_path / "report", quiet=True)).gallery["edits"]
    assert "not a PNG" in edit["outcomes"][0]["damaged"][0]


def test_the_scale_beside_a_map_has_the_colors_of_the_map() -> None:
    style = (resources.files("editgauge.reports") / "templates" / "style" / "maps.css").read_text("utf-8")
    stops = {
        kind: re.findall(r"rgb\((\d+) (\d+) (\d+) / ([\d.]+)\)", line)
        for kind, line in re.findall(r"\.map\.(plain|signed) \.colors (.*)", style)
    }
    told = {kind: [(*map(int, stop[:3]), float(stop[3])) for stop in found] for kind, found in stops.items()}
    assert told == {"plain": [stop[1:] for stop in ABOVE], "signed": [stop[1:] for stop in (*BELOW, *ABOVE)]}
