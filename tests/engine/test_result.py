"""What `score`, `run` and `report` return, as a notebook and a prompt show it."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

import editgauge
from editgauge._util.images import Pixels, read_image, write_png
from editgauge.engine.result import ScoreResult
from editgauge.errors import BadImageError, BadInputError
from editgauge.evidence import Box, Evidence, Note
from editgauge.protocols import open_protocol
from editgauge.protocols.verdict import make_verdict
from editgauge.reports.report import ReportPage
from editgauge.results import ScoreRecord
from editgauge.types import Edit, Item, Outcome, ScoreSpec


@pytest.fixture(scope="module")
def edited(photo: Pixels) -> Pixels:
    darker = photo.copy()
    darker[32:64, 32:64] //= 2
    return darker


def score(before: Any, after: Any, **more: Any) -> ScoreResult:
    return editgauge.score(before, after, "make it dark", edit_type="color", protocol=["preservation"], **more)


def values(result: ScoreResult) -> dict[str, float | None]:
    return {entry.name: entry.value for entry in result}


def test_paths_pillow_images_and_arrays_give_the_same_scores(photo: Pixels, edited: Pixels, tmp_path: Path) -> None:
    before, after = tmp_path / "before.png", tmp_path / "after.png"
    write_png(photo, before)
    write_png(edited, after)
    expected = values(score(str(before), after))
    assert values(score(Image.open(before), Image.open(after))) == expected
    assert values(score(photo, edited)) == expected
    assert values(score(photo / 255, (edited / 255).astype(np.float32))) == expected


def test_the_arrays_of_the_user_stay_as_they_are(photo: Pixels, edited: Pixels) -> None:
    mine = edited.copy()
    score(photo, mine)
    mine[0, 0] = 0


def test_a_mask_may_be_an_array_of_bool_an_image_or_a_file(photo: Pixels, edited: Pixels, tmp_path: Path) -> None:
    mask = np.zeros(photo.shape[:2], bool)
    mask[32:64, 32:64] = True
    picture = Image.fromarray(mask.astype(np.uint8) * 255)
    picture.save(tmp_path / "mask.png")
    results = [score(photo, edited, mask=entry) for entry in (mask, picture, tmp_path / "mask.png")]
    assert [entry["l1_outside"].value for entry in results] == [0, 0, 0]


@pytest.mark.parametrize(
    ("image", "message"),
    [
        (np.zeros((3, 64, 65), np.uint8), "array of 3 x 64 x 65; give height x width x 3"),
        (np.full((64, 64, 3), 200.0), "from 200 to 200; scale them to 0 to 1"),
        (np.full((64, 64, 3), np.nan), "scale them to 0 to 1"),
        (np.zeros((64, 64, 3), np.int64), "holds int64 numbers; give uint8"),
        ([1, 2, 3], "of type list; give a path, the bytes of a file, a PIL image"),
    ],
)
def test_an_image_that_is_none_says_what_is_expected(image: Any, message: str) -> None:
    with pytest.raises(BadImageError, match=message):
        read_image(image)


def test_gray_and_transparent_arrays_are_read_as_files_are() -> None:
    gray = np.full((20, 30), 77, np.uint8)
    assert np.array_equal(read_image(gray), np.full((20, 30, 3), 77))
    clear = np.zeros((20, 30, 4), np.uint8)
    assert np.array_equal(read_image(clear), np.full((20, 30, 3), 255)), "transparency is laid over white"


def row(protocol: str, name: str, value: float | None, *evidence: Evidence) -> ScoreRecord:
    return ScoreRecord(
        edit="edit",
        method="m",
        seed=0,
        protocol=protocol,
        spec=ScoreSpec(name, True, (0.0, 1.0)),
        value=value,
        reason="unknown_word" if value is None else None,
        evidence=evidence,
    )


@pytest.fixture
def result(photo: Pixels, edited: Pixels) -> ScoreResult:
    box = Box("edited", 10, 10, 60, 60, "<cat>", 0.9)
    rows = [
        row("editval", "edit", 1.0, box, Note("A <cat> is there. It is black.")),
        row("pixlens", "edit", None, Note("No word for it")),
        row("editgauge", "edit", 0.9),
        row("preservation", "ssim", 0.5),
    ]
    edit = Edit(id="edit", source=Any, type="color", instruction="make the cat <b>black</b>")  # type: ignore[arg-type]
    item = Item(edit=edit, outcome=Outcome(edit_id="edit", method="m", image=Path()), source=photo, edited=edited)
    return ScoreResult(rows, item, make_verdict(rows))


def test_scores_are_found_by_name(result: ScoreResult) -> None:
    assert result["edit"].protocol == "editgauge", "our own protocol where several have the name"
    assert float(result["editval/edit"]) == 1.0
    assert "ssim" in result
    assert "lpips" not in result
    assert len(result) == len(list(result)) == 4
    with pytest.raises(KeyError, match="there are edit, ssim"):
        result["lpips"]
    with pytest.raises(TypeError, match=r"pixlens/edit is unscored \(unknown_word\): No word for it"):
        float(result["pixlens/edit"])


def test_a_name_of_several_other_protocols_must_be_said_in_full(result: ScoreResult) -> None:
    result._scores = (row("editval", "edit", 1.0), row("pixlens", "edit", 0.0))
    with pytest.raises(KeyError, match="'editval/edit', 'pixlens/edit'"):
        result["edit"]


def test_it_prints_the_verdict_and_the_main_scores(result: ScoreResult) -> None:
    lines = repr(result).splitlines()
    assert lines[0] == result.verdict.sentence
    assert lines[1:] == [
        "  editval/edit    1.000 ↑",
        "  pixlens/edit    unscored (unknown_word)",
        "  editgauge/edit  0.900 ↑",
        "  and 1 more in .to_frame()",
    ]


def test_a_notebook_shows_both_pictures_and_the_evidence(result: ScoreResult) -> None:
    html = result._repr_html_()
    assert html.count('<img src="data:image/jpeg;base64,') == 2
    assert "A &lt;cat&gt; is there." in html
    assert "<b>black</b>" not in html, "words of the instruction are not markup"


def test_it_becomes_plain_values(result: ScoreResult) -> None:
    plain = json.loads(json.dumps(result.to_dict()))
    assert plain["verdict"]["sentence"] == result.verdict.sentence
    assert [entry["value"] for entry in plain["scores"]] == [1.0, None, 0.9, 0.5]


def test_it_becomes_a_data_frame(result: ScoreResult) -> None:
    pytest.importorskip("pandas")
    frame = result.to_frame()
    assert list(frame.columns) == ["protocol", "name", "value", "reason", "higher_is_better", "range", "note"]
    assert frame.set_index("protocol").loc["editgauge", "value"] == 0.9
    assert frame["value"].isna().sum() == 1


def test_without_pandas_it_says_what_to_install(result: ScoreResult, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(BadInputError, match="pip install pandas"):
        result.to_frame()


@pytest.fixture
def run(make_run: Callable[..., Path], make_record: Callable[..., Any]) -> Path:
    return make_run(*(make_record(f"e{n}", {"gain": n / 10, "loss": "no_rule"}) for n in range(4)))


def test_a_run_prints_its_means(run: Path) -> None:
    opened = editgauge.RunSummary(editgauge.Run.open(run))
    text = repr(opened)
    assert "toy/gain ↑" in text
    assert "0.150" in text
    assert str(run) in text
    assert len(text) < 1000
    assert "<table" in opened._repr_html_()


def test_a_run_becomes_plain_values_and_a_data_frame(run: Path) -> None:
    opened = editgauge.RunSummary(editgauge.Run.open(str(run)))
    [gain] = [entry for entry in opened.to_dict()["means"] if (entry["score"], entry["edit_type"]) == ("gain", "all")]
    assert gain["mean"] == pytest.approx(0.15)
    assert gain["n"] == 4
    pytest.importorskip("pandas")
    frame = opened.to_frame()
    assert set(frame[frame["score"] == "loss"]["unscored"]) == {4}
    scores = editgauge.Run.open(run).to_frame()
    assert len(scores) == 8
    assert scores[scores["name"] == "gain"]["value"].mean() == pytest.approx(0.15)


def test_a_report_is_a_path_that_a_notebook_shows(run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = editgauge.report(run, out=tmp_path / "report", quiet=True)
    assert isinstance(page, ReportPage)
    assert page.is_file()
    assert page.as_uri() in page._repr_html_()
    assert "<iframe" not in page._repr_html_()
    monkeypatch.chdir(tmp_path)
    assert '<iframe src="report/index.html"' in page._repr_html_()


def test_the_verdict_rests_on_scores_that_answer_its_question() -> None:
    questions = {spec.name: spec.question for spec in open_protocol("editgauge").scores}
    assert (questions["edit"], questions["kept"], questions["quality"]) == ("done", "kept", "quality")
