"""The form of one file, damaged evidence, and what a report says about both."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable
from importlib import resources
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from PIL import Image

from editgauge._util.drawing import ABOVE, BELOW, colored
from editgauge._util.images import Pixels, pixel_hash, write_png
from editgauge.errors import BadInputError
from editgauge.evidence import Box, Heat, Note, Scatter, ScatterPoint, to_json
from editgauge.instructions import parse_instruction as understand
from editgauge.reports import _gallery as gallery
from editgauge.reports._gallery import STEPS, as_data_url, describe_parse, worst_edits
from editgauge.reports.context import Context
from editgauge.reports.report import report
from editgauge.results import ImageStamp, JournalEntry, Run
from editgauge.results.edits import parsed_to_json

if TYPE_CHECKING:
    from tests.reports.conftest import Page


def test_one_file_holds_everything(
    scored: tuple[Path, Path], tmp_path: Path, as_page: Callable[[Path], Page], page: Page
) -> None:
    out = tmp_path / "out" / "report.html"
    assert report(scored[0], out=out, quiet=True, single_file=True) == out
    assert [path.name for path in out.parent.iterdir()] == ["report.html"]
    single = as_page(out)
    data = single.gallery
    assert len(data["edits"]) == len(page.gallery["edits"])
    rendered = {picture["small"] for picture in data["pictures"] if "small" in picture}
    assert rendered == set(data["embedded"])
    assert all(address.startswith("data:image/jpeg;base64,") for address in data["embedded"].values())
    assert "small images only" in single.section("gallery").full_text()
    text = out.read_text("utf-8").replace("http://www.w3.org/2000/svg", "")
    assert re.findall(r".{20}https?://.{20}", text) == []
    assert "img-src data:;" in text


def test_the_pictures_of_the_worst_are_kept_when_there_are_too_many(
    scored: tuple[Path, Path],
    tmp_path: Path,
    as_page: Callable[[Path], Page],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr("editgauge.reports.report.MAX_EMBEDDED_OUTCOMES", 5)
    single = as_page(report(scored[0], out=tmp_path / "report.html", single_file=True))
    data = single.gallery
    with_pictures = {e["id"] for e in data["edits"] if "small" in data["pictures"][e["source"]]}
    assert with_pictures == set(worst_edits(Context(Run.open(scored[0])), 5))
    assert len(with_pictures) == 2
    assert {"problem": gallery.NOT_EMBEDDED} in data["pictures"]
    output = "It has those of 2 of 6 edits, the worst by ssim_outside; the others have numbers only."
    assert output in single.section("gallery").full_text()
    assert output in caplog.text


def test_the_worst_edits_count_by_their_worst_outcome(
    make_record: Callable[..., JournalEntry], make_run: Callable[..., Path]
) -> None:
    values = {"a": (0.9, 0.8), "b": (0.95, 0.1), "c": (0.4, 0.5)}
    records = [
        make_record(edit, {"gain": value, "loss": "refused"}, method=method)
        for edit, pair in values.items()
        for method, value in zip(("one", "two"), pair, strict=True)
    ]
    context = Context(Run.open(make_run(*records)))
    assert worst_edits(context, 4) == ["b", "c"]
    assert worst_edits(context, 1) == []
    assert worst_edits(context, 100) == ["b", "c", "a"]


def test_other_peoples_files_are_left_alone(scored: tuple[Path, Path], tmp_path: Path) -> None:
    (tmp_path / "thesis.html").write_text("precious")
    with pytest.raises(BadInputError, match="is not a report"):
        report(scored[0], out=tmp_path / "thesis.html", quiet=True, single_file=True)
    assert (tmp_path / "thesis.html").read_text() == "precious"
    with pytest.raises(BadInputError, match=r"one \.html file"):
        report(scored[0], out=tmp_path / "folder", quiet=True, single_file=True)


def test_one_file_can_be_refreshed(scored: tuple[Path, Path], tmp_path: Path) -> None:
    first = report(scored[0], out=tmp_path / "report.html", quiet=True, single_file=True).read_bytes()
    assert report(scored[0], out=tmp_path / "report.html", quiet=True, single_file=True).read_bytes() == first


def test_the_command_line_writes_one_file_too(
    make_record: Callable[..., JournalEntry],
    make_run: Callable[..., Path],
    tmp_path: Path,
    editgauge: Callable[..., Any],
) -> None:
    out = tmp_path / "report.html"
    ended = editgauge("report", make_run(make_record()), "--out", out, "--single-file", "--quiet")
    assert ended.stdout.endswith("report.html\n")
    assert out.is_file()
    ended = editgauge("report", make_run(make_record()), "--out", tmp_path / "folder", "--single-file", code=2)
    assert "one .html file" in " ".join(ended.stderr.split())


@pytest.mark.parametrize(
    "damaged",
    [
        {"mask": "AAAA", "on": "source", "label": ""},
        {"mask": "?", "on": "source"},
        {"box": [1, 2], "on": "edited"},
        {},
        [],
    ],
)
def test_a_damaged_piece_of_evidence_is_told_in_its_place(
    damaged: object,
    make_record: Callable[..., JournalEntry],
    make_run: Callable[..., Path],
    tmp_path: Path,
    photo: Pixels,
    as_page: Callable[[Path], Page],
) -> None:
    write_png(photo, tmp_path / "cat.png")
    stamp = ImageStamp.of(tmp_path / "cat.png", pixel_hash(photo))
    record = make_record(source_image=stamp, edited_image=stamp, evidence=(damaged, {"note": "fine"}))
    (edit,) = as_page(report(make_run(record), out=tmp_path / "report", quiet=True)).gallery["edits"]
    (outcome,) = edit["outcomes"]
    (output,) = outcome["damaged"]
    assert output.startswith("A piece of evidence for gain is damaged and cannot be shown (")
    assert outcome["notes"] == [{"note": "fine", "by": [0]}]


def test_unreadable_evidence_leaves_the_rest_of_the_page(
    make_record: Callable[..., JournalEntry],
    make_run: Callable[..., Path],
    tmp_path: Path,
    as_page: Callable[[Path], Page],
) -> None:
    run = make_run(make_record(evidence=({"note": "fine"},)))
    for path in (run / "evidence").iterdir():
        path.write_bytes(b"broken")
    page = as_page(report(run, out=tmp_path / "report", quiet=True))
    assert "No evidence can be displayed." in page.root.all("header", "top")[0].full_text()
    assert len(page.gallery["edits"]) == 1


def test_all_evidence_is_that_of_every_record(
    make_record: Callable[..., JournalEntry], make_run: Callable[..., Path]
) -> None:
    pieces = [{"note": "first"}, {"note": "second"}]
    records = [make_record(edit, evidence=(piece,)) for edit, piece in zip("ab", pieces, strict=True)]
    run = Run.open(make_run(*records))
    results = [(key.edit, name, json.loads(text)) for key, name, text in run.iter_evidence()]
    assert results == [(e, name, piece) for e, piece in zip("ab", pieces, strict=True) for name in ("gain", "loss")]
    assert {key for key, _, _ in run.iter_evidence()} == {record.key for record in records}


NUMBERS = np.linspace(0, 1, 24, dtype=np.float32).reshape(4, 6)


def decoded(address: str) -> Pixels:
    kind, _, data = address.partition(",")
    assert kind == "data:image/png;base64"
    return np.asarray(Image.open(BytesIO(base64.b64decode(data))).convert("RGBA"))


@pytest.mark.parametrize("signed", [False, True])
def test_a_map_becomes_a_picture_in_its_colors(signed: bool) -> None:
    numbers = NUMBERS * 2 - 1 if signed else NUMBERS
    rendered = decoded(as_data_url(Heat("edited", numbers, signed=signed)))
    np.testing.assert_array_equal(rendered, colored(np.rint(numbers * STEPS) / STEPS, signed=signed))


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
    assert [(item["label"], item["of"], item["signed"]) for item in outcome["maps"]] == [
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
    output = {kind: [(*map(int, stop[:3]), float(stop[3])) for stop in results] for kind, results in stops.items()}
    assert output == {"plain": [stop[1:] for stop in ABOVE], "signed": [stop[1:] for stop in (*BELOW, *ABOVE)]}


PIECE = Scatter(
    "plane", (ScatterPoint("cat", "source", 0.5, -1.25), ScatterPoint("dog", "target", 1, 2)), (0, -1, 0, 1)
)


def test_a_scatter_goes_to_its_outcome(
    make_run: Callable[..., Path],
    make_record: Callable[..., JournalEntry],
    as_page: Callable[[Path], Any],
    photo: Pixels,
    tmp_path: Path,
) -> None:
    write_png(photo, tmp_path / "photo.png")
    stamp = ImageStamp.of(tmp_path / "photo.png")
    stored = tuple(to_json(piece) for piece in (Note("seen"), PIECE))
    run = make_run(make_record(source_image=stamp, edited_image=stamp, evidence=stored))
    (edit,) = as_page(report(run, out=tmp_path / "report", quiet=True)).gallery["edits"]
    (outcome,) = edit["outcomes"]
    assert outcome["scatters"] == [{**to_json(PIECE), "by": [0]}]
    assert outcome["notes"] == [{"note": "seen", "by": [0]}]


def test_a_damaged_scatter_is_told_in_its_place(
    make_run: Callable[..., Path],
    make_record: Callable[..., JournalEntry],
    as_page: Callable[[Path], Any],
    tmp_path: Path,
) -> None:
    run = make_run(make_record(evidence=({"scatter": [["cat", "source", 1]], "label": "plane"},)))
    (edit,) = as_page(report(run, out=tmp_path / "report", quiet=True)).gallery["edits"]
    assert edit["outcomes"][0]["damaged"][0].startswith("A piece of evidence for gain is damaged")


@pytest.mark.parametrize(
    ("instruction", "rendered"),
    [
        ("replace the horse with a zebra", "certain"),
        ("Can we have a blue airplane?", "uncertain"),
        ("make it nicer", "not parsed"),
    ],
)
def test_doubtful_readings_can_be_filtered(instruction: str, rendered: str) -> None:
    edit: dict[str, Any] = {"reading": parsed_to_json(understand(instruction))}
    assert describe_parse(edit) == rendered


def test_an_edit_with_fields_of_its_own_was_not_read() -> None:
    assert describe_parse({"type": "color"}) == ""
