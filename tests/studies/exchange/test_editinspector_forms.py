"""EditInspector's published forms become the answers of a study."""

from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from editgauge.analysis.summary import ALL
from editgauge.errors import BadInputError
from editgauge.studies import Study, analyze, import_

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

    lacking = {**FORM, "id": "edit-1", "metadata_annotated_difference_caption_explanation": "['', 'no cup', 'gone']"}
    file = forms(FORM, lacking, {**FORM, "id": "not in the study"})
    imported = import_(study.folder, file, form="editinspector-forms")

    assert imported.done == 5
    found = analyze(study.folder).findings
    assert found is not None
    accuracy = next(each for each in found.questions if each.question.name == "accuracy")
    cell = accuracy.cells["mine", ALL]
    assert cell.shares == pytest.approx((0, 2 / 5, 0, 3 / 5))
    assert {feedback.question for feedback in found.reasons} == {"consistent_reason", "precise_reason"}


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
    with pytest.raises(BadInputError, match="None of the 1 edits"):
        import_(make_study(design="editinspector").folder, forms({**FORM, "id": "x"}), form="editinspector-forms")
    with pytest.raises(BadInputError, match="editinspector"):
        import_(make_study().folder, forms(FORM), form="editinspector-forms")
    broken = {**FORM, "metadata_annotated_is_accurate_level": "[7]"}
    with pytest.raises(BadInputError, match="row 1: IndexError"):
        import_(make_study(design="editinspector").folder, forms(broken), form="editinspector-forms")
