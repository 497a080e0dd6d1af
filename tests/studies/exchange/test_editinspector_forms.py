"""EditInspector's published forms become the answers of a study."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

import editgauge
from editgauge._util.images import write_png
from editgauge.analysis.feedback import feedback
from editgauge.analysis.summary import ALL
from editgauge.errors import BadInputError
from editgauge.studies import Study, analyze, create, import_
from tests.shared_data import needs_shared_data, shared_data

Make = Callable[..., Study]
FORM: dict[str, str] = {
    "id": "edit-0",
    "annotators": "[1, 2, 3]",
    "metadata_annotated_is_accurate_level": "[3, 3, 1]",
    "metadata_annotated_is_artifacts_level": "[0, 2, 2]",
    "metadata_annotated_is_visualy_consistence": "[True, False, False]",
    "metadata_annotated_is_good_quality": "[True, True, False]",
    "metadata_annotated_is_extensive_difference_caption_accurate": "[True, True, False]",
    "metadata_annotated_visualy_consistence_explanation": "['', 'no shadow', 'odd light']",
    "metadata_annotated_good_quality_explanation": "['', '', 'blurred']",
    "metadata_annotated_difference_caption_explanation": "['a cup is gone', 'no cup', 'the cup left']",
}


@pytest.fixture
def forms(tmp_path: Path) -> Callable[..., Path]:
    def write(*rows: dict[str, str]) -> Path:
        file = tmp_path / "forms.csv"
        with file.open("w", newline="") as opened:
            writer = csv.DictWriter(opened, FORM)
            writer.writeheader()
            writer.writerows(rows)
        return file

    return write


def test_every_annotator_of_an_edit_gives_a_page(make_study: Make, forms: Any) -> None:
    study = make_study(edits=2, methods=("mine",), design="editinspector", raters=3)

    incomplete = {**FORM, "id": "edit-1", "metadata_annotated_difference_caption_explanation": "['', 'no cup', 'gone']"}
    file = forms(FORM, incomplete, {**FORM, "id": "not in the study"})
    imported = import_(study.folder, file, form="editinspector-forms")

    assert imported.done == 6, "a published form without a caption counts"
    findings = analyze(study.folder).findings
    assert findings is not None
    accuracy = next(question for question in findings.questions if question.question.name == "accuracy")
    cell = accuracy.cells["mine", ALL]
    assert cell.shares == pytest.approx((0, 1 / 3, 0, 2 / 3))
    assert cell.majority == (0, 0, 0, 2)
    assert {reason.question for reason in findings.reasons} == {"consistent_reason", "precise_reason"}


@pytest.mark.parametrize("extras", [{}, {"edit-0": {"original_id": "edit_Let the counter turn white._0"}}])
def test_rows_match_edits_by_their_original_id(
    make_study: Make, small_run: Callable[..., Path], forms: Any, extras: dict[str, Any]
) -> None:
    """Edits are called IMAGE-TURN, rows IMAGE_INSTRUCTION_TURN; runs of older versions lack the original id."""
    study = make_study(run=small_run(1, ("mine",), extras=extras), design="editinspector")
    file = forms({**FORM, "id": "edit_Let the counter turn white._0"})
    assert import_(study.folder, file, form="editinspector-forms").done == 3


def write_magicbrush(file: Path, folder: Path) -> None:
    """Write MagicBrush's layout for the rows of EditInspector's file, with noise for photographs."""
    random = np.random.default_rng(0)
    sessions: dict[str, dict[int, str]] = {}
    with file.open(encoding="utf-8", newline="") as opened:
        for row in csv.DictReader(opened):
            image, turn = row["id"].partition("_")[0], int(row["id"].rpartition("_")[2])
            sessions.setdefault(image, {})[turn] = row["instruction"]
    mask = Image.new("RGBA", (8, 8), (0, 0, 0, 255))
    mask.paste((0, 0, 0, 0), (2, 2, 4, 4))
    listed: dict[str, list[dict[str, str]]] = {}
    for image, turns in sessions.items():
        images = folder / "images" / image
        write_png(random.integers(0, 255, (8, 8, 3), dtype=np.uint8), images / f"{image}-input.png")
        listed[image] = []
        for turn in range(1, max(turns) + 1):
            before = "input" if turn == 1 else f"output{turn - 1}"
            names = {key: f"{image}-{name}.png" for key, name in {"input": before, "mask": f"mask{turn}"}.items()}
            names["output"] = f"{image}-output{turn}.png"
            write_png(random.integers(0, 255, (8, 8, 3), dtype=np.uint8), images / names["output"])
            mask.save(images / names["mask"])
            listed[image].append({**names, "instruction": turns.get(turn, "change it")})
    (folder / "edit_sessions.json").write_text(json.dumps(listed), encoding="utf-8")


@pytest.mark.slow
@needs_shared_data
def test_the_public_file_gives_the_tables_and_figures_of_the_paper(tmp_path: Path) -> None:
    """Table 1, section 2.3, figure 3, and the filled forms of figures 14 to 23, from the public CSV file."""
    file = shared_data("editinspector") / "editinspector_benchmark.csv"
    write_magicbrush(file, tmp_path / "test")
    run = tmp_path / "run"
    editgauge.run(
        "editinspector",
        data=file,
        images=tmp_path / "test",
        outcomes=[f"magicbrush={tmp_path / 'test' / 'images'}"],
        protocol=["preservation"],
        out=run,
        quiet=True,
    )
    create(run, design="editinspector", out=tmp_path / "study", quiet=True).close()
    imported = import_(tmp_path / "study", file, form="editinspector-forms")
    assert (imported.done, imported.surplus) == (3 * 783, 0)

    analysis = analyze(tmp_path / "study", out=tmp_path / "analysis", forms=10)
    findings = analysis.findings
    assert findings is not None
    questions = {question.question.name: question for question in findings.questions}
    cells = {name: question.cells["magicbrush", ALL] for name, question in questions.items()}

    printed = json.loads((shared_data("editinspector") / "published_tables.json").read_text("utf-8"))["table1_percent"]
    shares = {name: [round(100 * count / 783) for count in cell.majority] for name, cell in cells.items()}
    names = ("inaccurate", "inaccurate_reflects", "accurate_unexpected", "accurate")
    assert shares["accuracy"] == [printed["accuracy"][name] for name in names]
    assert shares["artifacts"] == [printed["artifacts"][name] for name in ("significant", "mild", "none")]
    assert shares["consistent"] == [printed["visual_consistency"][name] for name in ("no", "yes")]
    swapped = printed["technical_precision_as_printed"]
    assert shares["precise"] == [swapped["yes"], swapped["no"]], "the paper swaps yes and no"

    panels = {name: question.panel for name, question in questions.items()}
    assert all(panel is not None for panel in panels.values())
    assert {name: panel.without_majority for name, panel in panels.items() if panel}["accuracy"] == 35
    assert {name: panel.without_majority for name, panel in panels.items() if panel}["artifacts"] == 18

    remarks = {reason.question.removesuffix("_reason"): reason for reason in findings.reasons}
    for expected in feedback("editinspector", data=file):
        assert abs(remarks[expected.question].remarks - expected.remarks) <= 0.01 * expected.remarks
    assert analysis.forms is not None
    assert analysis.forms.read_text("utf-8").count("data:image/jpeg;base64,") == 20, "ten forms, two images each"


def test_the_filled_forms_are_drawn_with_the_pictures(
    make_study: Make, small_run: Callable[..., Path], forms: Any, tmp_path: Path
) -> None:
    run = small_run(2, ("mine",), extras={"edit-0": {"difference_caption": "A mug <was> removed."}})
    study = make_study(run=run, design="editinspector", raters=3)
    import_(study.folder, forms(FORM, {**FORM, "id": "edit-1"}), form="editinspector-forms")

    analysis = analyze(study.folder, out=tmp_path / "analysis", forms=1)

    assert analysis.forms == tmp_path / "analysis" / "forms.html"
    page = analysis.forms.read_text("utf-8")
    assert page.count("data:image/jpeg;base64,") == 2, "the original and the result of one item"
    assert page.count("<blockquote>A mug &lt;was&gt; removed.</blockquote>") == 1, "the caption that was judged"
    for words in ("no shadow", "a cup is gone", "No, but one sees what was meant", "editinspector-3"):
        assert words in page
    with pytest.raises(BadInputError, match="`out`"):
        analyze(study.folder, forms=1)


def test_forms_of_other_edits_or_designs_are_refused(make_study: Make, forms: Any) -> None:
    with pytest.raises(BadInputError, match="None of the 1 rows"):
        import_(make_study(design="editinspector").folder, forms({**FORM, "id": "x"}), form="editinspector-forms")
    with pytest.raises(BadInputError, match="editinspector"):
        import_(make_study().folder, forms(FORM), form="editinspector-forms")
    broken = {**FORM, "metadata_annotated_is_accurate_level": "[7]"}
    with pytest.raises(BadInputError, match="row 1: IndexError"):
        import_(make_study(design="editinspector").folder, forms(broken), form="editinspector-forms")
